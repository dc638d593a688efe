"""Split text into sentences and words, normalise answers for comparison, and group texts of similar length."""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import lru_cache
from itertools import islice, pairwise
from typing import Any

_REREAD = 5_000  # characters of a text that may be a passage, which is read again
_COPY = 0.8  # least share of common triples of words
_ABBREVIATIONS = frozenset(
    """mr messrs mrs mme mlle ms dr prof st sr jr rev hon gen col capt maj adm cmdr lt sgt cpl pvt gov sen rep pres no
    nos vol vols fig figs eq sec ch pp ed eds vs etc approx ca cf al dept est inc ltd co corp univ jan feb mar apr jun
    jul aug sep sept oct nov dec mt ft ph.d""".split()
)
_NUMBERED = frozenset("op art mon tue tues wed thu thur thurs fri sat sun".split())  # abbreviations before a number
_INITIALS = re.compile(r"(?:[^\W\d_]\.)*[^\W\d_]")
_NUMBER = re.compile(r"\s+\d")
# Possessive quantifiers keep the search linear, for example on leader dots.
_BOUNDARY = re.compile(
    # Closing quotes, emphasis and reference marks belong to the sentence before them: 1925.[3]
    # Wildcards (2.*) and indexes (split(".")[0]) do not end a sentence.
    r"(?<![.!?…])[.!?…]++[\"'”’)\]]*+(?:(?:(?<![\d*][.!?…])[*_]++|\*\*|__)[\"'”’)\]]*+)?"
    r"(?:(?<![\"']\))\[[^\[\]\n.!?…]{1,30}\]|[¹²³⁰⁴-⁹])*+(?=\s+[\"'“‘(\[]*[^\sa-z])"
    r"|[。！？।॥۔؟።။។]+|\n\s*\n"
    r"|\n(?=[ \t]*(?:[-*+•|]|\d{1,2}[.)])[ \t])"  # before a list item or table row
)
_RECORD = re.compile(  # the beginning of a line of code or of settings
    r"[\[{<@#$;&]|//|[\w.-]+[ \t]*[=:](?!//)"
    r"|(?:def|class|import|return|raise) "
)
_CODE = re.compile(r"[{}();=:,\\]\Z|\w\(+[^ ()]*\)\Z| [=!]?= ")
# The beginning of a line of a log or a chat.
_STAMPED = (
    r"\[[^\]\n]{0,40}\d[:/.-]\d[^\]\n]{0,40}\] ?\S|\d{4}-\d\d-\d\d|\d{1,2}:\d\d"
    r"|\d{1,2}[/.]\d{1,2}[/.]\d|[A-Z][a-z]{2} +\d+ \d\d:"
)
# A row "column: value; column: value" or "cell | cell", or such a line.
_ROW = re.compile(rf"[^:;|\n]{{1,80}}: [^;\n]*; [^:;\n]{{1,80}}: |[^|\n]+ \| |{_STAMPED}")
# A mark with letters and digits, or a number that is no year: AB-1234/5, 9123.
_NAMED = re.compile(r"(?<![\w./-])(?:(?=[\w./-]*[^\W\d_])(?=[\w./-]*\d)|(?=\d{3})(?!(?:1[89]|20)\d\d\b))[\w./-]*\w")
_MARK_PART = re.compile(r"[^\W\d_]+|\d+")
_EMPTY = re.compile(  # a question, a greeting, the end of a letter
    r"[^?？؟]*[?？؟][\"'”’)\]*_]*|(?:dear|hi|hello|hey|good (?:morning|evening|afternoon))\b[\w .'’-]{0,30}[,!.]?"
    r"|(?:(?:kind|best|warm) )?regards[,.]?|(?:many )?thanks[,.!]?|cheers[,.!]?|yours (?:\w+)[,.]?|sincerely[,.]?"
    r"|(?:on|am|le) .{8,200}(?:wrote|schrieb .{1,80}|écrit) ?:",
    re.IGNORECASE | re.S,
)
_SOURCE = re.compile(  # a line of source code
    r"[{};\\]\Z|\w\(+[^ ()]*\)[:;]?\Z| [=!+-]?= |\A(?:[$@}<]|//|/\*|#!|[\w.-]+=\S"
    r"|(?:def|class|import|return|raise|export|const|let|var|function) )"
)
_HEADED = re.compile(r"(?:\d+(?:\.\d+)*[.)]? )?[A-Z]\w*(?: [^\W\d][^\s.!?:;,|=]*){0,11}")
_JOINT = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])|_+")
_LISTED = re.compile(r"[ \t]*(?:[-*+•|]|\d{1,2}[.)])[ \t]")
_LINE_BREAK = re.compile(r"(?<!\S )\n")
_NARROWEST = 30  # characters of a line of wrapped text, if no line goes on in lower case
_FULL_LINE = 60  # characters of a line that is likely wrapped
_MID_STOP = re.compile(r"\w[.!?] +[^\W\d_a-z]")  # a sentence ends within a line
_ITEM = re.compile(r"(?:\A|\n)[ \t*_]*\d{1,2}\Z")
_WORD = re.compile(r"\w+(?:['’.\-]\w+)*")
# The next four run over whole passages. A pattern that starts with a character is searched several times faster.
_ARTICLES = re.compile(r"(?:a(?<!\wa)n?|t(?<!\wt)he)\b")
_THOUSANDS = re.compile(r",(?<=\d,)(?=\d{3}(?!\d))")
_NO_ZERO = re.compile(r"\.(?<![\w.]\.)(?=\d)")  # .5
_BETWEEN_DIGITS = re.compile(r"[.-](?<=\d[.-])[.-]*(?=\d)")
_SCORE = re.compile(r"(?<!\d)(\d):(?=\d(?!\d))")  # 3:2 is 3-2
_DATE = re.compile(r"(?<!\d)(\d+)[.-](\d+)[.-](?=\d)")
_NEGATIVE = re.compile(r"(?:(?<![\w.,)‐-–-])[-−‐-–]|\bminus )(?=[$£€]?\d)", re.IGNORECASE)
# The signs of C++, C# and O+, and comparison signs before a number.
_SIGNS = re.compile(r"(?<=[^\W\d_])[+#]+(?![^\W\d_])|(?<![\w\"'/=\n-])[<>≤≥]=?\s*(?=(?:minus)?[$£€]?\d)")
_SIGN_MARKS = frozenset("+#<>≤≥")
_DIGIT = re.compile(r"\d")
_SIGN_NAMES = {"+": "plus", "#": "sharp", "<": "under", ">": "over"}
_POWER = re.compile(r"(?<=\d)(?:(?=[²³¹⁰⁴-⁹⁻₀-₉])|\^(?=[-−\d]))")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


