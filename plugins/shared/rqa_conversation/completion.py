"""Complete a question from the questions and answers before it, by its form and without a model.

The field calls this conversational query rewriting: ellipsis ("and Birch?") takes the last question with one part
replaced, and a pronoun takes what the last question or its answer is about. English only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_WORD = re.compile(r"[^\s,;:!?()\"“”]+|[,;:]")
_OPENING = re.compile(
    r"\A(?:(?:and|but|or|so|ok(?:ay)?|well|then|also)\b[ ,]*)*(?:(?:what|how) about\b\s*|(?:the )?same for\s+)?", re.I
)
_QUESTION = frozenset("who whom whose what which when where why how".split())
_MEASURES = frozenset("many much long far often old".split())  # after "how"
_AUXILIARY = frozenset(
    "is are was were am be been do does did has have had can could may might must shall should will would".split()
)
_PREPOSITIONS = frozenset(
    """of in on at for to from with without by about after before during between under over into near until since
    through per than as against within behind inside outside""".split()
)
_BE = frozenset("is are was were has have had".split())
_CONJUNCTIONS = frozenset("and or but if because that while not".split())
_DETERMINERS = frozenset("the a an this that these those my your his her its their our every each all any".split())
_ARTICLES = frozenset("the a an".split())
_PERSONAL = frozenset("he she him her his hers himself herself".split())
_NEUTRAL = frozenset("it its itself this that".split())
_PLURAL = frozenset("they them their theirs these those".split())
_POSSESSIVE = frozenset("his her its their".split())
_OTHER = frozenset("there then one ones".split())
_SPEAKERS = frozenset("i you we me us".split())
_BREAKS = (
    _QUESTION | _MEASURES | _AUXILIARY | _PREPOSITIONS | _CONJUNCTIONS | _SPEAKERS | {",", ";", ":", "there", "then"}
)
_PRONOUNS = _DETERMINERS | _PERSONAL | _NEUTRAL | _PLURAL | _OTHER
_COMMANDS = frozenset("tell give show list describe explain name compare find thanks thank please".split())
_ENGLISH = _QUESTION | _AUXILIARY | _COMMANDS
_PLACES = frozenset("in at on near inside outside".split())
_PARTICIPLE = re.compile(
    r".+(?:[^e]ed|[aeiou]wn|[^lr]den|[kst]en|ught)|born|made|built|sold|held|kept|led|found|sent|lent|left|paid|won|cut|put|set"
)
_TIME = re.compile(r"(?:1\d|20)\d\d|(?:mon|tues|wednes|thurs|fri|satur|sun)days?", re.I)
_RANK = re.compile(r"\w+est|first|last|next")
_EMPTY_IT = re.compile(
    r"\bit (?:possible|necessary|allowed|safe|legal|better|worth|hard|easy|important|good|bad|true) (?:to|that)\b"
    r"|(?<=what time is )it\b|\bit that\b|\bit (?:take|matter|rain|snow)s?\b(?! ?\?)",
    re.I,
)
_CLAUSE = re.compile(r"\b(?:and|if|when|while|because|after|before)\b|[,;]", re.I)
# A property whose owner the question before defines: what is anemia? What are the symptoms?
_UNOWNED = re.compile(r"((?i:what)(?: is| are| was| were|['’]s) the [a-z -]+?)\s*\?")
_DEFINITION = re.compile(r"what(?: is| are|['’]s) (?!the\b|a\b|an\b|your\b|our\b|my\b)[\w' -]+\?", re.I)
_MOST_ALONE = 3  # words of a fragment that does not begin with "and"
_MOST_WORDS = 7  # of a fragment, or of an answer that can be what a pronoun means


@dataclass(frozen=True, slots=True)
class Turn:
    """A question that stands alone, and its answer, "" if there was none."""

    question: str
    answer: str = ""


@dataclass(frozen=True, slots=True)
class Completion:
    """A question that stands alone. `unknown` is the word whose meaning the conversation does not tell."""

    question: str
    unknown: str = ""


def completed(question: str, turns: Sequence[Turn]) -> Completion:
    """Return `question` as it can be understood without `turns`, the earliest first. Unchanged if it stands alone."""
    turns = [turn for turn in turns if _words(turn.question)]
    if not turns:
        return Completion(question)
    rest = _OPENING.sub("", question.strip(), count=1)
    opened = rest != question.strip()
    words = _words(rest)
    if not words:
        return Completion(question, question.strip() if opened else "")
    if words[0].lower() == "if" and "?" in rest and "," not in words and len(words) <= _MOST_WORDS:
        before = _words(turns[-1].question)
        return _asked_again(before, (len(before), len(before)), ["if", *words[1:]])
    is_english = not _ENGLISH.isdisjoint(word.lower() for word in _words(turns[-1].question))
    if _is_fragment(words) and len(words) <= (_MOST_WORDS if opened else "?" in rest and _MOST_ALONE) and is_english:
        return _from_fragment(question, rest, words, turns)
    return _with_antecedents(_capitalised(rest) if opened else question, turns)


_CONTRACTED = re.compile(r"\b(what|who|where|when|how|which)['’]s\b", re.I)


def _words(text: str) -> list[str]:
    found = _WORD.findall(_CONTRACTED.sub(r"\1 is", text).replace("’", "'"))
    return [word.rstrip(".") for word in found if word.strip(".")]


def _is_fragment(words: Sequence[str]) -> bool:
    """Whether words are no whole question: they have neither a verb in its place nor a command."""
    lower = [word.lower() for word in words]
    if lower[0] in _AUXILIARY:
        return len(words) < 3
    if lower[0] in _QUESTION:
        rest = lower[1:]
        if _MEASURES.issuperset(rest):  # when, how long
            return True
        is_asked = rest[0] in ("many", "much") or (lower[0] in ("which", "what") and not rest[0].endswith("s"))
        return len(rest) <= 2 and is_asked and not _AUXILIARY.intersection(rest)
    return not _AUXILIARY.intersection(lower) and lower[0] not in _COMMANDS


@dataclass(frozen=True, slots=True)
class _Part:
    """A noun phrase of a question: `start` and `end` count its words."""

    words: tuple[str, ...]
    start: int
    end: int
    preposition: str = ""

    @property
    def text(self) -> str:
        return " ".join(self.words)

    @property
    def nouns(self) -> set[str]:
        return {_stem(word) for word in self.words if word.lower() not in _DETERMINERS}

    @property
    def is_name(self) -> bool:
        return any(_is_name(word) for word in self.words)

    @property
    def is_plural(self) -> bool:
        last = self.words[-1].lower()
        return last.endswith("s") and not last.endswith(("ss", "us", "is", "'s")) and not _is_name(self.words[-1])


def _is_name(word: str) -> bool:
    return word[:1].isupper() or word[:1].isdigit()


def _stem(word: str) -> str:
    return re.sub(r"(?:'s|s)$", "", word.lower())


def _parts(words: Sequence[str]) -> list[_Part]:
    """Return the noun phrases of a question, in order."""
    found: list[_Part] = []
    start = 0
    lower = [word.lower() for word in words]
    for at in range(len(words) + 1):
        ends = at == len(words) or lower[at] in _BREAKS
        if (ends or (lower[at] in _DETERMINERS and at > start)) and at > start:
            found += _phrases(words, start, at, lower[start - 1] if start else "", lower)
        if ends:
            start = at + 1
        elif lower[at] in _DETERMINERS:
            start = at
    return found


def _phrases(words: Sequence[str], start: int, end: int, before: str, lower: Sequence[str]) -> Iterator[_Part]:
    """Yield the noun phrases between two words, without the verb that begins, ends or parts them."""
    first = 1 if lower[start] in _DETERMINERS else 0
    preposition = before if before in _PREPOSITIONS else ""
    asks = next((word for word in lower[:start] if word in _QUESTION), "")
    auxiliary = next((word for word in lower[:start] if word in _AUXILIARY), "")
    after = end
    end -= bool(auxiliary) and lower[end - 2 : end] == ["take", "place"]
    if auxiliary and end - start - first > 1 and (before in _AUXILIARY or end == len(words)):
        names = [at for at in range(start, end) if _is_name(words[at])]
        last = lower[end - 1]  # does the Tarpan X | cost, may a hotel in Germany | cost
        is_verb = auxiliary not in _BE or ((names or asks not in ("what", "who")) and _PARTICIPLE.fullmatch(last))
        if end < len(words) and lower[end] in _AUXILIARY:  # how many plots does the garden club | have
            is_verb = False
        if is_verb and end - 1 not in names and (before in _AUXILIARY or names):
            is_long = before in _AUXILIARY and auxiliary not in _BE and end - start - first > 2
            is_person = len(names) > 1 and names == [*range(start, start + len(names))]
            if is_long and is_person:  # did Ben Franklin | want turkey
                end = names[-1] + 1
            elif is_long and not first and _Part((words[start],), 0, 1).is_plural:  # do turkeys | become popular
                end = start + 1
            else:
                end -= 1
    elif not first and auxiliary and before in _SPEAKERS:  # may I | bring a dog
        start += 1
    elif not first and not auxiliary and before == "many" and end - start == 2:  # how many people | fit
        end -= 1
    elif not first and before in ("who", "what", "which"):  # who | founded, but: which room | has
        start += before == "who" or not (_AUXILIARY | {"of"}).intersection(lower[end : end + 1])
    if end - start > 1 and re.fullmatch(r"[a-z]{3,}ly", words[end - 1]):  # an adverb
        end -= 1
    for begin, stop in ((start, end), (end + 1, after)):
        if begin < stop and not _PRONOUNS.issuperset(lower[begin:stop]):
            yield _Part(tuple(words[begin:stop]), begin, stop, preposition if begin == start else "")


def _subject(words: Sequence[str], *, plural: bool | None = None, without: str = "") -> _Part | None:
    """Return what a question is about: the phrase after its verb or its owner, else the last name, else any phrase.

    `plural`: only such a phrase, if there is one. `without`: not this one.
    """
    parts = _parts(words)
    lower = [word.lower() for word in words]
    ranked: list[_Part] = []
    for part in parts:
        if part.start and lower[part.start - 1] in _AUXILIARY:
            owner = next((p for p in parts if p.preposition in ("of", "in") and p.start == part.end + 1), None)
            is_definition = lower[0] in ("what", "who") and not part.is_name
            ranked = [owner, part] if owner and (owner.preposition == "of" or is_definition) else [part]
            break
    ranked += [part for part in reversed(parts) if part.is_name and part.start and not _TIME.fullmatch(part.text)]
    ranked += reversed(parts)
    ranked = [each for part in ranked for each in (*_owner(part), part) if each.text != without]
    fitting = [part for part in ranked if plural is None or part.is_name or part.is_plural == plural]
    return next(iter([*fitting, *ranked]), None)


def _owner(part: _Part) -> list[_Part]:
    """Return the owner that a phrase begins with: anemia, of anemia's possible causes."""
    for at, word in enumerate(part.words[:-1]):
        if word.endswith(("'s", "s'")):
            name = word.removesuffix("'s").removesuffix("'")
            return [_Part((*part.words[:at], name), part.start, part.start + at + 1, part.preposition)]
    return []


