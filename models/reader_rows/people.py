"""Generate questions by rules from encyclopedia passages about people: births, deaths, offices, works, family.

A rule is a pattern for the passage and the questions for its captured group. The title of the passage names the
person, so "He was born in Leeds" answers "where was <title> born".
"""

from __future__ import annotations

import random
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec

from rqa_train.reader.rows import Row

MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
YEAR = r"(?:1[0-9]\d\d|20[0-2]\d)"
DATE = rf"(?:(?:{MONTH}) \d{{1,2}}, {YEAR}|\d{{1,2}} (?:{MONTH}) {YEAR}|(?:{MONTH}) {YEAR}|{YEAR})"
_CAP = r"[A-Z][\w'’.-]*[\w]"
PLACE = rf"{_CAP}(?: (?:upon |of |de |la |el |del |and )?{_CAP}){{0,3}}(?:, {_CAP}(?: (?:of )?{_CAP}){{0,2}}){{0,2}}"
PERSON = rf"{_CAP}(?: (?:[A-Z]\.|de|van|von|al|bin|{_CAP})){{1,3}}"
_THING = rf"(?:the )?{_CAP}(?: (?:of|the|and|for|in|at|&|de|{_CAP})){{0,5}}" + "".join(
    f"(?<! {word})" for word in "of the and for in at".split()
)
_KIND = "(?:University|College|Academy|Institute|School|Conservatory)"
_SCHOOL = (
    rf"(?:(?:the )?(?:{_CAP},? (?:of |at |and )?){{1,4}}?{_KIND}\b"
    rf"(?: (?:of|at|for) (?:the )?{_CAP}(?: (?:and )?{_CAP}){{0,2}})?"
    rf"|(?:the )?{_KIND} (?:of|at|for) (?:the )?{_CAP}(?:,? (?:and )?{_CAP}){{0,2}})"
)
_NATION = (
    r"(?:[A-Z][a-z]+(?:an|ish|ese|ch|sh|i|ic|ek|iot|ss|ino|elsh)(?:[- ](?:born )?[A-Z][a-z]+(?:an|ish|ese|ch|i|ic))?)"
)
_NOUN = "[a-z][a-z-]+"
_NOUNS = rf"{_NOUN}(?: {_NOUN}){{0,3}}(?:, {_NOUN}(?: {_NOUN}){{0,2}})*(?:,? and {_NOUN}(?: {_NOUN})?)?"
_STOP = (
    r"(?= who| whose| whom| known| best| from| of| in| for| with| at| on"
    r"| and (?:a|an|the|was|is)\b|,? and (?:a|an|former)\b"
    r"|, (?:a|an|the|best|known|who|and the|currently|born|most)\b|\.|;)"
)


_WORK = r"\"(?P<w>[A-Z][^\"]{2,50}?),?\""
_FRAGMENTS = {
    "DATE": DATE, "YEAR": YEAR, "CAP": _CAP, "PLACE": PLACE, "PERSON": PERSON, "THING": _THING, "SCHOOL": _SCHOOL,
    "NATION": _NATION, "NOUNS": _NOUNS, "STOP": _STOP, "WORK": _WORK,
}  # fmt: skip


class Rule(msgspec.Struct, forbid_unknown_fields=True):
    """A pattern with a group `a` (the answer), and questions with {x} (the person) and the other groups."""

    name: str
    pattern: str
    ask: list[str]
    whose: bool = False
    keep: float = 1.0

    def compiled(self) -> re.Pattern[str]:
        """Return the pattern with its fragments."""
        return re.compile(re.sub(r"<([A-Z]+)>", lambda name: _FRAGMENTS[name[1]], self.pattern))


@cache
def _rules() -> list[tuple[Rule, re.Pattern[str]]]:
    found = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return [(rule, rule.compiled()) for rule in msgspec.convert(found["rule"], list[Rule])]


_VERBS = "|".join(
    (
        "was is has had became won wrote served played founded married joined moved received graduated directed "
        "produced created designed led held made worked studied discovered invented introduced developed starred "
        "appeared released published began co-founded defeated represented attended taught returned ran lost retired "
        "earned signed coached scored competed"
    ).split()
)
_PREDICATE = re.compile(
    rf"(?:(?<=\. )|^)(?:He|She|(?P<n>{_CAP}(?: {_CAP}){{0,3}})) (?P<v>(?:{_VERBS}) [^.\"]{{12,110}})\."
)
_ABOUT = re.compile(rf"\b(?:is|was) an? (?:[a-z]+ )??(?P<d>(?:{_NATION} )?[a-z][a-z-]+(?: [a-z][a-z-]+)?){_STOP}")


