"""Build the command that installs an extra of this package."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from ..version import OWN_DISTRIBUTION


def install_hint(extra: str = "", *, again: bool = False) -> str:
    """Return the shell command that installs `extra`, for example `pip install 'robust-qa[llama]'`.

    It uses the installer of this environment and the original source, such as a checkout. `again` reinstalls the
    package's own files.
    """
    origin = _origin()
    editable = bool(origin.get("dir_info", {}).get("editable"))
    command = _installer(again=again)
    for each in (_requirement(origin, extra), *_beside(origin, extra)):
        command += ["--editable", each] if editable else [each]
    return shlex.join(command)


def _origin() -> dict[str, Any]:
    """Return the package's direct_url.json (PEP 610), empty if it was installed from an index."""
    import importlib.metadata  # brings email and zipfile, which most commands do not need

    try:
        text = importlib.metadata.distribution(OWN_DISTRIBUTION).read_text("direct_url.json")
        origin = json.loads(text or "{}")
    except (importlib.metadata.PackageNotFoundError, ValueError):
        return {}
    return origin if isinstance(origin, dict) else {}


def _requirement(origin: dict[str, Any], extra: str) -> str:
    url, extras = str(origin.get("url", "")), f"[{extra}]" if extra else ""
    parts = urlsplit(url)
    if parts.scheme == "file":
        path = Path(unquote(parts.path))
        if not path.exists():
            return f"{OWN_DISTRIBUTION}{extras}"
        return f"{'.' if path.samefile(Path.cwd()) else path}{extras}"
    if "vcs_info" in origin:
        version = origin["vcs_info"].get("requested_revision") or origin["vcs_info"].get("commit_id")
        url = f"{origin['vcs_info'].get('vcs')}+{url}@{version}"
    return f"{OWN_DISTRIBUTION}{extras} @ {url}" if url else f"{OWN_DISTRIBUTION}{extras}"


def _beside(origin: dict[str, Any], extra: str) -> list[str]:
    """Return the folder of the distribution that `extra` brings, if the package was installed from its repository."""
    parts = urlsplit(str(origin.get("url", "")))
    if parts.scheme != "file" or not extra:
        return []
    projects = Path(unquote(parts.path)).glob("plugins/*/*/pyproject.toml")
    return [
        _short(each.parent) for each in projects if f'name = "{OWN_DISTRIBUTION}-{extra}"' in each.read_text("utf-8")
    ]


def _installer(*, again: bool) -> list[str]:
    prefix = Path(sys.prefix)
    if (prefix / "pipx_metadata.json").is_file():
        return ["pipx", "install", "--force"]
    if (prefix / "uv-receipt.toml").is_file():
        return ["uv", "tool", "install", "--reinstall" if again else "--force"]
    options = ["install", *(["--force-reinstall", "--no-deps"] if again else [])]
    python = Path(sys.executable)
    if find_spec("pip") is None and shutil.which("uv"):  # created by uv
        return ["uv", "pip", "install", *(["--reinstall", "--no-deps"] if again else []), "--python", _short(python)]
    found = shutil.which("pip")
    own = found is not None and Path(found).parent.resolve() == python.parent.resolve()
    return ["pip", *options] if own else [_short(python), "-m", "pip", *options]


def _short(file: Path) -> str:
    """Return a path, relative if it is below the working directory."""
    return str(file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file)
