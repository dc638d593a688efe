"""Extract keywords and key phrases from a short answer with rules.

RobustRAG uses spaCy's tagger: runs of tokens other than verbs, adpositions, auxiliaries, conjunctions, determiners,
particles, pronouns and punctuation, and their lemmas. This is an approximation for English without a tagger: function
words and common verbs are listed, names are runs of capitalised words and numbers, and the only lemma is the singular.
In other languages, phrases are longer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_FUNCTION_WORDS = frozenset(
    """a an the this that these those each every either neither some any all both no such what which whose another
    i me my mine we us our ours you your yours he him his she her hers it its they them their theirs one ones who whom
    myself ourselves yourself himself herself itself themselves there here
    of in on at by for with about against between among into through during before after above below to from up down
    out off over under near within without across along around behind beside besides beyond despite except inside like
    onto outside per since than throughout toward towards until till upon via as
    and or but nor so yet if because although though while whereas unless whether when where why how
    be am is are was were been being do does did done doing have has had having will would shall should can could may
    might must ought not also only just too very then thus therefore however according known""".split()
)
_COMMON_VERBS = frozenset(
    """say says said saying state states stated stating mention mentions mentioned tell tells told give gives gave given
    make makes made making take takes took taken get gets got go goes went gone come comes came know knows knew think
    believe believes believed consider considered call calls called name names named refer refers referred describe
    describes described show shows shown include includes included contain contains contained become becomes became
    write writes wrote written writing direct directs directed produce produces produced create creates created found
    founded build builds built establish established publish published release released compose composed perform
    performed play plays played star stars starred win wins won lose lost live lives lived die dies died bear born
    locate located lie lies stand stands hold holds held serve serves served begin begins began begun start started end
    ended open opened close closed use uses used follow follows followed lead leads led appear appears appeared base
    based consist consists answer answers answered provide provides provided indicate indicates indicated""".split()
)
_BREAKING = _FUNCTION_WORDS | _COMMON_VERBS
_ALSO_NAMES = frozenset({"May", "Will"})
_TOKEN = re.compile(r"(?:(?<![\w)])[-−](?=\d))?\w+(?:(?:['’.\-]|(?<=\d)[,:](?=\d))\w+)*|[^\w\s]")  # 2,140,526 and -40
_NEGATED = re.compile(r"n['’]t\Z", re.I)  # wasn't
_NO = re.compile(r"\W*no\s*(?:[,.;:!]|\Z)", re.I)  # "No, he was not" is an answer; "no man" is not
_SIBILANT = re.compile(r"(?:ch|sh|ss|x|z)es\Z")


def keywords(text: str) -> frozenset[str]:
    """Return content words, their runs, the names among them, and the whole text, in lower case."""
    tokens = _TOKEN.findall(text)
    shouted = text.isupper()
    found = {" ".join(_lemma(token) for token in tokens if _is_word(token)), "no" if _NO.match(text) else ""}
    run: list[str] = []
    for token in [*tokens, "."]:
        acronym = token.isupper() and len(token) > 1 and not shouted  # US, WHO
        breaking = token.lower() in _BREAKING or _NEGATED.search(token)
        if _is_word(token) and (acronym or token in _ALSO_NAMES or not breaking):
            run.append(token)
            continue
        found.update(_of_run(run))
        run = []
    return frozenset(found - {""})


def _is_word(token: str) -> bool:
    return len(token) > 1 or token.isalnum()


def _of_run(run: list[str]) -> set[str]:
    found = {" ".join(map(_lemma, run)), *map(_lemma, run)}
    name: list[str] = []
    for token in [*run, "."]:
        if token[0].isupper() or token.lstrip("-−")[:1].isdigit():
            name.append(token)
            continue
        found.add(" ".join(map(_lemma, name)))
        name = []
    return {keyword for keyword in found if len(keyword) > 1 or keyword.isdigit()}


def _lemma(token: str) -> str:
    """Return the token in lower case, without possessive, and in the singular unless it is a name."""
    word = re.sub(r"['’]s\Z", "", token.lower().replace("−", "-"))
    if len(word) < 4 or token[0].isupper() or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    return word[:-2] if _SIBILANT.search(word) else word[:-1]


Keywords = frozenset[str]


def kept(readings: Sequence[Keywords | None], alpha: float, beta: int) -> Keywords:
    """Return the keywords in at least min(beta, alpha n) of the n readings that do not abstain."""
    speaking = [reading for reading in readings if reading is not None]
    least = min(beta, alpha * len(speaking))
    return frozenset(keyword for keyword, count in _counts(speaking).items() if count >= least)


def certified(readings: Sequence[Keywords | None], alpha: float, beta: int) -> int:
    """Return k', for how many corrupted passages the kept keywords are certain: inserted, while as many drop off."""
    keywords = kept(readings, alpha, beta)
    for corrupted in range(1, len(readings)):
        left = [reading for reading in readings[: len(readings) - corrupted] if reading is not None]
        least = min(beta, alpha * (len(left) + corrupted))
        counts = _counts(left)
        if least <= corrupted or keywords != {keyword for keyword in counts if counts[keyword] >= least}:
            return corrupted - 1
        if any(least - corrupted <= count < least for count in counts.values()):
            return corrupted - 1
    return max(len(readings) - 1, 0)  # with all passages corrupted, nothing is certain


def _counts(readings: Sequence[Keywords]) -> Counter[str]:
    return Counter(keyword for reading in readings for keyword in reading)