class _Stops(dict[int, int]):
    """Maps dashes and slashes to a hyphen, other punctuation of any script to a full stop, and the rest to itself."""

    def __missing__(self, character: int) -> int:
        category = unicodedata.category(chr(character))
        mark = "-" if category == "Pd" or character == ord("/") else "."
        return self.setdefault(character, ord(mark) if category.startswith("P") else character)


_STOPS = _Stops()


def sentences(text: str) -> list[tuple[int, int]]:
    """Return the character spans of the units of `text` that can be quoted, in order, without surrounding space.

    A unit is a sentence, a list item, a row of a table, or a line of what is no running text, such as a log, a listing
    or a chat. Full stops after common abbreviations, after initials ("J.R. Smith") and between digits do not end a
    sentence, and neither do the line breaks of wrapped text.
    """
    return [*(_sentences if len(text) <= _REREAD else _sentences.__wrapped__)(text)]


@lru_cache(maxsize=1024)  # each layer that reads a passage asks for its sentences
def _sentences(text: str) -> list[tuple[int, int]]:
    spans: list[tuple[int, int]] = []
    for start, last in _unbroken(text) if "\n" in text else [(0, len(text))]:
        if is_row(text[start:last]):  # its cells may have sentences
            _append_stripped(spans, text, start, last)
        else:
            spans += sentences_within(text, start, last)
    return spans


def sentences_within(text: str, start: int, last: int) -> list[tuple[int, int]]:
    """Return the spans of the sentences between two offsets, also of those in the cells of a row."""
    spans: list[tuple[int, int]] = []
    begin = start
    for match in _BOUNDARY.finditer(text, start, last):
        if match.group().startswith(".") and _is_abbreviation(text, match.start()):
            continue
        _append_stripped(spans, text, begin, match.end())
        begin = match.end()
    _append_stripped(spans, text, begin, last)
    return spans