def _whole(part: _Part, words: Sequence[str]) -> str:
    """Return a noun phrase with the place or owner after it: the garage in Kiel."""
    text, end = part.text, part.end
    if part not in _parts(words):  # an owner
        return text
    for other in _parts(words):
        if other.start == end + 1 and other.preposition in ("of", "in", "for") and not part.is_name:
            text += f" {other.preposition} {other.text}"
            end = other.end
    begins = part.start >= 2 and part.is_name and words[part.start - 1].lower() in ("in", "of", "at")
    if begins:  # the garage in Kiel, the room of Anna
        before = next((p for p in _parts(words) if p.end == part.start - 1 and not p.is_name), None)
        if before and words[part.start - 1].lower() != "of":
            return f"{before.text} {words[part.start - 1]} {text}"
    return text


def _answer_entity(turn: Turn) -> str:
    """Return what a short answer names, "" if it is a number, a date, a sentence or yes or no."""
    answer = turn.answer.strip().rstrip(".")
    words = _words(answer)
    if not words or len(words) > _MOST_WORDS:
        named = [part.text for part in _parts(words) if part.words[0][0].isupper() and (part.start or part.words[1:])]
        fresh = [name for name in named if name.lower() not in turn.question.lower()]
        return fresh[0] if len(fresh) == 1 else ""
    if words[0][0].isdigit() or words[0].lower() in ("yes", "no") or words[0].lower() in _PREPOSITIONS:
        return ""
    return answer


