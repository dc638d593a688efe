"""Recognise secrets in configuration values and hide them from messages."""

from __future__ import annotations

import json
import re
from typing import Any

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,39}\Z")

# The key prefixes of common providers, or 20 letters and digits in a row.
_LOOKS_SECRET = re.compile(
    r"(sk|pk|rk|xai|pplx|nvapi)[-_]|(gsk|hf|gh[opsu])_|AIza|eyJ|(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{20}"
)
_HOLDS_SECRET = re.compile(rf"\b({_LOOKS_SECRET.pattern})\S{{6,}}|\b(Bearer|Basic)\s+\S+", re.IGNORECASE)
_NAMES_SECRET = re.compile(
    r"key|token|secret|passw|passphrase|auth(?!ors?\Z)|credential|cookie|signature|\Asig\Z", re.IGNORECASE
)
_NAMES_COUNT = re.compile(r"\A(max|min)_\w*tokens(_\w*)?\Z")
_KEY_OPTION = re.compile(r"[a-z]+\.[^.]+\.key\Z")
HIDDEN = "********"
_LONGEST_SHOWN = 200  # characters of a value in an error message


def is_key_name(text: str) -> bool:
    """Return whether `text` can be a key's name and does not look like a key."""
    return bool(_NAME.match(text)) and not _LOOKS_SECRET.match(text)


def scrubbed(key: str, value: Any) -> Any:
    """Return the configuration value at the dotted `key` with possible secrets hidden."""
    if isinstance(value, dict):
        return {name: scrubbed(f"{key}.{name}", inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [scrubbed(key, inner) for inner in value]
    if not isinstance(value, str):
        return value
    last = key.rpartition(".")[2]
    if _KEY_OPTION.match(key):
        return value if is_key_name(value) else HIDDEN
    if _NAMES_SECRET.search(last) and not _NAMES_COUNT.match(last):
        return HIDDEN
    value = re.sub(r"(?<=//)[^/\s]+@", f"{HIDDEN}@", value)  # user name and password in a URL
    value = re.sub(r"(?<=[?&])([^=&#\s]+)=([^&#\s]+)", _scrubbed_parameter, value)
    return _HOLDS_SECRET.sub(HIDDEN, value)


def shown(key: str, value: Any) -> str:
    """Return `value` for an error message, scrubbed and shortened."""
    text = json.dumps(scrubbed(key, value), ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}..."


def _scrubbed_parameter(match: re.Match[str]) -> str:
    return f"{match[1]}={HIDDEN}" if _NAMES_SECRET.search(match[1]) else match[0]
