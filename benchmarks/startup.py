"""Compare the start-up time of `rqa` with `python -c "import click"`, and check that no engine is imported.

    python benchmarks/startup.py [--runs 20]

Prints medians of runs that take turns, so other work on the machine slows all of them. Compiled modules are kept, as
after an installation, even if PYTHONDONTWRITEBYTECODE is set.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time

RQA = "import sys; sys.argv[0] = 'rqa'; from robust_qa.main import main; main()"
BASELINE = "import click"
COMMANDS = {"rqa --version": ["--version"], "rqa ask --help": ["ask", "--help"]}
# Engines and other slow imports.
HEAVY = ("tantivy", "aiohttp", "httpx", "llama_cpp", "huggingface_hub", "numpy", "rich", "sqlite3", "xberg")
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def seconds(code: str, *arguments: str) -> float:
    """Return the wall time of one interpreter that runs `code`."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code, *arguments], stdout=subprocess.DEVNULL, check=True, env=ENVIRONMENT)
    return time.perf_counter() - began


def imported(*arguments: str) -> list[str]:
    """Return the heavy modules that a command imports."""
    report = f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    code = f"import atexit, sys; atexit.register(lambda: {report}); {RQA}"
    command = [sys.executable, "-c", code, *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRONMENT)
    return [name for name in HEAVY if f"'{name}'" in run.stderr.splitlines()[-1]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    taken: dict[str, list[float]] = {BASELINE: [], **{name: [] for name in COMMANDS}}
    for arguments in COMMANDS.values():
        seconds(RQA, *arguments)  # writes the compiled modules
    for _ in range(runs):
        taken[BASELINE].append(seconds(BASELINE))
        for name, arguments in COMMANDS.items():
            taken[name].append(seconds(RQA, *arguments))
    medians = {name: statistics.median(times) for name, times in taken.items()}
    print(f"{BASELINE}: {medians[BASELINE] * 1000:.0f} ms")
    for name, arguments in COMMANDS.items():
        heavy = ", ".join(imported(*arguments)) or "none"
        print(
            f"{name}: {medians[name] * 1000:.0f} ms, {medians[name] / medians[BASELINE]:.2f} times that; "
            f"heavy modules imported: {heavy}"
        )


if __name__ == "__main__":
    main()