def _is_person(text: str) -> bool:
    words = text.split()
    return bool(words) and len(words) <= 4 and all(_is_name(word) and word.isalpha() for word in words)


def _antecedent(pronoun: str, turns: Sequence[Turn], used: str) -> str:
    """Return what a pronoun stands for, "" if the conversation does not tell. `used`: what another one stands for."""
    if pronoun in ("one", "ones"):
        return _asked_noun(turns[-1], pronoun)
    find = _person if pronoun in _PERSONAL else {"there": _place, "then": _time}.get(pronoun, _thing)
    return next(filter(None, (find(turn, _words(turn.question), pronoun, used) for turn in reversed(turns))), "")


def _person(turn: Turn, words: list[str], pronoun: str, used: str) -> str:
    entity, first = _answer_entity(turn), words[0].lower()
    if first in ("who", "whose", "which") and _is_person(entity):
        return entity
    named = [part.text for part in _parts(words) if part.is_name and part.start and _is_person(part.text)]
    return named[-1] if named else entity if first == "who" and _is_person(entity) else ""


def _place(turn: Turn, words: list[str], pronoun: str, used: str) -> str:
    place = [part for part in _parts(words) if part.preposition in _PLACES and not _TIME.search(part.text)]
    if place:
        return f"{place[-1].preposition} {_whole(place[-1], words)}"
    if words[0].lower() == "where" and 0 < len(_words(turn.answer)) <= _MOST_WORDS:
        return turn.answer.strip().rstrip(".")
    subject = _subject(words)
    return f"at {_whole(subject, words)}" if subject else ""


