"""Questions which of several came first: what is asked about each of them, and which date decides.

A model that points at words cannot compare. It can be asked when each was born, or released; and before that who
directed it, where the directors' dates count. "Born first", "older", "died later", "lived longer" and the like are
understood, of what the question itself names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Sequence
from math import prod
from typing import NamedTuple, TypeAlias

from robust_qa import Passage, Reading
from robust_qa.kit import answer_key, normalise

from .told import Fits

_LONGEST = 500  # characters of a question that is looked at; the patterns go over it more than once
_LATER = r"\b(?:later|latest|last|(?:more|most) recent(?:ly)?|younger|youngest|newer|newest|longer|longest)\b"
_EARLIER = r"\b(?:first|earlier|earliest|older|oldest|elder|eldest)\b"
_ORDER = f"(?:{_EARLIER}|{_LATER})"
_MADE = "founded|established|formed|published|built|opened|started|launched|invented|written|recorded"
_SHAPES = [
    re.compile(shape, re.IGNORECASE)
    for shape in (
        rf"(?P<stem>(?:which|who|whose|what)\b.*?{_ORDER}[^,:]*)[,:] *(?P<names>.+ or .+?)[ ?]*",
        rf"(?P<stem>(?:which|who|whose|what)\b.*?{_ORDER}) +(?P<names>.+ or .+?)[ ?]*",
        rf"(?:was|were|is|are|did) +(?P<names>.+ or .+?) (?P<stem>(?:(?:born|die|released|{_MADE}) )?{_ORDER})[ ?]*",
    )
]
_PERSON = (
    r"\b(?P<role>actor|actress|architect|artist|author|composer|creator|designer|director|editor|founder|inventor|"
    r"painter|performer|player|poet|politician|producer|screenwriter|singer|songwriter|writer)\b"
)
_WHOSE = rf"\b(?:has|have|had|with|whose|its|their|by) (?:an? |the )?(?:[a-z]+ )?{_PERSON}"
_BORN, _DIED, _OUT = "When was {} born?", "When did {} die?", "When was {} released?"
_EVENTS = (  # what may have come first, and what to ask about each of the names
    ("died?|death came|death was", _DIED),
    ("born", _BORN),
    ("released|came out|come out|premiered?|debuted?", _OUT),
    *((made, f"When was {{}} {made}?") for made in _MADE.split("|")),
)
# What follows an order word and asks for nothing else.
_IDLE = re.compile(r" (?:than the others?|of the (?:two|three|pair)|in age|today|in time)\b")
_LONG = r"longer|longest"
_OLD = r"older|oldest|elder|eldest|younger|youngest|newer|newest"
_RELEASED = r"\b(?:film|movie|song|single|album|series|show|game)\b"
_MONTHS = "january february march april may june july august september october november december".split()
_YEAR = re.compile(
    r"\b(?:ad (\d{1,4})\b|(\d{1,4})(?= (?:ad|ce)\b(?! \d))|(\d{4})\b(?! bce?\b)|(?P<bc>\d{1,4})(?= bce?\b)"
    r"|(?P<decade>\d{3}0)s\b|(?P<century>\d{1,2})(?:st|nd|rd|th) century\b(?! bce?\b))"
)
_NUMERIC = re.compile(r"\b(\d{4})·(0\d|1[0-2])·(\d\d)\b")  # 1951-05-08
_SHORT_RANGE = re.compile(r"\b(\d\d)(\d\d)–(?=\d\d\b(?!–))")  # 1914–18, and no day of a month

Years: TypeAlias = tuple[float, float]  # the first and the last moment that a date, or a length of time, may be
Steps: TypeAlias = "Generator[list[Asked], list[Reading], Reading | None]"


class Comparison(NamedTuple):
    """What a question compares: the `names` it offers, by the answers to `dates`, one question a date."""

    names: tuple[str, ...]
    role: str  # whose dates count, such as the director's; "" for those of the named
    dates: tuple[str, ...]  # one question; or two, whose difference counts
    latest: bool


class Asked(NamedTuple):
    """A question on the way, the places of the passages that may answer it, and what an answer must say."""

    question: str
    passages: list[int]
    fits: Fits


def comparison(question: str, passages: Sequence[Passage]) -> Comparison | None:
    """What `question` compares, if it is by date; where names have an "or" or a comma of their own, `passages` tell."""
    asked = question.strip()
    found = next((match for shape in _SHAPES if len(asked) <= _LONGEST and (match := shape.fullmatch(asked))), None)
    if found is None:
        return None
    stem = found["stem"].lower()
    *_, order = re.finditer(_ORDER, stem)  # "which of her later novels was published first" asks for the first
    dates = _dates(stem, order, person=stem.startswith("who ") or re.search(_PERSON, stem) is not None)
    if dates is None:
        return None
    role = re.search(_WHOSE, stem) if dates[0] in (_BORN, _DIED) else None
    texts = _texts(passages)

    def known(names: tuple[str, ...]) -> tuple[float, int]:
        return sum(bool(_mentions(name, texts)) for name in names) / len(names), -len(names)

    names = max(_splits(found["names"]), key=known)
    return Comparison(names, role["role"] if role else "", dates, bool(re.fullmatch(_LATER, order[0])))


def _splits(text: str) -> list[tuple[str, ...]]:
    """The ways to take names apart at an "or", and before it at commas; a name may have either."""
    ways: list[tuple[str, ...]] = []
    for match in re.finditer(r",? or ", text):
        before, after = text[: match.start()], text[match.end() :]
        ways += [(before, after), (*before.split(", "), after)]
    return [tuple(name.strip(' "“”') for name in way) for way in ways]


def _dates(stem: str, order: re.Match[str], *, person: bool) -> tuple[str, ...] | None:
    """The questions, with {} for what is compared, whose answers decide; None where it is not known what to ask.

    The `order` tells what is compared by what stands beside it: "who released the longer album" asks for no date.
    """
    # "Older when she died" is about an age, and "did not die first" is not understood.
    if re.search(r"\b(?:when|while|at the time|not|never)\b|n['’]t\b", stem):
        return None
    before, after = stem[: order.start()], _IDLE.sub("", stem[order.end() :])
    if at := re.match(r" (?:date|day|time|year)\b", after):  # born on an earlier date
        before, after = re.sub(r" (?:at|in|on) an? $", " ", before), after[at.end() :]
    ends = not re.search(r"\w", after)
    if re.fullmatch(_LONG, order[0]):
        return (_BORN, _DIED) if ends and re.search(r"\blived (?:the )?$", before) else None
    if re.fullmatch(_OLD, order[0]):
        whose = re.search(_WHOSE, stem) or re.search(r"\b(?:is|are|was|were|be) (?:the )?$", before)
        if not whose or re.search(r"\w \w", after):
            return None
        return (_BORN,) if person else (_OUT,) if re.search(_RELEASED, stem) else None
    for event, date in _EVENTS:
        ended = (ends or re.match(r" (?:at|in|on)\b", after)) and re.search(rf"\b(?:{event}) (?:the )?$", before)
        if ended or re.match(rf"(?: ones?)? (?:to (?:be )?)?(?:{event})\b", after):
            return (date,)
    return None


def _texts(passages: Sequence[Passage]) -> list[str]:
    return [_words(f"{passage.title} {passage.text}") for passage in passages]


def _mentions(name: str, texts: Sequence[str]) -> list[int]:
    """The places of the texts that mention `name`, without the bracket that tells it from its namesakes."""
    words = _words(re.sub(r"\(.*?\)", "", name))
    return [n for n, text in enumerate(texts) if words in text]


def _words(text: str) -> str:
    return f" {normalise(text)} "


def compare(compared: Comparison, passages: Sequence[Passage]) -> Steps:
    """Ask what has to be known, a round at a time, and answer; None where a date is not told, or not apart enough.

    The answer's score takes what was read to be right with the product of the scores, and else decides by chance.
    """
    texts, subjects, told = _texts(passages), compared.names, []
    if compared.role:
        told = yield [
            Asked(f"Who was the {compared.role} of {name}?", _mentions(name, texts), _other_than(name))
            for name in compared.names
        ]
        subjects = tuple(reading.text or "" for reading in told)
        if not all(subjects):
            return None
    asked = [
        Asked(date.format(subject), _mentions(subject, texts), says_date)
        for subject in subjects
        for date in compared.dates
    ]
    dated = yield asked
    dates = [date for reading in dated if (date := years(reading.text or ""))]
    if len(dates) < len(asked):
        return None
    values = [_length(dates[at : at + len(compared.dates)]) for at in range(0, len(dates), len(compared.dates))]
    best = _first(values, latest=compared.latest)
    if best is None:
        return None
    sure = prod(reading.score or 0.0 for reading in (*told, *dated))
    told_by = [
        (one.passages[reading.passages[0]], reading.places[0]) for one, reading in zip(asked, dated, strict=True)
    ]
    places: dict[int, int | None] = {}
    for passage, place in [*told_by[best * len(compared.dates) :], *told_by]:  # the answer's own come first
        places.setdefault(passage, place)
    score = sure + (1 - sure) / len(values)
    return Reading(compared.names[best], score, tuple(places), places=tuple(places.values()))


def _other_than(name: str) -> Fits:
    own = f" {answer_key(name)} "
    return lambda said: f" {said} " not in own


def says_date(said: str) -> bool:
    """Whether `said`, in normal form, is a date with its year."""
    return years(said) is not None


def years(text: str) -> Years | None:
    """The moments, in years, that a date may mean: the year 1940 is any of its days; None without a year.

    Of several years it may be any from the first to the last.
    """
    words = _NUMERIC.sub(lambda date: f"{date[3]} {_MONTHS[int(date[2]) - 1]} {date[1]}", answer_key(text))
    words = _SHORT_RANGE.sub(r"\1\2 \1", words)
    found = list(_YEAR.finditer(words))
    if not found:
        return None
    told = [_told(year) for year in found]
    begin, end = min(first for first, _ in told), max(last for _, last in told)
    month = next((n for word in words.split() for n, name in enumerate(_MONTHS) if _names(word, name)), None)
    if month is None or end - begin > 1:
        return begin, end
    begin += month / 12
    day = re.search(r"\b\d{1,2}\b", words[: found[0].start()] + words[found[0].end() :])
    return (begin, begin + 1 / 12) if day is None else (begin + (int(day[0]) - 1) / 372, begin + int(day[0]) / 372)


def _told(year: re.Match[str]) -> Years:
    number = float(year[year.lastindex or 0])
    if year.lastgroup == "century":
        return 100 * (number - 1), 100 * number
    if year.lastgroup == "decade":
        return number, number + (10 if number % 100 else 100)  # the 1900s may be the century
    begin = -number if year.lastgroup == "bc" else number
    return begin, begin + 1


def _names(word: str, month: str) -> bool:
    return len(word) > 2 and month.startswith(word)  # Sept.


def _length(dates: Sequence[Years]) -> Years:
    """The date itself; of two, from the one to the other."""
    first, last = dates[0], dates[-1]
    return first if len(dates) == 1 else (last[0] - first[1], last[1] - first[0])


def _first(values: Sequence[Years], *, latest: bool) -> int | None:
    """The place of the first value, or of the `latest`; None where another may be the same."""
    best = max(values) if latest else min(values)
    others = [value for value in values if value is not best]
    apart = all(best[0] >= other[1] if latest else best[1] <= other[0] for other in others)
    return values.index(best) if apart else None


def settle(
    steps: dict[int, Steps], read: Callable[[Sequence[tuple[int, Asked]]], Sequence[Reading]]
) -> dict[int, Reading | None]:
    """The answers of comparisons, by number; `read` gets what all of them ask next, at once."""
    done: dict[int, Reading | None] = {}
    told: dict[int, list[Reading]] = {}
    waiting = dict(steps)
    while waiting:
        asked: dict[int, list[Asked]] = {}
        for number, its in list(waiting.items()):
            try:
                asked[number] = its.send(told[number]) if number in told else next(its)
            except StopIteration as end:
                done[number] = end.value
                del waiting[number]
        found = iter(read([(number, one) for number, each in asked.items() for one in each]))
        told = {number: [next(found) for _ in each] for number, each in asked.items()}
    return done
