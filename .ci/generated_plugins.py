"""Generate a plugin of each kind, install them beside the wheel in a fresh environment, and let each prove itself.

    python .ci/generated_plugins.py [WHEEL]

Without WHEEL it is built first. Needs `build` and `hatchling`; pip fetches the rest.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
LARGEST = 65_000_000  # bytes of the wheel: the reader, the judge and the T5 of CRAG are in it
KINDS = (
    "retriever",
    "reader",
    "evaluator",
    "embedder",
    "strategy",
    "checker",
    "recorder",
    "engine",
    "command",
    "format",
)


def main(wheel: Path | None) -> None:
    with tempfile.TemporaryDirectory(prefix="rqa-generated-") as scratch:
        here = Path(scratch)
        environment = _clean(here)
        wheel = wheel or _build(here / "wheel")
        venv.create(here / "venv", with_pip=True)
        binaries = here / "venv" / "bin"

        def run(*command: str, cwd: Path = here) -> None:
            print("$", *command, flush=True)  # noqa: T201
            subprocess.run([str(binaries / command[0]), *command[1:]], cwd=cwd, env=environment, check=True)  # noqa: S603

        run("python", "-m", "pip", "install", "--quiet", str(wheel))
        for kind in KINDS:
            run("rqa", "plugins", "new", f"my_{kind}", "--kind", kind)
        projects = {f"my_{kind}": here / f"rqa-my-{kind}" for kind in KINDS}
        run("python", "-m", "pip", "install", "--quiet", *(f"{project}[dev]" for project in projects.values()))
        for name, project in projects.items():
            run("python", "-m", "pytest", "-q", cwd=project)
            example = ("--file", f"corpus/animals.{name}") if name == "my_format" else ()
            run("rqa", "plugins", "check", name, *example, cwd=project)
        # The door for programs, from the wheel: without the repository's configuration nothing leads to the checkout.
        run("python", "-m", "pip", "install", "--quiet", "pytest-asyncio")
        mode = ("-c", os.devnull, "-o", "asyncio_mode=auto", "-p", "no:cacheprovider")
        run("python", "-m", "pytest", "-q", *mode, str(REPOSITORY / "tests" / "test_programs.py"))


def _clean(here: Path) -> dict[str, str]:
    """The environment without what would lead to this checkout, or to the caller's own configuration."""
    left_out = ("RQA_", "PYTHONPATH", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    return (
        kept
        | {"RQA_STRICT_PLUGINS": "1"}
        | {f"RQA_{kind}_DIR": str(here / kind.lower()) for kind in ("CONFIG", "DATA", "CACHE")}
    )


def _build(folder: Path) -> Path:
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(REPOSITORY)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    (wheel,) = folder.glob("*.whl")
    size = wheel.stat().st_size
    if size > LARGEST:
        raise SystemExit(f"{wheel.name} has {size / 1e6:.1f} MB, and {LARGEST / 1e6:.0f} are allowed.")
    return wheel


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None)
