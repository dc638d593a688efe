"""Turn a question into keywords for a search engine (Yan et al. 2024, Section 4.5 and Table 7)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from robust_qa.kit import STOPWORDS, printable, single_line
from rqa_prompts import declines, parse_objects

MOST = 3  # keywords
_LONGEST = 80  # characters of a keyword
_LONGEST_READ = 2000  # characters of a question or a reply
# Includes .NET, -40, °C, 10,000 and C++. A hyphen before a word is a dash.
_WORD = re.compile(
    r"(?:(?<!\S)(?:\.|[-−](?=\d)|°))?[^\W_]+(?:(?:['’.&/-]|(?<=\d),(?=\d))[^\W_]+)*[+#]*[.]?(?=\s|\W|\Z)"
)
_QUOTED = re.compile(r"[\"“«„]([^\"“”«»„]{2,80})[\"”»“]")
_CONTRACTED = re.compile(r"(?:n['’]t|['’](?:s|re|d|ll|ve|m))\Z")
_POSSESSIVE = re.compile(r"['’]s?\Z")
_LABEL = re.compile(r"\s*(?:[-*\d.)]+\s*)?(?:search |web )?(?:quer(?:y|ies)|keywords?)\s*[:：=]\s*", re.IGNORECASE)
_SEPARATOR = re.compile(r",(?!\d)|[;、，]")  # does not split 10,000
# Punctuation around a keyword, but not the dot of .NET or the minus of -40.
_EDGES = re.compile(
    r"""\A(?:[\s"'`“”*<>\[\](){}]|-(?!\d)|\.(?!\w))+|(?<![\s"'`“”*<>\[\](){}.-])[\s"'`“”*<>\[\](){}.-]+\Z"""
)
_ITEM = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)])\s+")
_LINKS = frozenset("of the de la le du del der van von da di al el &".split())
_STOPWORDS = STOPWORDS | frozenset("during each kind please tell type".split())  # of questions and requests


def extracted(question: str) -> str:
    """Return at most three keywords of `question`, separated by commas: its names, then other phrases.

    Works for English. Questions in other languages are returned unchanged, without the question mark.
    """
    question = single_line(question[:_LONGEST_READ])
    phrases = [(is_name, phrase[:_LONGEST]) for is_name, phrase in _phrases(question)]
    ranked = sorted(range(len(phrases)), key=lambda n: (not phrases[n][0], -len(phrases[n][1])))
    chosen = [phrases[n][1] for n in sorted(ranked[:MOST])]
    return ", ".join(dict.fromkeys(chosen)) or question.strip(" ?？!.")


def parsed(reply: str) -> str:
    """Return the keywords in a model's reply, separated by commas, or "" if it has none.

    They are in the first line with keywords, in all lines of a list, or in the values of a JSON object.
    """
    if declines(reply):
        return ""
    text = printable(reply[:_LONGEST_READ])
    if whole := parse_objects(text):
        text = ", ".join(_strings(list(whole[-1].values())))
    found: dict[str, None] = {}
    for line in text.splitlines():
        item = _ITEM.match(line)
        if (found and not item) or line.rstrip().endswith((":", "：")):
            continue  # it introduces the next line
        label = _LABEL.match(line)
        parts = _SEPARATOR.split(line[label.end() if label else item.end() if item else 0 :])
        keywords = (_EDGES.sub("", part) for part in parts)
        found.update(dict.fromkeys(keyword for keyword in keywords if keyword and len(keyword) <= _LONGEST))
        if found and not item:
            break
    return ", ".join(list(found)[:MOST])


def _strings(values: Iterable[object]) -> Iterator[str]:
    for value in values:
        if isinstance(value, list):
            yield from _strings(value)
        elif isinstance(value, str):
            yield value


def _phrases(question: str) -> Iterator[tuple[bool, str]]:
    """Yield names (runs of capitalised words, and quoted text) and runs of other content words."""
    end = 0
    for quoted in _QUOTED.finditer(question):
        yield from _runs(question[end : quoted.start()], opening=end == 0)
        yield True, quoted[1].strip()
        end = quoted.end()
    yield from _runs(question[end:], opening=end == 0)


def _runs(text: str, *, opening: bool) -> Iterator[tuple[bool, str]]:
    run: list[str] = []
    links: list[str] = []
    is_name = False
    for n, (word, following) in enumerate(pairwise([*_WORD.findall(text), ""])):
        capital, says = _capital(word), _says(word)
        if capital and n == 0 and opening and not says:
            capital = False  # every question begins with a capital
        if _first(word).isdigit():  # a number belongs to its run, or to the name that follows
            capital = _capital(following) or (is_name if run else not _says(following))
        if run and is_name and not capital and word.lower() in _LINKS:
            links.append(word)  # as in Lord of the Rings, if another capital follows
            continue
        if run and (capital != is_name or not (says or capital)):
            yield is_name, _joined(run)
            run, links = [], []
        if says or capital:
            run += [*links, word] if run else [word]
            is_name = capital
        links = []
    if run:
        yield is_name, _joined(run)


def _first(word: str) -> str:
    return word.lstrip(".-−°")[:1]


def _capital(word: str) -> bool:
    return _first(word).isupper()


def _says(word: str) -> bool:
    """Whether `word` is a content word."""
    return bool(word) and _CONTRACTED.sub("", word.lower()) not in _STOPWORDS


def _joined(run: list[str]) -> str:
    return _POSSESSIVE.sub("", " ".join(run)).rstrip(".")