def _time(turn: Turn, words: list[str], pronoun: str, used: str) -> str:
    times = _TIME.findall(turn.question) or (_TIME.findall(turn.answer) if words[0].lower() == "when" else [])
    return f"{'in' if times[-1][0].isdigit() else 'on'} {times[-1]}" if times else ""


def _thing(turn: Turn, words: list[str], pronoun: str, used: str) -> str:
    entity = _answer_entity(turn)
    lower = [word.lower() for word in words]
    if entity and pronoun in _NEUTRAL and lower[0] in ("what", "which") and not _BE.intersection(lower[1:2]):
        return entity
    if pronoun in _PLURAL:
        plural = [part for part in _parts(words) if part.is_plural]
        asked = [part for part in plural if part.start and lower[part.start - 1] in ("many", "which", "what")]
        if plural:
            return _whole(([part for part in plural if part not in asked] or plural)[-1], words)
    about = _subject(words, plural=pronoun in _PLURAL, without=used)
    return _whole(about, words) if about else ""


_TOKEN = re.compile(r"\s+|[^\s,;:!?()\"“”.]+|.")


def _with_antecedents(question: str, turns: Sequence[Turn]) -> Completion:
    """Return a whole question with what its pronouns stand for in their places."""
    found = list(_TOKEN.finditer(question))
    out = [token[0] for token in found]
    spoken = [at for at, token in enumerate(out) if not token.isspace()]
    empty = {match.start() for match in _EMPTY_IT.finditer(question)}
    named = replaced = False
    used = ""
    for at, following, preceding in zip(spoken, [*spoken[1:], None], [None, *spoken], strict=False):
        token, pronoun = found[at][0], re.split("['’]", found[at][0].lower())[0]
        after = found[following][0] if following is not None else ""
        before = found[preceding][0].lower() if preceding is not None else ""
        named = named or (preceding is not None and token[:1].isupper())
        is_thing = pronoun in _NEUTRAL | _PLURAL
        has_own = (named and pronoun in _PERSONAL) or (
            is_thing and (replaced or _has_own(question[: found[at].start()]))
        )
        if not _is_pronoun(pronoun, before, after) or found[at].start() in empty or has_own:
            continue
        meant = _antecedent(pronoun, turns, used)
        if not meant:
            return Completion(question, token)
        used, replaced = meant, replaced or is_thing
        if following is not None and pronoun in _DETERMINERS - _POSSESSIVE and after.lower() not in _AUXILIARY | {"?"}:
            is_same = _stem(after) in {_stem(word) for word in meant.split()}  # this car
            out[at], out[following] = ("", meant) if is_same else ("the", f"{after} of {meant}")
        elif pronoun in _POSSESSIVE and after.isalpha() and (pronoun != "her" or _takes_noun(after)):
            out[at] = f"{meant}'s"
        else:
            out[at] = meant + token[len(pronoun) :]
    text = re.sub(r"\s+", " ", "".join(out)).strip()
    return Completion(_with_owner(question, turns[-1]) if text == question.strip() else _capitalised(text))


def _with_owner(question: str, last: Turn) -> str:
    """Return a question about a property with its owner: what are the symptoms | of anemia?"""
    asked = _UNOWNED.fullmatch(question.strip()) if _DEFINITION.fullmatch(last.question.strip()) else None
    about = _subject(_words(last.question)) if asked else None
    if not asked or not about or _parts(_words(asked[1]))[1:] or about.nouns.intersection(map(_stem, _words(asked[1]))):
        return question
    return f"{asked[1]} of {_whole(about, _words(last.question))}?"


