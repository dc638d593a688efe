"""What a question asks for: its content words, the names in it, and the kind of answer it wants."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from .terms import content_terms, stem, terms

Kind = Literal[
    "date",
    "year",
    "number",
    "person",
    "place",
    "city",
    "country",
    "capital of",
    "occupation",
    "genre",
    "sport",
    "religion",
    "colour",
    "other",
]


@dataclass(frozen=True, slots=True)
class Query:
    """A question, analysed.

    `terms` are the stems of its content words; `aliases` maps other stems that say the same to them (wrote:
    author); `names` are those of the terms that are written as names; `text` is all its stems between spaces,
    to look a title up in; `counted` is what a number counts. `role` tells who directs from whom somebody
    married and from who is the director.
    """

    kind: Kind
    terms: tuple[str, ...]
    aliases: Mapping[str, str]
    names: frozenset[str]
    text: str
    counted: str
    role: Literal["agent", "patient", "holder"]


_PERSON = """actor|actress|architect|artist|author|band|captain|character|club|coach|company|composer|director|driver
|emperor|explorer|father|founder|general|god|goddess|group|husband|inventor|king|leader|man|manager|monarch|mother
|musician|novelist|painter|person|philosopher|physicist|player|playwright|poet|politician|pope|president|producer
|queen|ruler|scientist|screenwriter|singer|songwriter|team|wife|woman|writer""".replace("\n", "")
_PLACE = "area|continent|county|district|island|location|place|province|region|river|state"
_MEASURE = (
    r"age|amount|depth|distance|fraction|height|length|number|percent\w*|population|price|proportion|rate"
    r"|salary|share|speed|temperature|weight|width"
)
_WORK = "book|film|game|movie|music|novel|song"
_WH = r"\b(?:what|which)(?: is| was|'s)?(?: the)?"

# The first that matches says what is asked for.
_KINDS: tuple[tuple[Kind, str], ...] = (
    ("number", r"\bhow (?:many|much|old|tall|high|long|far|big|large|deep|heavy|fast)\b"),
    (
        "number",
        rf"{_WH} (?:(?!(?:name|ha[sd]|have|is|are|was|were|do|does|did|the|of|country|nation|city|town"
        rf"|{_PERSON}|{_PLACE})(?![\w'’-]))[\w'’-]+ ){{0,3}}(?:{_MEASURE})\b",
    ),
    ("year", rf"{_WH} (?:\w+ )?year\b"),
    ("date", rf"\bwhen\b|{_WH} (?:\w+ )?(?:date|day|month|decade|century|time)\b"),
    ("capital of", r"\bthe (?:capital|seat) of (?:what|which)\b|\bthe capital of *\??$"),
    ("country", rf"{_WH} (?:country|nation)\b"),
    ("other", r"\bnationality\b"),  # of whomever: it is neither a country nor a name
    ("city", rf"{_WH} (?:city|town|village|capital)\b"),
    ("place", rf"\bwhere\b|{_WH} (?:\w+ )?(?:{_PLACE})\b|\bplace of (?:birth|death|burial)\b"),
    ("occupation", r"\b(?:occupation|profession|job)\b|\bdo(?:es)? .{1,60} do for a living\b"),
    ("genre", rf"\bgenre\b|{_WH} (?:type|kind|style|sort) of (?:{_WORK})\b"),
    ("sport", r"\bsport\b"),
    ("religion", r"\b(?:religion|faith|denomination)\b"),
    ("colour", r"\bcolou?rs?\b"),
    ("person", rf"\bwho(?:m|se|'s)?\b|{_WH} (?:name of )?(?:[\w'-]+ ){{0,4}}(?:{_PERSON})s?\b"),
)
_KIND_PATTERNS = tuple((kind, re.compile(pattern)) for kind, pattern in _KINDS)
_HOLDER = re.compile(r"\bwho(?:'s| is| was| are| were) (?:the |\w+'s )|\bwhat (?:is|was) the name of")
_PATIENT = re.compile(r"\bwhom?\b.* (?:did|does|do)\b")
# "When did the director of X die?" asks about somebody it does not name, and "who is older, A or B?" compares: no
# sentence about X or A alone has the answer, however well a date or a name in it would look.
_RELATION = re.compile(
    r"\b(?:father|mother|husband|wife|spouse|son|daughter|brother|sister|grand(?:father|mother)|director|composer"
    r"|performer|producer|screenwriter|founder)\b"
)
_CHOICE = re.compile(r"\bwh(?:o|ich)\b.*,.* or ")
_ASKED = 500  # characters of a question that say what kind of answer it wants
_COUNTED = re.compile(r"how many (?:of )?(?:the |different |other |total )?(?:\d+ )?(\w+)")
_NAME_WORD = re.compile(r"(?<![\w'’])[^\W\d_a-zà-öø-ÿ][\w'’-]*")

# Words that name the kind of answer; the sentence with the answer rarely repeats them.
_ASKING = {
    kind: frozenset(map(stem, words.split()))
    for kind, words in {
        "date": "date day month decade century time year",
        "year": "year",
        "number": "number amount percentage percent old long far much",
        "place": "place location located",
        "city": "city town located",
        "country": "country nation located",
        "occupation": "occupation profession job living",
        "genre": "genre type kind style sort",
        "sport": "sport",
        "religion": "religion faith denomination",
        "colour": "color colour",
        "person": "person man woman people",
    }.items()
}
# How texts put what questions ask about, beside the word itself.
_RELATED = {
    stem(word): tuple(map(stem, others.split()))
    for word, others in {
        "author": "write novel book poem novelist",
        "write": "author novel book",
        "director": "film",
        "screenwriter": "write screenplay script",
        "composer": "music score soundtrack",
        "founder": "establish create",
        "inventor": "develop",
        "father": "son daughter parent",
        "mother": "son daughter parent",
        "capital": "seat centre center",
        "religion": "catholic muslim jewish christian islam buddhist",
        "birth": "native",
        "play": "portray star cast",
        "sing": "record perform",
        "bury": "interred cemetery",
    }.items()
}


def analyse(question: str) -> Query:
    """What `question` asks for; any text will do."""
    lower = question[:_ASKED].lower()
    kind: Kind = next((kind for kind, pattern in _KIND_PATTERNS if pattern.search(lower)), "other")
    if len(_RELATION.findall(lower)) > (kind == "person") or _CHOICE.search(lower):
        kind = "other"
    content = tuple(dict.fromkeys(content_terms(question) or terms(question)))
    asking = _ASKING.get(kind, frozenset())
    wanted = tuple(term for term in content if term not in asking) or content
    counted = _COUNTED.search(lower)
    return Query(
        kind=kind,
        terms=wanted,
        aliases={other: term for term in wanted for other in _RELATED.get(term, ()) if other not in wanted},
        names=_names(question) & frozenset(wanted),
        text=f" {' '.join(terms(question))} ",
        counted=stem(counted.group(1)) if counted else "",
        role="holder" if _HOLDER.search(lower) else "patient" if _PATIENT.search(lower) else "agent",
    )


def _names(question: str) -> frozenset[str]:
    found = _NAME_WORD.finditer(question)
    # A question's first word is upper case whatever it is.
    return frozenset(term for match in found if match.start() for term in content_terms(match.group()))