def people_rows(passages: list[dict[str, str]], rng: random.Random, *, absent: float = 0.6) -> Iterator[Row]:
    """Yield the rows of all rules for `passages` ({title, text}).

    With probability `absent`, also yield the question with a passage without the answer. That passage is about the same
    person or about a namesake.
    """
    others = _Others(passages)
    for passage in passages:
        title, text = passage["title"], passage["text"]
        name = subject(title)
        for question, answer, start in [*_asked(name, text, rng), *_who(name, text, rng)]:
            yield Row(question, text, title, [answer], start, source="people")
            if rng.random() < absent:
                other = others.without(title, answer, rng)
                if other is not None:
                    yield Row(question, other["text"], other["title"], source="people")


def subject(title: str) -> str:
    """Return the title without a part in brackets."""
    return re.sub(r" \(.*\)$", "", title)


def _asked(name: str, text: str, rng: random.Random) -> Iterator[tuple[str, str, int | None]]:
    for rule, pattern in _rules():
        match = pattern.search(text)
        if match is None or rng.random() > rule.keep:
            continue
        groups = match.groupdict()
        asked = rng.choice(rule.ask).format(x=name, **{k: v for k, v in groups.items() if k in "owc" and v})
        if rule.whose:
            yield style(asked, rng), name, None
            continue
        group = "a2" if groups.get("a") is None else "a"
        answer = match[group].strip()
        if rule.name == "occupation":
            answer = re.split(
                r" (?:which|that|one|particularly|specializing|plays|, who)\b|,? (?:particularly|noted)\b", answer
            )[0]
            if not _TRADE.search(answer):
                continue
        if answer and answer.lower() not in name.lower():
            yield style(asked, rng), answer, match.start(group)


_TRADE = re.compile(
    r"(?:er|or|ist|ian|man|woman|ant|eer|ess|star|coach|judge|poet|chef|model|host|scholar|cleric|priest|bishop|monk|nun|"
    r"general|academic|diplomat|pilot|astronaut|critic|artist|athlete|cook|spy|soldier|historian|mathematician)s?$"
)


def _who(name: str, text: str, rng: random.Random) -> Iterator[tuple[str, str, None]]:
    """Yield trivia questions: a predicate is given, and the person is the answer."""
    about = _ABOUT.search(text)
    predicates = [m for m in _PREDICATE.finditer(text) if m["n"] is None or m["n"].split()[-1] in name]
    for match in rng.sample(predicates, min(2, len(predicates))):
        predicate = re.sub(r"\b(?:his|her) own\b", "their own", match["v"])
        who = "Who"
        if about and rng.random() < 0.5:
            year = re.search(rf"born [^()]{{0,20}}({YEAR})", text)
            born = f", born in {year[1]}," if year and rng.random() < 0.4 else ""
            who = f"{rng.choice(('Which', 'What'))} {about['d']}{born}"
        if rng.random() < 0.3:
            predicate = re.split(r"[,;]| where | which | who ", predicate)[0]
        yield style(f"{who} {predicate}?", rng), name, None


def style(question: str, rng: random.Random) -> str:
    """Return `question`, sometimes in the style of a search box."""
    if rng.random() < 0.4:
        return re.sub(r"[\"?]", "", question).lower().replace("'s", rng.choice(("'s", " 's"))).strip()
    return question


class _Others:
    """Finds passages of the same person or of a namesake."""

    def __init__(self, passages: list[dict[str, str]]) -> None:
        self._same: dict[str, list[dict[str, str]]] = defaultdict(list)
        self._named: dict[str, list[dict[str, str]]] = defaultdict(list)
        for passage in passages:
            self._same[passage["title"]].append(passage)
            for word in set(subject(passage["title"]).split()):
                if len(word) > 2:
                    self._named[word].append(passage)

    def without(self, title: str, answer: str, rng: random.Random) -> dict[str, str] | None:
        """Return a passage about `title` or a namesake without `answer`."""
        named = [
            passage
            for word in subject(title).split()
            for passage in self._named.get(word, ())
            if passage["title"] != title
        ]
        same = [passage for passage in self._same[title] if answer.lower() not in passage["text"].lower()]
        pool = same if same and (rng.random() < 0.4 or not named) else named
        candidates = [p for p in pool if answer.lower() not in (p["title"] + " " + p["text"]).lower()]
        return rng.choice(candidates) if candidates else None