def _is_pronoun(word: str, preceding: str, following: str) -> bool:
    """Whether a word stands for something here, unlike in: is there a bus, the one, that he came, after that."""
    if word in ("there", "then"):
        is_idle = preceding in _AUXILIARY or following.lower() in _AUXILIARY
        return not is_idle if word == "there" else following in ("", "?")
    if word == "that":
        return (preceding in _AUXILIARY | _PREPOSITIONS or following in ("", "?")) and preceding not in ("all", "so")
    if word in ("one", "ones"):
        is_number = preceding in ("no", "any", "every", "which", "the", "this")
        return not is_number and following.lower() not in ("of", "day", "year")
    return word in _PERSONAL | _NEUTRAL | _PLURAL


def _has_own(before: str) -> bool:
    """Whether a pronoun after these words means something in them: what is CBT and how does it | work."""
    clause = [match.start() for match in _CLAUSE.finditer(before)]
    return bool(clause and _parts(_words(before[: clause[-1]]) or _words(before)))


def _takes_noun(following: str) -> bool:
    return following.lower() not in _PREPOSITIONS | _AUXILIARY | _QUESTION | _CONJUNCTIONS


def _asked_noun(turn: Turn, word: str) -> str:
    """Return the noun that "one" stands for: that of "how many plots"."""
    found = re.search(r"\b(?:how many|which|what)\s+(\w+)", turn.question, re.I)
    if not found or found[1].lower() in _AUXILIARY:
        subject = _subject(_words(turn.question))
        return subject.text if subject and not subject.is_name else ""
    noun = found[1]
    return noun if word == "ones" else f"a {re.sub(r'(?<=[^s])s$', '', noun)}"


def _from_fragment(question: str, rest: str, words: list[str], turns: Sequence[Turn]) -> Completion:
    """Return the last question with the fragment in the place of the part that it replaces."""
    last = turns[-1]
    before = _words(last.question)
    lower = [word.lower() for word in words]
    if lower[0] in _DETERMINERS | _PREPOSITIONS:
        words = [lower[0], *words[1:]]
    if lower[:2] in (["the", "one"], ["the", "ones"]) and lower[2:3] and lower[2] in _PREPOSITIONS:
        words, lower = words[2:], lower[2:]
    if lower[0] in _QUESTION or (lower[0] in _PREPOSITIONS and lower[1:2] and lower[1] in _QUESTION):
        return _with_question_word(question, words, last)
    if lower[0] in ("the", "that") and lower[1:2] in (["other"], ["others"]):
        return Completion(question, " ".join(words))
    parts = _parts(before)
    nouns = [part.words[-1] for part in parts if not part.is_name]
    if lower[0] == "the" and lower[2:] in (["one"], ["ones"]) and nouns:  # the first one
        words, lower = [*words[:2], nouns[-1]], [*lower[:2], nouns[-1].lower()]
    resolved = _with_antecedents(" ".join(words), turns)
    if resolved.unknown:
        return Completion(question, resolved.unknown)
    if resolved.question.lower() != " ".join(lower):
        return Completion(f"What about {resolved.question[:1].lower()}{resolved.question[1:]}?")
    if not parts:
        return Completion(question, " ".join(words))
    if lower[0] in _PREPOSITIONS:
        return _asked_again(before, _same_preposition(lower, words, parts, len(before)), words)
    target = _replaced(words, parts, before)
    if target is None:
        return Completion(question, " ".join(words))
    new = _with_article(words, target)
    if _RANK.fullmatch(lower[-1]):  # and the oldest, after: where is the youngest crust
        best = next((at for at, word in enumerate(target.words) if _RANK.fullmatch(word)), None)
        new = new if best is None else [*words, *target.words[best + 1 :]]
    is_property = (
        target.is_name and not any(map(_is_name, words)) and (lower[0] in _ARTICLES or lower[-1].endswith("s"))
    )
    if is_property:
        text = target.text
        new = [*words, "of" if lower[0] == "the" else "for", *text.split()]
    return _asked_again(before, (target.start, target.end), new)


