"""Environment variables, folders and CPU cores."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ..errors import ConfigError

PREFIX = "RQA_"
CONFIG = "RQA_CONFIG"  # configuration file, like --config
PLUGINS = "RQA_PLUGINS"  # comma-separated plugins to load, or "none"
STRICT_PLUGINS = "RQA_STRICT_PLUGINS"  # 1: fail if a plugin is broken
CONFIG_DIR = "RQA_CONFIG_DIR"  # user configuration, keys and trust
DATA_DIR = "RQA_DATA_DIR"  # indexes, models and the history
CACHE_DIR = "RQA_CACHE_DIR"  # cached calls and the indexes of --docs
KEY_PREFIX = "RQA_KEY_"  # RQA_KEY_<NAME>: the key NAME
COMPLETE = "_RQA_COMPLETE"  # set by the shell's completion script
DEBUG = "RQA_DEBUG"  # 1: print tracebacks of unexpected errors

NAMES = (CONFIG, PLUGINS, STRICT_PLUGINS, CONFIG_DIR, DATA_DIR, CACHE_DIR, DEBUG)

# Short names for common defaults. RQA_<TABLE>__<NAME>__<KEY> sets any other value.
SHORTCUTS = {
    "RQA_STRATEGY": "defaults.strategy",
    "RQA_RETRIEVER": "defaults.retriever",
    "RQA_READER": "defaults.reader",
    "RQA_EVALUATOR": "defaults.evaluator",
    "RQA_EMBEDDER": "defaults.embedder",
    "RQA_K": "defaults.k",
}


def flag(name: str) -> bool:
    """Return whether a boolean variable is set to true."""
    return os.environ.get(name, "").lower() not in ("", "0", "false", "no")


def config_dir() -> Path:
    """Return the folder of config.toml, the key file and the trust file."""
    return _folder(CONFIG_DIR, "user_config_path")


def data_dir() -> Path:
    """Return the folder of indexes, models and the history."""
    return _folder(DATA_DIR, "user_data_path")


def cache_dir() -> Path:
    """Return the folder of caches, which can be deleted."""
    return _folder(CACHE_DIR, "user_cache_path")


def elsewhere(path: Path) -> str:
    """Return a hint which variable moves the folder of `path`, "" if it is not in a folder of rqa."""
    for variable, folder in ((CONFIG_DIR, config_dir), (DATA_DIR, data_dir), (CACHE_DIR, cache_dir)):
        with suppress(ConfigError):
            if path.is_relative_to(folder()) or folder().is_relative_to(path):
                return f"Check its owner and permissions, or set {variable} to another folder."
    return ""


def cores() -> int:
    """Return the number of CPU cores available to this process."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _folder(variable: str, default: str) -> Path:
    try:
        if value := os.environ.get(variable):
            return Path(value).expanduser().absolute()
        import platformdirs

        folder: Path = getattr(platformdirs, default)("rqa", appauthor=False)
        return folder
    except RuntimeError as error:
        raise ConfigError(
            f"There is no home directory, and {variable} is not set.", hint=f"Set HOME or {variable}."
        ) from error
