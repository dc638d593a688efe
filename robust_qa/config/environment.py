"""The environment variables of rqa's own, the folders it keeps things in, and the cores it may use."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ..errors import ConfigError

PREFIX = "RQA_"
CONFIG = "RQA_CONFIG"  # a configuration file, as --config
PLUGINS = "RQA_PLUGINS"  # "none", or the plugins to load, separated by commas
STRICT_PLUGINS = "RQA_STRICT_PLUGINS"  # 1: a broken plugin ends the command, as --strict-plugins
CONFIG_DIR = "RQA_CONFIG_DIR"  # the user's configuration, keys and trust
DATA_DIR = "RQA_DATA_DIR"  # indexes and models
CACHE_DIR = "RQA_CACHE_DIR"  # cached calls, and the indexes of --docs
KEY_PREFIX = "RQA_KEY_"  # RQA_KEY_<NAME>: the key of that name
COMPLETE = "_RQA_COMPLETE"  # set by the shell's completion script
DEBUG = "RQA_DEBUG"  # 1: tracebacks of unexpected errors

NAMES = (CONFIG, PLUGINS, STRICT_PLUGINS, CONFIG_DIR, DATA_DIR, CACHE_DIR, DEBUG)

# RQA_<X> for the defaults people change most; RQA_<TABLE>__<NAME>__<KEY> reaches every other value.
SHORTCUTS = {
    "RQA_STRATEGY": "defaults.strategy",
    "RQA_RETRIEVER": "defaults.retriever",
    "RQA_READER": "defaults.reader",
    "RQA_EVALUATOR": "defaults.evaluator",
    "RQA_K": "defaults.k",
}


def flag(name: str) -> bool:
    """Whether a yes-or-no variable is set to yes."""
    return os.environ.get(name, "").lower() not in ("", "0", "false", "no")


def config_dir() -> Path:
    """The folder of config.toml, the key file and the trust file."""
    return _folder(CONFIG_DIR, "user_config_path")


def data_dir() -> Path:
    """The folder of indexes and models."""
    return _folder(DATA_DIR, "user_data_path")


def cache_dir() -> Path:
    """The folder of what can be made again."""
    return _folder(CACHE_DIR, "user_cache_path")


def elsewhere(path: Path) -> str:
    """How to have what is at `path`, or on the way to it, elsewhere, as a hint; "" where it is in no folder of ours."""
    for variable, folder in ((CONFIG_DIR, config_dir), (DATA_DIR, data_dir), (CACHE_DIR, cache_dir)):
        with suppress(ConfigError):
            if path.is_relative_to(folder()) or folder().is_relative_to(path):
                return f"Look whose it is, or set {variable} to another folder."
    return ""


def cores() -> int:
    """How many of the machine's cores this process may use."""
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
            f"There is no home directory, and {variable} names no folder.", hint=f"Set HOME, or {variable}."
        ) from error