def statements(text: str, question: str = "") -> list[tuple[int, int]]:
    """Return the units of `text` that can answer or support something.

    These are not questions, greetings and signatures. Headings, quoted mail, and lines of code that share no word with
    `question` are not either, unless there is nothing else. If `question` names something by a mark with digits, such
    as AB-1234/5 or 9123, of rows only those that have it, if any has.
    """
    told = [span for span in sentences(text) if not _EMPTY.fullmatch(text, *span)]
    asked = frozenset(content_terms(question))
    units = [
        span
        for span, following in zip(told, [*told, None][1:], strict=True)
        if not _is_heading(text, span, following) and not _is_context(text, *span, asked)
    ] or told
    for mark in _NAMED.findall(question):
        written = r"[-./_ ]?".join(_MARK_PART.findall(mark))  # AB1234 is AB-1234
        named = re.compile(rf"(?<![\w-]){written}(?![\w-]|[./]\w)", re.IGNORECASE)
        if any(is_row(text[slice(*span)]) and named.search(text, *span) for span in units):
            units = [span for span in units if not is_row(text[slice(*span)]) or named.search(text, *span)]
    return units


def _is_heading(text: str, span: tuple[int, int], following: tuple[int, int] | None) -> bool:
    """Return whether a unit is a paragraph like a heading, with another below that is not."""
    if following is None or text[max(0, span[0] - 2) : span[0]] not in ("", "\n\n") or text[span[1]] != "\n":
        return False
    return bool(_HEADED.fullmatch(text, *span)) and not _HEADED.fullmatch(text, *following)


def _is_context(text: str, start: int, end: int, asked: Set[str]) -> bool:
    """Return whether a unit is from an earlier mail, or code without the stems `asked`."""
    if text.startswith(">", text.rfind("\n", 0, start) + 1):
        return True
    unit = text[start:end]
    return bool(_SOURCE.search(unit)) and asked.isdisjoint(content_terms(f"{unit} {with_parts(unit)}"))


def with_parts(text: str) -> str:
    """Return `text` with its compounds in parts: parseHTTPCode is "parse HTTP Code", and AB12 "AB 12"."""
    return _JOINT.sub(" ", text)


def without_mark(text: str) -> str:
    """Return an item of a list without its bullet or number."""
    mark = _LISTED.match(text)
    return text[mark.end() :].lstrip() if mark else text


def is_row(unit: str) -> bool:
    """Return whether a unit of a text is a row of a table, as rqa reads it, or a line of a log or a chat."""
    return "\n" not in unit and _ROW.match(unit) is not None


