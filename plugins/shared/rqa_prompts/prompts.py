"""Load prompts from text files, and render passages as fenced data that cannot end its fence."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal, TypeVar

from robust_qa import ConfigError, Order, Passage, RqaError
from robust_qa.kit import UNSEEN, Prompt, did_you_mean, iso_date, printable

from .replies import TAGS, UNKNOWN

T = TypeVar("T")
Prompts = dict[str, Path] | Literal["paper"]
"""The type of an option: files that replace prompts, by name, or the prompts of the paper."""


def arrange(ranked: Sequence[T], order: Order, seed: int | str = 0) -> list[T]:
    """Return `ranked` (most relevant first) in the given order.

    "descending" keeps it, "ascending" reverses it, "random" shuffles it by `seed`. The ping-pong orders alternate
    between both ends, so that the least relevant is in the middle: "ping-pong-top" begins at the top (1 3 5 4 2),
    "ping-pong-bottom" at the bottom (2 4 5 3 1).
    """
    if order == "descending":
        return list(ranked)
    if order == "ascending":
        return list(reversed(ranked))
    if order == "random":
        return random.Random(seed).sample(list(ranked), len(ranked))
    first, second = list(ranked[0::2]), list(ranked[1::2])
    return first + second[::-1] if order == "ping-pong-top" else second + first[::-1]


_OWN = Path(__file__).parent / "prompts"
# The words of tags that end a document, and of the marks and reasoning tags that replies are parsed by. They may
# contain invisible characters.
_WORDS = ("document", "think", "thinking", "thought", "reasoning", "seed:think")
_MARKS = ("answer", "passage", "summary")
_FENCES, _MARKED, _TAGS = ("|".join(f"[{UNSEEN}]*+".join(word) for word in words) for words in (_WORDS, _MARKS, TAGS))


@cache
def _fence() -> re.Pattern[str]:  # compiled when it is used, because that takes 20 ms
    return re.compile(
        rf"<(?=[\s/{UNSEEN}]*+(?:{_FENCES})(?![^\W{UNSEEN}])|<<|[{UNSEEN}]*+<[\s{UNSEEN}]*+(?:{_MARKED})[\s{UNSEEN}]*+>"
        rf"|[/{UNSEEN}]*+(?:{_TAGS})[\s{UNSEEN}]*+>)",
        re.IGNORECASE,
    )


# Special tokens of the known chat templates. Servers accept them anywhere in a prompt, so a passage could close the
# user's turn and continue as the system.
_SPECIAL = re.compile(
    r"""<(?=[|｜]\S | [^<>\s]{1,40}[|｜]> | </?SYS> | /?(?:s|bos|eos|pad|unk|mask|cls|sep)> | \w{0,20}:[be]os>
          | [BE]OS_TOKEN> | (?:begin|start|end)_of_\w{1,20}> | /?tool_\w{1,20}> | /?role> | extra_id_\d{1,4}>
          | SPECIAL_\d{1,4}> | reserved_\w{1,20}> | image> | __media__> | 用户> | AI>
          | _(?:start|end|pad|system|user|bot|observation)>)
      | \[(?=\|\S | /?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_[A-Z]{1,20}|THINK|gMASK|IMG|IMG_[A-Z]{1,10}
          | MODEL_SETTINGS|CALL_ID|unused\d{1,4})\] | e~\[)
      | \](?=~!?b[\[\]])
      | ◁(?=/?think▷)""",
    re.VERBOSE,
)


@cache
def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def load_prompts(
    folder: Path | None = None, overrides: Mapping[str, Path] | Literal["paper"] | None = None
) -> dict[str, Prompt]:
    """Return the prompts of `folder` (its `*.txt` files, by stem), some replaced by the files in `overrides`.

    "paper" replaces them by those in the subfolder `paper`, which follow the prompts of the strategy's paper, and so
    does "paper" under the name `set`, beside files that replace single ones.

    Without `folder`, returns the prompt `read`, which `toolbox.read` uses with language models.

    Raises ConfigError if an override has no matching prompt, cannot be read, or uses an unknown field or no field.
    """
    prompts = {path.stem: Prompt(_read(path), path.stem) for path in sorted((folder or _OWN).glob("*.txt"))}
    if isinstance(overrides, str):
        return prompts | (load_prompts(folder / overrides) if folder else {})
    problems: list[RqaError] = []
    own = dict(overrides or {})
    if folder and own.get("set", Path()).name == "paper":
        del own["set"]
        prompts |= load_prompts(folder / "paper")
    for name, path in own.items():
        try:
            prompts[name] = _replacement(name, path, prompts)
        except ConfigError as error:
            problems.append(error)
    if problems:
        raise ConfigError.of(problems)
    return prompts


def _replacement(name: str, path: Path, prompts: Mapping[str, Prompt]) -> Prompt:
    """Return the prompt in `path`, which replaces the prompt `name`. Raises ConfigError as load_prompts does."""
    if name not in prompts:
        raise ConfigError(
            f"There is no prompt named {name!r} to replace; the prompts are {', '.join(prompts)}.",
            hint=did_you_mean(name, prompts),
        )
    try:
        replacement = Prompt(path.read_text(encoding="utf-8"), name)
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(
            f"Cannot read the prompt {name!r} from {path}: {why}.",
            hint="Paths are relative to the folder of the configuration file.",
        ) from error
    unknown = replacement.fields - prompts[name].fields
    if unknown:
        raise ConfigError(
            f"The prompt {path} uses {_braced(unknown)}; the prompt {name!r} has only {_braced(prompts[name].fields)}."
        )
    if prompts[name].fields and not replacement.fields:
        raise ConfigError(
            f"The prompt {path} has none of the fields {_braced(prompts[name].fields)}.",
            hint="Write {question} where the question belongs, and the other fields likewise.",
        )
    return replacement


def abstention(*, offered: bool, null: bool = False) -> str:
    """Return what prompts say in their field `abstain`: what to answer if the answer is not known.

    `offered` false asks for an answer anyway, as the papers' prompts do. `null` is for replies in JSON.
    """
    if not offered:
        return "Always give an answer. If you are not sure of it, give the likeliest one."
    unknown = "null" if null else f"this one word: {UNKNOWN}"
    return f"Only if nothing leads to an answer, the answer is {unknown}"


def _braced(names: Iterable[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in sorted(names))


def render_passages(
    passages: Sequence[Passage],
    numbers: Sequence[int] | None = None,
    *,
    source_aware: bool = False,
    trust: Callable[[Passage], float] | None = None,
) -> str:
    """Return passages as numbered, fenced documents. `numbers` defaults to 1, 2, 3...

    `source_aware` adds the origin of each: "memory" or "retrieval" (Astute RAG, Section 4.3), its URL, its date, and
    the user's trust in its source if `trust` gives another weight than 1. Escapes text that looks like a fence or a
    special token, so that a passage cannot end its document or turn.
    """
    return "\n".join(
        _render(passage, number, source_aware, trust)
        for passage, number in zip(passages, numbers or range(1, len(passages) + 1), strict=True)
    )


def _render(passage: Passage, number: int, source_aware: bool, trust: Callable[[Passage], float] | None) -> str:
    origin = ""
    if source_aware:
        origin = ' from="memory"' if passage.origin == "memory" else ' from="retrieval"'
        if passage.source.startswith(("http://", "https://")):  # a path would tell the server about this machine
            origin += f' source="{_attribute(passage.source)}"'
        if date := iso_date(passage.date):
            origin += f' date="{date}"'
        if trust and (weight := trust(passage)) != 1:
            origin += f' trust="{weight:g}"'
    title = f' title="{_attribute(passage.title)}"' if passage.title else ""
    return f'<document number="{number}"{origin}{title}>\n{fenced(passage.text)}\n</document>'


def fenced(text: str) -> str:
    """Return `text` escaped for a document fence.

    It cannot end the fence or the turn, or add marks that replies are parsed by.
    """
    text = printable(text)
    if "<" in text:  # the patterns are slow, and most passages have none of these marks
        text = _fence().sub("&lt;", text)
    return _within_turn(text).strip()


def _within_turn(text: str) -> str:
    """Return `text` with a space inside each special token of a chat template."""
    if "<" in text or "[" in text or "]" in text or "◁" in text:
        text = _SPECIAL.sub(r"\g<0> ", text)
    return text


def _attribute(text: str) -> str:
    flat = " ".join(_within_turn(printable(text)).split())
    return flat.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")[:200]
