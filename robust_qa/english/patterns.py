"""How names, dates, quantities and a few facts are written in English.

All of them run over one sentence of bounded length, so that no text can make them slow.
"""

from __future__ import annotations

import re

_UPPER = r"[^\W\d_a-zà-öø-ÿ]"
# Within a sentence a stop before another name is that of an abbreviation: Dr. Smith, St. Ives. Accents may be
# characters of their own (NFD).
_WITHIN = r"[\w\u0300-\u036f'’\-]"
_TITLES = "Adm|Capt|Col|Dr|Ft|Gen|Gov|Hon|Lt|Maj|Messrs|Mlle|Mme|Mrs?|Ms|Mt|Pres|Prof|Rep|Rev|Sen|Sgt|St"
_CAPITALISED = rf"(?:(?:{_UPPER}\.)+|(?:{_TITLES})\.(?= {_UPPER})|{_UPPER}{_WITHIN}*)"
_PARTICLE = "(?:de|da|di|du|del|della|der|den|dos|van|von|bin|ibn|al|el|la|le)"
_PERSON = rf"{_CAPITALISED}(?: (?:{_PARTICLE} ){{0,2}}{_CAPITALISED})*"
_NAME = rf"{_CAPITALISED}(?: (?:(?:{_PARTICLE}|of the|of|the|and the) )?{_CAPITALISED})*"
_PLACE = rf"{_NAME}(?:, {_NAME}){{0,3}}"
_MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_DATE = (
    r"\b(?:\d{4}-\d\d-\d\d|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}"
    rf"|{_DAY}(?: of)? {_MONTH},? \d{{3,4}}|{_MONTH} {_DAY}(?:, ?| )\d{{3,4}}|{_MONTH},? (?:of )?\d{{4}}"
    rf"|{_DAY} {_MONTH}|{_MONTH} {_DAY}|(?:early |mid-|late )?(?:1\d|20)\d0s|(?:1\d|20)\d\d"
    r"|\d{1,4} (?:BCE?|AD|CE)\b|AD \d{1,4}|\d{1,2}(?:st|nd|rd|th) century(?: (?:BCE?|AD)\b)?)(?![\d,]*\d)"
)
_NUMERAL = (
    "(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen"
    "|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|dozen)"
)
_UNIT = (
    "percent|per cent|years?|months?|weeks?|days?|hours?|minutes?|seconds?|miles?|kilomet(?:er|re)s?|km2?"
    "|met(?:er|re)s?|feet|foot|ft|inches|m|cm|mm|acres?|hectares?|square (?:miles?|kilomet(?:er|re)s?|feet)"
    "|pounds?|kg|tons?|tonnes?|m?g|grams?|m?l|lit(?:er|re)s?|degrees|euros?|dollars?|mph|km/h"
)
# "Irish" in "Irish producer and arranger", but not "Rahman" in "Rahman and his wife"
_DEMONYM = rf"{_UPPER}[\w-]*(?:an|ish|ese|ch|i)(?= (?!(?:and|as|at|by|for|from|in|is|of|on|to|was|who|with)\b)[a-z])"
# a name and what may describe it before: "the Irish producer and arranger NAME"
_SOMEBODY = rf"(?:(?:the|[a-z/-]+|{_DEMONYM}),? ){{0,5}}?(?!{_DEMONYM})({_PERSON})"
_WITHIN = r"[^.;()]"  # what may stand between a fact's word and the fact