def _with_article(words: list[str], target: _Part) -> list[str]:
    """Return the words with the article and the common nouns of what they replace: the room Birch."""
    if words[0].lower() in _DETERMINERS or not target.words:
        return words
    names = [at for at, word in enumerate(target.words) if _is_name(word)]
    if names and len(words) == 1 and _is_name(words[0]) and not target.nouns & {_stem(word) for word in words}:
        return [*target.words[: names[0]], *words, *target.words[names[-1] + 1 :]]
    if not names and target.words[0].lower() in _ARTICLES and not any(map(_is_name, words)):
        return [target.words[0], *words]
    return words


def _same_preposition(lower: list[str], words: list[str], parts: Sequence[_Part], length: int) -> tuple[int, int]:
    """Return the words to replace: the phrase with the same preposition, else nothing after the last word."""
    for kind in ({lower[0]}, _PLACES if lower[0] in _PLACES and not _TIME.search(words[-1]) else set()):
        same = [part for part in parts if part.preposition in kind]
        if same:
            return same[-1].start - 1, same[-1].end
    return length, length


def _replaced(words: list[str], parts: Sequence[_Part], before: list[str]) -> _Part | None:
    """Return the part of the last question that a fragment takes the place of."""
    nouns = {_stem(word) for word in words if word.lower() not in _DETERMINERS}
    shared = [part for part in parts if part.nouns & nouns]
    if shared:
        return max(shared, key=lambda part: len(part.nouns & nouns))
    lower = [word.lower() for word in before]
    if len(words) == 1 and _PARTICIPLE.fullmatch(words[0].lower()) and _PARTICIPLE.fullmatch(lower[-1]):
        return _Part((before[-1],), len(before) - 1, len(before))
    if len(words) == 1 and words[0].islower() and not words[0].endswith("s") and lower[-1].islower():
        # A bare singular beside a noun with an article is a verb: when does the shop open? And close?
        subject = next((p for p in parts if p.end == len(before) - 1 and p.words[0].lower() in _DETERMINERS), None)
        if subject and lower[subject.start - 1] in _AUXILIARY:
            return _Part((before[-1],), len(before) - 1, len(before))
    times = [part for part in parts if _TIME.fullmatch(part.text)]
    if _TIME.fullmatch(" ".join(words)):
        return times[-1] if times else None
    parts = [part for part in parts if part not in times]
    named = [part for part in parts if part.is_name and part.start]
    if any(map(_is_name, words)) and named:
        return named[-1]
    common = [part for part in parts if not part.is_name]
    asked = [p for p in common if p.start and lower[p.start - 1] in (*_MEASURES, "which", "what", "whose")]
    inverted = [p for p in common if p.start and lower[p.start - 1] in _AUXILIARY and p not in asked]
    if any(map(_is_name, words)):  # and Switzerland, where none was named
        return next(reversed(inverted or common), None)
    free = [p for p in common if p not in asked and not p.preposition]
    return next(iter([*inverted, *free, *(named[-1:] if not asked else []), *asked, *named, *common]), None)


def _asked_again(before: Sequence[str], place: tuple[int, int], new: Sequence[str]) -> Completion:
    words = [*before[: place[0]], *new, *before[place[1] :]]
    return Completion(_capitalised(re.sub(r" ([,;:])", r"\1", " ".join(words))) + "?")


def _with_question_word(question: str, words: list[str], last: Turn) -> Completion:
    """Return the last question with another question word: "When?" after "Who founded the museum?"."""
    before = _words(last.question)
    lower = [word.lower() for word in before]
    asks = " ".join(words)
    if lower[0] in _AUXILIARY:  # are dogs allowed
        return Completion(f"{_capitalised(asks)} {lower[0]} {' '.join(before[1:])}?")
    subject = _subject(before)
    if len(words) > 1 and words[0].lower() in ("how", "what", "which") and words[-1].lower() not in _MEASURES:
        if not subject:
            return Completion(question, asks)
        about = _whole(subject, before)
        if words[1].lower() == "many":
            return Completion(f"{_capitalised(asks)} does {about} have?")
        return Completion(f"What is the {' '.join(words[1:])} of {about}?")
    verb = next((at for at, word in enumerate(lower) if word in _AUXILIARY), None)
    if verb is not None and verb > 0 and not (lower[0] in ("who", "which", "what") and verb == 1 and len(before) < 3):
        return Completion(f"{_capitalised(asks)} {' '.join(before[verb:])}?")
    if lower[0] == "who" and len(before) > 2:
        actor = _answer_entity(last)
        if actor:
            return Completion(f"{_capitalised(asks)} was it that {actor} {' '.join(before[1:])}?")
    return Completion(question, asks)


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]
