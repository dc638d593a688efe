"""Whether a sentence is about another member of a series than the one that a question names.

"How much does the red tent cost?" is not answered by "The blue tent costs 30 EUR.", nor what bus 5 does by a sentence
about buses 4 and 7, nor what was in 2021 by a clause about 2019.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from robust_qa import Passage, Quote
from robust_qa.kit import cells_of, content_terms, is_row, sentences, words

from .claims import CLAUSE_END, whole_sentence_at
from .reading import values, without
from .values import Relation, Value, relate

_WORD = re.compile(r"[^\W_]+(?:[-'’.][^\W_]+)*")
_CODE = re.compile(r"(?<![\w-])([A-Z]{1,4})-?\d{1,6}(?![\w-])")
_PRONOUN = re.compile(r"(?:It|Its|He|His|She|Her|They|Their)\b")
_ITEM = re.compile(r"[-*+•–]\s|\d{1,3}[.)]\s")  # the mark of a list
_DATES = ("date", "yearday")
_FRAMES = ("date", "yearday", "weekday", "version", "label")
_SUBJECT = 4  # first words of a sentence, among which its subject stands


@dataclass(frozen=True, slots=True)
class _Word:
    text: str
    term: str  # "" for a function word

    @property
    def is_label(self) -> bool:
        """Whether it tells members of a series apart: a number, a letter, a name."""
        return self.text[:1].isdigit() or self.text[:1].isupper()


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question names: pairs of neighbouring words, names, codes and times. `told` are the pairs of the texts."""

    pairs: tuple[tuple[_Word, _Word], ...]
    names: frozenset[str]
    codes: tuple[tuple[str, str], ...]  # such as T-023, each with the letters of its series
    times: tuple[Value, ...]
    terms: frozenset[str]
    before: frozenset[str] = frozenset()  # the words before its names, where these begin sentences of the texts
    told: frozenset[tuple[str, str]] = frozenset()
    keys: tuple[tuple[str, frozenset[str]], ...] = ()  # columns whose cells tell rows apart, with those that it names
    is_dated: bool = False  # one of the texts has a time that the question names
    is_claim: bool = False  # so that another time is not another thing: whether it was then is what is claimed

    @classmethod
    def of(cls, question: str, texts: Sequence[str]) -> Asked:
        """Return what `question` names; a pair, or a name, counts only if one of `texts` has it or it is a label."""
        found = _words(question)
        # "tank 4" names one of a series; "4 tanks" and "aged 4" do not
        measured = " ".join(each.text for each in values(question) if not each.kind.startswith(("label", "number")))
        apart = {word.text for word in _words(measured) if word.is_label}
        beside = ((one, other) for one, other in pairwise(found) if one.term and other.term)
        pairs = tuple(pair for pair in beside if not pair[0].text[0].isdigit() and pair[1].text not in apart)
        told = frozenset[tuple[str, str]]().union(*map(_told, texts))
        known = {term for pair in told for term in pair}
        capital = [each for each in found if each.term and each.term in known and each.text[:1].isupper()]
        # the first word of a claim, too, if the texts never have it as a common word
        names = frozenset(each.term for each in capital if each is not found[0] or not _is_common(each.text, texts))
        times = tuple(each for each in values(question) if each.kind.startswith(_FRAMES))
        own = frozenset(each.term for each in found if each.term)
        days = [each for each in times if each.kind.startswith(_DATES)]
        dated = any(_is_of(day, each) for day in days for text in texts for each in values(text))
        codes = tuple((match[0].lower(), match[1].lower()) for match in _CODE.finditer(question))
        before = frozenset(_before_names(names, texts))
        keys = tuple(_keys(question, texts))
        return cls(pairs, names, codes, times, own, before, told, keys, dated)

    def is_about_another(self, sentence: str, start: int = 0, above: str = "", source: str = "") -> bool:
        """Return whether the sentence, or its clause around character `start`, names another member of the series.

        `above` are the title and the headings, which may name the right one, or another. The name of `source` may, too.
        """
        around = {*content_terms(f"{above} {source}")}
        if self.is_other_row(sentence):
            return True
        is_headed_otherwise = self._another_thing(above, {*content_terms(sentence)}, is_heading=True)
        if is_headed_otherwise or self._another_name(sentence, around):
            return True
        return any(
            self._another_thing(text, around)
            or self._another_time_or_label(text, above)
            or self._another_code(text, above)
            for text in dict.fromkeys((sentence, _clause(sentence, start)))
        )

    def is_other_row(self, unit: str) -> bool:
        """Return whether it is a row of a table about another thing than the row that the question names."""
        row = dict(cells_of(unit)) if self.keys else {}
        return any(row.get(column, "") and row[column] not in cells for column, cells in self.keys)

    def is_astray(self, passage: Passage, start: int, end: int) -> bool:
        """Return whether the sentence of characters `start` to `end` of a passage is about another thing."""
        first, last = whole_sentence_at(passage.text, start, end)
        above = heading_above(passage, first)
        is_another = self.is_about_another(passage.text[first:last], start - first, above, passage.source)
        return is_another or self.is_it_another(passage, first)

    def is_it_another(self, passage: Passage, start: int) -> bool:
        """Return whether the sentence at character `start` begins with a pronoun for another name: "It seats six"."""
        named = _antecedents(passage.text).get(start, "") if self.names else ""
        return bool(named) and self._another_name(named, {*content_terms(f"{passage.title} {passage.source}")})

    def has_others(self, text: str) -> bool:
        """Return whether `text` is about several members of a series that is named: line 4 and 7, Red and Blue Room."""
        pairs = [(one, other) for one, other in pairwise(_words(text)) if one.term and other.term]
        nouns = {one.term for one, other in self.pairs if other.is_label}
        heads = {other.term for one, other in self.pairs if one.is_label}
        after = {(one.term, other.term) for one, other in pairs if one.term in nouns and other.is_label}
        before = {(one.term, other.term) for one, other in pairs if other.term in heads and one.is_label}
        series = {series for _, series in self.codes}
        codes = {match[0].lower() for match in _CODE.finditer(text) if match[1].lower() in series}
        return any(len(members) > 1 for members in (after, before, codes))

    def missing(self, texts: Sequence[str]) -> str:
        """Return that no text is about the number or letter that is asked for, with those that are there, "" else."""
        for noun, label in self.pairs:
            if (
                not label.is_label
                or (len(label.text) > 1 and label.text.isalpha())
                or (noun.term, label.term) in self.told
            ):
                continue
            own = (pair for text in texts for pair in pairwise(_words(text)))
            others = [
                two.text
                for one, two in own
                if one.term == noun.term and two.text[:1].isdigit() == label.text[:1].isdigit()
            ]
            if there := sorted({each for each in others if len(each) == 1 or each[:1].isdigit()}):
                return f"Nothing here is about {noun.text} {label.text}; there are {', '.join(there)}."
        return ""

    def _another_code(self, text: str, above: str) -> bool:
        """Return whether the text has T-022 where T-023 is asked for."""
        told = {match[0].lower(): match[1].lower() for match in _CODE.finditer(f"{text} {above}")}
        return any(code not in told and series in told.values() for code, series in self.codes)

    def _another_thing(self, text: str, around: set[str], *, is_heading: bool = False) -> bool:
        if not self.pairs:
            return False
        for part in text.split(" > "):
            own = _words(part)
            known = around.union(each.term for each in own)
            for number, (one, other) in enumerate(pairwise(own)):
                is_subject = number < _SUBJECT and not is_heading
                if one.term and other.term and self._is_other_pair(one, other, known, is_subject=is_subject):
                    return True
        return False

    def _is_other_pair(self, one: _Word, other: _Word, known: set[str], *, is_subject: bool) -> bool:
        """Return whether the words are Blue Room where Red Room is asked for, or the subject is a blue tent."""
        for first, second in self.pairs:
            if other.term == second.term and first.term not in known and one.term not in self.terms:
                is_told = (first.term, second.term) in self.told
                if one.is_label if first.is_label else is_subject and is_told:
                    return True
            is_other = one.term == first.term and second.term not in known and other.term not in self.terms
            if is_other and second.is_label and other.is_label:
                return True
        return False

    def _another_name(self, text: str, around: set[str]) -> bool:
        own = _words(text)
        known = around.union(each.term for each in own)
        if not self.names or self.names & known:
            return False
        if _begins_with_date(text):
            return True  # each entry of a log stands for itself
        own = _words(without(text, values(text)))  # November is no name
        return any(
            each.text[:1].isupper()
            and each.term
            and each.term not in self.terms
            and (own[number - 1].text.lower() if number else "") in self.before
            and (number or _is_name(each, own[1:2]))
            for number, each in enumerate(own[:_SUBJECT])
        )

    def _another_time_or_label(self, text: str, above: str) -> bool:
        if not self.times:
            return False
        told = [each for each in (*values(text), *values(above)) if each.kind.startswith(_FRAMES)]
        for asked in self.times:
            relations = [one for each in told if (one := relate(asked, each)) is not Relation.INCOMPARABLE]
            is_time = not asked.kind.startswith("label")
            if relations and all(each is Relation.EXCLUDED for each in relations) and not (self.is_claim and is_time):
                return True
            if not relations and self.is_dated and asked.kind.startswith(_DATES):
                return True  # an undated sentence, where another one has the date
        return False