PERSON = re.compile(_PERSON)
PLACE = re.compile(rf"\b(?:in|at|near|from|to|of|on|into) (?:the )?({_PLACE})")
DATE = re.compile(rf"\b(?:1\d|20)\d\d[–-](?:(?:1\d|20)\d\d|\d\d)(?![\d–-])|{_DATE}")
YEAR = re.compile(r"\b(?:1\d|20)\d\d\b(?!s)|\b\d{1,4} BCE?\b")
QUANTITY = re.compile(
    r"(?<![\w.,])(?:(?<![)–-])[-−](?=\d)|[$£€] ?)?"  # a minus, and no dash
    r"(?:(?:\d{1,3}(?: \d{3})+|\d+(?:,\d{2,3})*)(?:\.\d+)?"
    rf"|{_NUMERAL}(?:(?:[- ]|(?:(?<=hundred)|(?<=thousand)) and ){_NUMERAL})*)(?!\w|[,.]\d)"
    rf"(?:[ -](?:hundred|thousand|million|billion|trillion))?(?:%| ?°[CF]\b|[ -](?:{_UNIT})\b)?",
    re.IGNORECASE,
)

BIRTH_DATE = re.compile(rf"\bborn\b{_WITHIN}{{0,60}}?({_DATE})|\(\D{{0,40}}?({_DATE})")
DEATH_DATE = re.compile(rf"\b(?:died|death)\b{_WITHIN}{{0,60}}?({_DATE})|[–-] ?({_DATE})\)")
BIRTHPLACE = re.compile(
    rf"\b(?:born|birthplace)\b{_WITHIN}{{0,60}}?\b(?:in|at|near) (?:the )?({_PLACE})|\bnative of ({_PLACE})"
)
DEATHPLACE = re.compile(rf"\b(?:died|buried|interred|death)\b{_WITHIN}{{0,60}}?\b(?:in|at|near) (?:the )?({_PLACE})")
SITE = re.compile(
    r"\b(?:located|situated|based|headquartered|held|lies|found|city|town|village|commune|municipality|district"
    rf"|region|county|province|settlement|suburb|place|river|mountain)\b{_WITHIN}{{0,40}}?"
    rf" (?:in|at|of|near|on) (?:the )?({_PLACE})"
)
CAPITAL = re.compile(
    rf"\bcapital(?: city)?(?: of (?:the )?{_NAME})?(?:,| is| was)(?: the city of)? ({_NAME})"
    rf"|({_NAME}) (?:is|was) the {_WITHIN}{{0,30}}?\bcapital\b"
)
CAPITAL_OF = re.compile(rf"\b(?:capital|seat|centre|center)\b{_WITHIN}{{0,40}}? of (?:the )?({_PLACE})")
PARENTS = re.compile(
    rf"\b(?:son|daughter|child|born) (?:of|to) (?:[a-z,]+ )*({_PERSON})"
    rf"(?:{_WITHIN}{{0,40}}? and (?:his wife,? |[a-z]+ )*({_PERSON}))?"
)
# What is said to be somebody's trade, up to where the sentence goes on to something else.
TRADE = re.compile(
    r"\b(?:is|was) (?:an?|the) (?!(?:[\w-]+ ){0,3}member\b)([^.;:()]{3,120}?)"
    r"(?=[.;:()]|,? \b(?:who|which|that|from|for|in|at|of|best|born|known|active|based|with|to|on|whose|serving|by"
    r"|during|since|currently|formerly|and (?:an?|the|is|was|currently)|specializ\w+|as|notable|most|famous)\b)"
)
# "former American award-winning", before a trade
TRADE_MODIFIER = re.compile(
    rf"(?:{_UPPER}[\w'’.\-]*|former|retired|late|professional|and|\d+(?:th|st|nd|rd)?(?:-century)?"
    r"|[\w-]+-winning) "
)

# BY stands after a verb: "(written and) directed by the Irish producer NAME"; HELD_BY after a noun or a transitive
# verb: "director NAME", "married the singer NAME"; DOING between a name and its verb: "NAME, who also (directed)".
BY = re.compile(rf"(?:(?:,? (?:and|&)|,) (?:[a-z-]+ )?[a-z-]+){{0,2}} by {_SOMEBODY}")
HELD_BY = re.compile(rf"(?:,| is| was| named| to|:)? {_SOMEBODY}")
DOING = re.compile(r"(?:,? (?:who|has|had|have|was|is|also|first|later|and|[a-z]+ly|[a-z]+ed and))* ")
