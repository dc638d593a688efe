"""Generate cloze questions: remove a name, date or number from a sentence and ask for it.

After Lewis, Denoyer and Riedel, "Unsupervised Question Answering by Cloze Translation" (2019). The question keeps the
words around the gap, replaces pronouns by the title, and drops some words, as in a search box.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from robust_qa.kit import sentences
from rqa_train.reader.rows import Row

from .people import DATE, MONTH, YEAR, style, subject

_CAP = r"[A-Z][\w'’-]*[\w]"
_NAME = rf"{_CAP}(?: (?:of the |of |de |van |von |& |[A-Z]\. )?{_CAP}){{0,4}}"
_SPOT = re.compile(
    rf"\"(?P<work>[A-Z][^\"]{{2,40}}?),?\"|(?P<date>\b{DATE}\b)|(?P<number>\b(?:\d[\d,.]*\d|\d|two|three|four|five|six|seven|eight|nine|ten|twelve)\b"
    rf"(?: (?:million|billion|percent))?)|(?<!^)(?<![.] )\b(?P<name>{_NAME})"
)
_KIND = re.compile(
    r"\b(University|College|School|Party|Award|Prize|Church|River|County|Army|League|Club|Festival|Museum|Company|Records|Street|Island|Committee|Institute|Hospital|Theatre|Cup|Band|Orchestra|Press|Court|Department|Council|Battle|War|Airport)$"
)
_FEW = frozenset("a an the of in on at by to for from with and or but that this which who as".split())
_MAX_QUESTIONS = 2  # for each passage
_ABSENT = 0.4  # share of questions whose sentence is removed from the passage


def cloze_rows(passages: list[dict[str, str]], rng: random.Random) -> Iterator[Row]:
    """Yield up to two questions for each passage, some of them without the answering sentence."""
    first_names = {subject(passage["title"]).split()[0] for passage in passages}
    for passage in passages:
        title, text = passage["title"], passage["text"]
        parts = [text[start:end] for start, end in sentences(text)]
        spots = [
            (part, match)
            for part in parts
            if 8 <= len(part.split()) <= 45
            for match in _SPOT.finditer(part)
            if _fit(match, title)
        ]
        for part, match in rng.sample(spots, min(_MAX_QUESTIONS, len(spots))):
            asked = _question(part, match, title, first_names, rng)
            if asked is None:
                continue
            answer = match[match.lastgroup or 0]
            if rng.random() < _ABSENT:
                rest = " ".join(other for other in parts if other != part and answer not in other)
                if len(rest.split()) > 25:
                    yield Row(asked, rest, title, source="cloze")
                    continue
            offset = text.find(part) + match.start(match.lastgroup or 0)
            if text[offset : offset + len(answer)] == answer:
                yield Row(asked, text, title, [answer], offset, source="cloze")


def _fit(match: re.Match[str], title: str) -> bool:
    text = match[match.lastgroup or 0]
    own = set(re.findall(r"\w+", title.lower()))
    if match["name"] and re.fullmatch(rf"{MONTH}|He|She|The|His|Her|It|In|They|[A-Z]", text):
        return False
    return not own & set(re.findall(r"\w+", text.lower()))


def _question(part: str, match: re.Match[str], title: str, first_names: set[str], rng: random.Random) -> str | None:
    before, after = part[: match.start()], part[match.end() :]
    name = subject(title)
    wh = _wh(match, before, first_names, rng)
    before = re.sub(r"\b(?:in|on|at|by|from|since|to|for|of|the|a|an|and)\s*$", "", before.rstrip(' "('))
    head = re.split(r"[;:()]|, (?:and|but|which|who|where) ", before)[-1].split()
    tail = re.split(r"[;:()]|, (?:and|but|which|who|where) ", after.lstrip(' ",.'))[0].split()
    head, tail = head[-rng.randint(5, 14) :], tail[: rng.randint(0, 9)]
    words = head + tail if rng.random() < 0.85 or not tail else tail
    words = [
        name if word in ("He", "She", "he", "she") else name + "'s" if word in ("His", "Her") else word
        for word in words
    ]
    if rng.random() < 0.5:
        words = [word for word in words if rng.random() > (0.4 if word.lower() in _FEW else 0.06)]
    if name.split()[-1] not in " ".join(words) and rng.random() < 0.7:
        words = [name, *words]
    if len(words) < 4:
        return None
    rest = " ".join(words).strip(' .,;"')
    question = f"{wh} {rest}?" if rng.random() < 0.8 else f"{rest} {wh}?"
    return style(question, rng)


def _wh(match: re.Match[str], before: str, first_names: set[str], rng: random.Random) -> str:
    text = match[match.lastgroup or 0]
    if match["date"]:
        return (
            rng.choice(("when", "in what year", "what year", "When did", "when was"))
            if re.fullmatch(YEAR, text)
            else rng.choice(("when", "what date", "When was", "when did"))
        )
    if match["number"]:
        return "how many" if not text.isdigit() or len(text) < 4 else "how much"
    if match["work"]:
        return rng.choice(("what", "which work", "what is the title", "what is the name of"))
    kind = _KIND.search(text)
    if kind:
        return f"{rng.choice(('which', 'what'))} {kind[1].lower()}"
    if text.split()[0] in first_names and len(text.split()) > 1:
        return rng.choice(("who", "Who", "which person", "who was"))
    if re.search(r"\b(?:in|at|from|near|to|of)\s*$", before) and re.search(r"\b(?:in|near|from)\s*$", before):
        return rng.choice(("where", "Where", "in which place", "what city", "which place"))
    return rng.choice(("what", "which", "What", "who" if re.search(r"\b(?:by|with)\s*$", before) else "what"))
