"""What language models reply, read with patience: JSON, marked blocks, and "I don't know".

Nothing here raises, whatever the text: a reply is data, and may quote documents that imitate a reply.
"""

from __future__ import annotations

import json
import re
from typing import Any

_LONGEST = 100_000  # characters searched for JSON: far above any reply, and a bound on the work
# Some chat templates open the tag themselves, and the reply holds only the closing one.
_THOUGHTS = re.compile(
    r"\A\s*(?:<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)|(?:(?!<think).)*?</think(?:ing)?>)", re.DOTALL
)
_TRAILING_COMMA = re.compile(r'("(?:[^"\\]|\\.)*+"?)|,(?=\s*[}\]])', re.DOTALL)  # strings pass unchanged
# Newlines in strings are let pass; NaN and Infinity, which JSON lacks, become null.
_JSON = json.JSONDecoder(strict=False, parse_constant=lambda _: None)

# Lower case before any further word, so that a title such as "I Don't Know How to Love Him" is an answer.
_DECLINING = re.compile(
    r"""\W*(?:(?:[Ss]orry|I(?:['’]m|\ am)\ sorry|[Uu]nfortunately)\W+(?:but\W+)?)?
        (?:[Ii]\ (?:really\ |simply\ )?(?:do\ not|don['’]?t)\ know\b
          |(?i:i\ (?:do\ not|don['’]?t)\ know|unknown|not\ known|n/a|no\ answer)\W*\Z)""",
    re.VERBOSE,
)
_UNKNOWN = re.compile(
    r"\W*(none|null|not (stated|given|mentioned|found|(in|from|by) the (documents|passages))|"
    r"the (documents|passages) do not .*)\W*",
    re.IGNORECASE | re.DOTALL,
)


def without_thoughts(reply: str) -> str:
    """`reply` without the thoughts that reasoning models put before it in `<think>` tags."""
    return _THOUGHTS.sub("", reply, count=1).strip()


def declines(text: str) -> bool:
    """Whether `text` says that the answer is not known, or says nothing at all."""
    return not text.strip(" \t\r\n.…") or _DECLINING.match(text) is not None


def says_unknown(answer: str) -> bool:
    """Whether `answer`, the one that a reply marks or labels as such, says that there is none."""
    return declines(answer) or _UNKNOWN.fullmatch(answer) is not None


def between(text: str, mark: str) -> list[str]:
    """What stands in the blocks `<<<MARK>>> ... <<</MARK>>>` of `text`, in order, stripped.

    An opening mark inside a block starts it anew. When no block is closed, each open one reaches to the
    next opening mark or to the end.
    """
    opening = rf"<<<\s*{re.escape(mark)}\s*>>>"
    closing = rf"<{{1,3}}\s*/\s*{re.escape(mark)}\s*>{{1,3}}"
    blocks = _blocks(text, opening, closing) or _blocks(text, opening, rf"(?={opening}|\Z)")
    return [content for content in blocks if content]


def _blocks(text: str, opening: str, closing: str) -> list[str]:
    pattern = re.compile(f"{opening}((?:(?!{opening}).)*?){closing}", re.DOTALL | re.IGNORECASE)
    return [content.strip() for content in pattern.findall(text)]


def parse_objects(text: str) -> list[dict[str, Any]]:
    """The JSON objects in `text`, in order: bare, in code fences or amid prose; trailing commas are let pass.

    Of nested objects only the outermost counts. Where it is broken (a reply cut short, say), the whole
    ones inside it do.
    """
    text = _TRAILING_COMMA.sub(lambda match: match[1] or "", text[max(0, text.find("{")) :][:_LONGEST])
    found: list[dict[str, Any]] = []
    start = text.find("{")
    while start >= 0:
        try:
            value, end = _JSON.raw_decode(text, start)
            found.append(value)
        except (ValueError, RecursionError):
            end = start + 1
        start = text.find("{", end)
    return found


def parse_object(text: str, *keys: str) -> dict[str, Any] | None:
    """The last JSON object in `text` that has all of `keys`, or None; see `parse_objects`."""
    return next((found for found in reversed(parse_objects(text)) if found.keys() >= set(keys)), None)