def says_cell(question: str, cell: str) -> bool:
    """Return whether a question has a cell word for word, in any case unless it is an English stopword."""
    if not content_terms(cell):
        return len(cell) > 1 and f" {cell} " in f" {question.rstrip('?')} "
    return _padded(cell) in _padded(question)


@lru_cache(maxsize=1024)  # a question is read for each cell
def _padded(text: str) -> str:
    return f" {' '.join(words(text))} "


def _keys(question: str, texts: Sequence[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the columns that have another cell in each row, with the cells that the question names."""
    units = {text[start:end] for text in texts if "; " in text for start, end in sentences(text)}
    columns: dict[str, list[str]] = {}
    for column, cell in (pair for unit in units for pair in cells_of(unit)):
        columns.setdefault(column, []).append(cell)
    for column, cells in columns.items():
        # a number is what is asked or claimed of a row, or stands beside its noun
        named = frozenset(cell for cell in cells if cell and not cell[0].isdigit() and says_cell(question, cell))
        if named and len({*cells}) == len(cells) > 1:
            yield column, named


def _begins_with_date(text: str) -> bool:
    """Return whether it is an entry such as "3 March 2023: The gate was closed.", and no date alone."""
    first = next(iter(values(text)), None)
    if first is None or not first.kind.startswith(_DATES) or text[: first.start].strip("-*# "):
        return False
    return bool(content_terms(text[first.end :]))


def _is_of(asked: Value, told: Value) -> bool:
    return told.kind.startswith(_DATES) and relate(asked, told) in (Relation.EQUAL, Relation.IMPLIED)


def of_the_same(claim: str, units: Sequence[tuple[Quote, str]], passages: Sequence[Passage]) -> list[tuple[Quote, str]]:
    """Return the parts of `passages` without those about another thing than a claim, or a question, names.

    One that begins with a pronoun has the sentence before it that says what it is about.
    """
    asked = replace(Asked.of(claim, [passage.text for passage in passages]), is_claim=True)
    terms = {*content_terms(claim)}
    shared = {
        (unit.passage, unit.start): len(terms & {*content_terms(text)})
        for unit, text in units
        if is_row(text) and text != passages[unit.passage].text
    }

    def is_other(unit: Quote, text: str) -> bool:
        passage = passages[unit.passage]
        if text == passage.text and "\n" in text:
            return asked.has_others(text) or any(asked.is_other_row(text[slice(*span)]) for span in sentences(text))
        own = shared.get((unit.passage, unit.start))
        if own is not None and any(own < more for (number, _), more in shared.items() if number == unit.passage):
            return True  # another row has more of the words
        if text == passage.text and any(asked.is_it_another(passage, start) for start in _antecedents(text)):
            return True  # its sentences are read alone
        above = heading_above(passage, unit.start)
        return asked.is_about_another(text, 0, above, passage.source) or asked.is_it_another(passage, unit.start)

    kept = [(unit, text) for unit, text in units if not is_other(unit, text)]
    whole = {passage.text for passage in passages}
    before = [
        "" if text in whole else _antecedents(passages[unit.passage].text).get(unit.start, "") for unit, text in kept
    ]
    return [(unit, f"{named} {text}" if named else text) for (unit, text), named in zip(kept, before, strict=True)]


@lru_cache(maxsize=256)
def _antecedents(text: str) -> dict[int, str]:
    """Return for the start of each sentence that begins with a pronoun the one before that says what it stands for."""
    found: dict[int, str] = {}
    named = ""
    for start, end in sentences(text):
        if not _PRONOUN.match(text, start):
            named = text[start:end]
        elif named:
            found[start] = named
    return found


def heading_above(passage: Passage, start: int) -> str:
    """Return the title of a passage, the last heading before character `start`, and its item up to there."""
    *lines, item = passage.text[:start].split("\n")
    numbered = zip(lines, passage.lines, strict=False)
    # a heading has no line of its own, unless no line has
    headings = [line for line, number in numbered if not number and line.strip() and any(passage.lines)]
    own = [item] if _ITEM.match(item) else []  # "- T-022 lent to the archive. Insured for 2,400 EUR."
    return " > ".join([passage.title, *headings[-1:], *own])


def _is_common(word: str, texts: Sequence[str]) -> bool:
    return any(word.lower() in _WORD.findall(text) for text in texts)


def _before_names(names: Set[str], texts: Sequence[str]) -> Iterator[str]:
    """Yield the word before a name among the first words of a sentence, "" if the name is the first."""
    for text in texts if names else ():
        for start, end in sentences(text):
            own = _words(text[start:end])[:_SUBJECT]
            yield from (own[n - 1].text.lower() if n else "" for n, word in enumerate(own) if word.term in names)


def _is_name(word: _Word, following: Sequence[_Word]) -> bool:
    """Return whether the first word of a sentence is a name: no noun follows, so that it is no adjective."""
    return bool(following) and not following[0].term


@lru_cache(maxsize=2048)  # a sentence is read for each answer in it
def _words(text: str) -> tuple[_Word, ...]:
    return tuple(map(_word, _WORD.findall(text)))


@lru_cache(maxsize=1 << 14)
def _word(text: str) -> _Word:
    return _Word(text, next(iter(content_terms(text)), ""))


@lru_cache(maxsize=256)
def _told(text: str) -> frozenset[tuple[str, str]]:
    """Return the pairs of neighbouring words of a text, as terms."""
    return frozenset((one.term, other.term) for one, other in pairwise(_words(text)))


def _clause(sentence: str, start: int) -> str:
    first = max(
        (match.end() for match in CLAUSE_END.finditer(sentence, 0, max(start, 0) + 1) if match.end() <= start),
        default=0,
    )
    after = CLAUSE_END.search(sentence, start)
    return sentence[first : after.start() if after else len(sentence)]