def _unbroken(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the paragraphs and list items that are wrapped text, and of the lines of all others.

    A line that ends in one space goes on in the next one, as in mail (RFC 3676).
    """
    lines: list[tuple[int, int]] = []
    end = 0
    for line in [*_LINE_BREAK.split(text), ""]:
        start, end = end, end + len(line) + 1
        above = text[slice(*lines[-1])] if lines else ""
        if lines and (not line.strip() or _LISTED.match(line) or line.startswith(">") != above.startswith(">")):
            is_one = len(lines) > 1 and _is_wrapped([text[slice(*each)] for each in lines])
            yield from [(lines[0][0], lines[-1][1])] if is_one else lines
            lines = []
        if line.strip():
            lines.append((start, end - 1))


def _is_wrapped(lines: Sequence[str]) -> bool:
    """Return whether lines are running text, broken because the next word did not fit, or in mid-sentence."""
    first, *rest = lines
    indents = [len(line) - len(line.lstrip()) for line in lines]
    if _LISTED.match(first):
        return min(indents[1:]) > indents[0]
    shown = [line.strip() for line in lines]
    records = sum(bool(_RECORD.match(line) or _ROW.match(line) or _CODE.search(line)) for line in shown)
    if records > len(lines) / 2 or len(set(indents[1:])) > 1:
        return False
    continued = sum(line[0].islower() for line in shown[1:]) / len(rest)
    width = max(map(len, shown))
    if len(lines) == 2:
        return continued > 0 or width >= _FULL_LINE
    full = sum(len(one) + 1 + len(other.split(None, 1)[0]) > width for one, other in pairwise(shown)) / len(rest)
    is_prose = not records and any(_MID_STOP.search(line) for line in shown)
    return (full >= 2 / 3 and width >= _NARROWEST) or (continued >= 1 / 2 and full >= 1 / 3) or is_prose


def _is_abbreviation(text: str, stop: int) -> bool:
    before = text[max(0, stop - 12) : stop]
    if _ITEM.search(before):
        return True
    word = before.rsplit(None, 1)[-1].lstrip("(\"'“‘[*_").lower() if before.strip() else ""
    if word in _NUMBERED:
        return _NUMBER.match(text, stop + 1) is not None and (word == "op" or not before.split()[-1].islower())
    if word in _ABBREVIATIONS:
        return True
    # J.R.R. Tolkien, but the U.S.A. and the F.B.I.
    alone = word.count(".") < 2 or [*before.split()[-2:-1]] != ["the"]
    return _INITIALS.fullmatch(word) is not None and word != "i" and alone


def _append_stripped(spans: list[tuple[int, int]], text: str, start: int, end: int) -> None:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        spans.append((start, end))


def words(text: str) -> list[str]:
    """Return the words of `text` in lower case, with inner apostrophes and hyphens."""
    return [word.lower() for word in _WORD.findall(text)]


def near_copies(one: str, other: str) -> bool:
    """Return whether two texts have nearly the same words: 0.8 of their triples of words are in both."""
    triples, others = _triples(one), _triples(other)
    common = len(triples & others)
    return common > 0 and common >= _COPY * (len(triples) + len(others) - common)


@lru_cache(maxsize=256)  # a passage is compared with several others
def _triples(text: str) -> frozenset[tuple[str, ...]]:
    found = words(text)
    return frozenset(tuple(found[n : n + 3]) for n in range(max(1, len(found) - 2)) if found)


def with_title(title: str | None, text: str) -> str:
    """Return title and text as one text, the form that evaluators score."""
    return f"{title.strip()}: {text}" if title and title.strip() else text


def normalise(text: str) -> str:
    """Normalise an answer as SQuAD's evaluation does: lower case, no punctuation, no articles, single spaces."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def answer_key(answer: str) -> str:
    """Return a normal form that is equal for equivalent answers.

    Unlike `normalise`, it distinguishes 1.5, 1-5 and -15 from 15, C++ and C# from C, and keeps "A". It removes the
    punctuation of every script and applies NFKC. A number with its sign is one word, so -15 does not contain 15.
    """
    text = answer  # may be a whole passage, so each pattern runs only if its characters occur
    if "^" in text or not text.isascii():
        text = unicodedata.normalize("NFKC", _POWER.sub(" power ", text))
    digits = _DIGIT.search(text) is not None
    if digits:
        text = _NO_ZERO.sub("0.", _THOUSANDS.sub("", text))
        if "-" in text or not text.isascii() or "minus" in text.lower():
            text = _NEGATIVE.sub("minus", text)
    if not _SIGN_MARKS.isdisjoint(text):
        text = _SIGNS.sub(lambda signs: "".join(_SIGN_NAMES.get(sign, sign) for sign in signs[0].strip()), text)
    if digits and ":" in text:
        text = _SCORE.sub(r"\1-", text)
    text = text.translate(_STOPS)
    if digits and _BETWEEN_DIGITS.search(text):
        text = _DATE.sub(r"\1·\2·", text)
        text = _BETWEEN_DIGITS.sub(lambda marks: "–" if "-" in marks[0] else "·", text)
    return normalise(text) or " ".join(answer.lower().split())


def contains_answer(text: str, answers: Iterable[str]) -> bool:
    """Return whether `text` contains any of `answers`, both normalised: the accuracy measure of the papers."""
    haystack = normalise(text)
    return any(needle in haystack for needle in map(normalise, answers) if needle)


def gold_facts(answers: Sequence[Any]) -> list[list[str]]:
    """Return the facts of a row's gold answers, each as a list of alternative wordings.

    A list of texts is one fact; a list of lists has one fact per list. Numbers become text. A whole float such as
    1871.0 gives two wordings, because some programs write integers that way. Wordings that normalise to "" are dropped,
    because every answer would contain them.
    """
    groups = answers if any(isinstance(one, list) for one in answers) else [answers]
    found = [[way for one in (it if isinstance(it, list) else [it]) for way in _gold(one)] for it in groups]
    kept = [list(dict.fromkeys(filter(normalise, fact))) for fact in found]
    return [fact for fact in kept if fact]


def _gold(given: Any) -> list[str]:
    if given is None:
        return []
    whole = isinstance(given, float) and given.is_integer()
    return [str(way).strip() for way in ([int(given), given] if whole else [given])]


# Han, kana and Hangul are written without spaces, so each of their characters is a word.
_TERM = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[^\W_\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_LONGEST = 32  # characters of a word, so that the cache stays small
# Six letters join direct(or|ed|ing) and compos(er|ed). Five rank SQuAD's sentences as well; four, seven and whole words
# are worse.
_STEM = 6
# With these endings away, `rqa_lexical` finds the evidence of 0.9 % more of 1,603 questions (0.3 to 1.5).
_ENDING = re.compile(r"(?<=[a-z]{4})(?:ed?|ing)\Z")

STOPWORDS = frozenset(
    """a about after all also am an and any are as at be because been before being both but by called can
    could did do does doing for from had has have he her him his how i if in into is it its itself just
    known many me more most much my name named no not of on or other our out over s same she should so
    some such t than that the their them then there these they this those through to too under until up
    very was we were what when where which while who whom whose why will with would you your""".split()
)


def content_terms(text: str) -> list[str]:
    """Return the stems of the words of `text` without English stopwords, in order."""
    return [*(_content_terms if len(text) <= _REREAD else _content_terms.__wrapped__)(text)]


@lru_cache(maxsize=1024)
def _content_terms(text: str) -> list[str]:
    return [_stem(word[:_LONGEST]) for word in _TERM.findall(text.lower()) if word not in STOPWORDS]


def term_spans(text: str, terms: Set[str]) -> list[tuple[int, int]]:
    """Return the offsets in `text` of the words whose stems are in `terms`, which `content_terms` returned."""
    return [word.span() for word in _TERM.finditer(text) if _stem(word[0].lower()[:_LONGEST]) in terms]


@lru_cache(maxsize=1 << 14)
def _stem(word: str) -> str:
    """Return the first letters of a lower-case word, without accents, the s of a plural, -e, -ed and -ing."""
    if not word.isascii():
        word = "".join(char for char in unicodedata.normalize("NFKD", word) if not unicodedata.combining(char))
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    return _ENDING.sub("", word)[:_STEM]


def even_batches(lengths: Sequence[int], tokens: int, workers: int) -> list[list[int]]:
    """Group texts of similar length. Return the positions of the texts in each group, the largest group first.

    With padding, a group has at most `tokens` tokens; a longer text is a group of one. The number of groups is about
    a multiple of `workers`, so that all workers finish at the same time.
    """
    least = -(-sum(lengths) // tokens)
    share = sum(lengths) / max(1, -(-least // workers) * workers)
    groups: list[list[int]] = []
    grouped = 0
    for n in sorted(range(len(lengths)), key=lambda n: -lengths[n]):
        group = groups[-1] if groups else []
        if group and grouped < share * len(groups) and (len(group) + 1) * lengths[group[0]] <= tokens:
            group.append(n)
        else:
            groups.append([n])
        grouped += lengths[n]
    return sorted(groups, key=lambda group: -len(group) * lengths[group[0]])


# Scripts without spaces (Thai to Myanmar, kana, Han): each character counts as a word. In other scripts every 64
# characters without a space count as one word (base64).
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff"
WORD = re.compile(rf"[{UNSPACED}]|[^\s{UNSPACED}]{{1,64}}")
PARAGRAPH = re.compile(r"(?:(?!\n[ \t]*\n).)+", re.S)


@lru_cache(maxsize=16)  # a short document is a block and a sentence, too
def count_words(text: str) -> int:
    """Return the number of words, in any script."""
    return len(WORD.findall(text))


def chunks(text: str, words: int) -> list[str]:
    """Cut a text into parts of about `words` words, between paragraphs and sentences."""
    parts: list[list[str]] = [[]]
    total = 0
    for paragraph in PARAGRAPH.finditer(text):
        for number, (start, end) in enumerate(sentences(paragraph[0])):
            sentence = paragraph[0][start:end]
            size = count_words(sentence)
            if total and total + size > words:
                parts.append([])
                total = 0
            parts[-1].append(f"{'' if not total else ' ' if number else chr(10) * 2}{sentence}")
            total += size
    return ["".join(part) for part in parts if part]


def first_words(text: str, words: int, *, title: str = "") -> str:
    """Return the beginning of `text`: together with `title` at most `words` words, but at least one."""
    last = next(islice(WORD.finditer(text), max(words - count_words(title), 1) - 1, None), None)
    return text[: last.end()] if last else text
