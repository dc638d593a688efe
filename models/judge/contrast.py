"""Write claims about a sentence by rules: what it says in other words, what contradicts it, what it leaves open."""

from __future__ import annotations

import random
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
SUPPORTED, CONTRADICTED, NEITHER = "supported", "contradicted", "neither"

_NUMBER = re.compile(r"(?<![\w.,-])\d{1,3}(?:,\d{3})+(?![\w,.]\d)|(?<![\w.,:-])\d+(?:\.\d+)?(?![\w:-]|[.,]\d)")
_CLOCK = re.compile(r"\b([01]?\d|2[0-3])[:.]([0-5]\d)\b")
_NAME = re.compile(r"(?<=[a-z,] )(?:[A-Z][a-z]+(?:[ -](?:of |the )?[A-Z][a-z]+){0,3})")
_AUXILIARY = re.compile(r"\b(is|are|was|were|can|could|may|might|must|will|would|should|shall)\b(?! not|n't|not)")
_NOT = re.compile(
    r"\b(is|are|was|were|can|could|may|must|will|would|should|shall|does|do|did|has|have|had)(?: not|n['’]t|not)\b ?"
)
_HEAD = re.compile(
    r"^(The|A|An|This|Our|Your|Their|His|Her|All|Each|Every) ((?:[a-z-]+ ){1,4}?)(is|are|was|were|can|may|must|will|should|has|have|had|opens?|closes?|costs?|begins?|starts?|ends?) "
)
_INVERTED = re.compile(r"^((?:\S+ ){1,7}?)(is|are|was|were|can|could|may|must|will|would|should) (.+?)[.!]?$")
_SWAP = re.compile(
    r"^((?:The )?[A-Z][a-z]+(?: [A-Z][a-z]+){0,2}) ((?:[a-z]+ ){1,3}?)((?:the )?[A-Z][a-z]+(?: [A-Z][a-z]+){0,2})\b"
)
_NO_SUBJECT = frozenset(
    "if because when whenever since unless while although though so then but and or as after before until once which what who where why how in on at for with by to from during under not also however therefore q a: there".split()
) - {"there"}
_FIRST = frozenset(
    "The A An This These Those All Our Your Their His Her Its It They We You He She Some Many Most Each Every No My There In On At For".split()
)
_MODALS = [
    (" must ", " need not ", CONTRADICTED), (" must ", " may not ", CONTRADICTED), (" may not ", " may ", CONTRADICTED), (" may ", " must ", NEITHER),
    (" must not ", " may ", CONTRADICTED), (" may ", " must not ", CONTRADICTED), (" may ", " is not allowed to ", CONTRADICTED),
    (" must ", " has to ", SUPPORTED), (" may not ", " is not allowed to ", SUPPORTED), (" must not ", " is not allowed to ", SUPPORTED),
    (" must not ", " is forbidden to ", SUPPORTED), (" can ", " is able to ", SUPPORTED), (" cannot ", " is unable to ", SUPPORTED),
    (" cannot ", " can ", CONTRADICTED), (" can ", " cannot ", CONTRADICTED), (" should ", " should not ", CONTRADICTED),
    (" at least ", " at most ", CONTRADICTED), (" at most ", " at least ", CONTRADICTED), (" more than ", " less than ", CONTRADICTED),
    (" less than ", " more than ", CONTRADICTED), (" all ", " only some ", CONTRADICTED), (" All ", " Some ", SUPPORTED),
    (" some ", " all ", NEITHER), (" some ", " no ", CONTRADICTED), (" only ", " not only ", CONTRADICTED), (" never ", " sometimes ", CONTRADICTED), (" always ", " not always ", CONTRADICTED),
    (" until ", " from ", CONTRADICTED), (" until ", " only after ", CONTRADICTED), (" before ", " no later than ", SUPPORTED), (" except ", " including ", CONTRADICTED),
    (" both ", " neither ", CONTRADICTED), (" with ", " without ", CONTRADICTED), (" without ", " with ", CONTRADICTED), (" need not ", " must ", CONTRADICTED),
    (" no longer ", " still ", CONTRADICTED), (" still ", " no longer ", CONTRADICTED), (" also ", " ", SUPPORTED), (" will ", " is going to ", SUPPORTED),
]  # fmt: skip


class Made(NamedTuple):
    """A claim about a premise. The premise is the sentence, or another form of it."""

    premise: str
    claim: str
    label: str
    kind: str


def _pairs(name: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for pair in WORDS[name]:
        one, other = pair.split()
        found[one].append(other)
        found[other].append(one)
    return found


_OPPOSITES, _CONTRARIES = _pairs("opposites"), _pairs("contraries")
_SAME = [tuple(pair.split("=")) for pair in WORDS["same"]]
_VERBS = dict(pair.split() for pair in WORDS["verbs"])
_PLAIN = {plain: third for third, plain in _VERBS.items()}
_SERIES = [WORDS[name].split() for name in ("months", "days", "numbers")]


def replaced(text: str, start: int, end: int, new: str) -> str:
    """Return `text` with other words from `start` to `end`, with the capital letter of the old ones."""
    old = text[start:end]
    if old[:1].isupper() and new[:1].islower():
        new = new[:1].upper() + new[1:]
    return " ".join(f"{text[:start]}{new}{text[end:]}".split())


def negated(text: str) -> str | None:
    """Return `text` with one "not" more or less, if its first verb is plain."""
    if found := _NOT.search(text):
        return replaced(text, *found.span(), f"{found[1]} ")
    if found := _AUXILIARY.search(text):
        return replaced(text, found.end(), found.end(), " not")
    for word in re.finditer(r"\b[a-z]+\b", text):
        if word[0] in _VERBS and word.start() > 3:
            return replaced(text, *word.span(), f"does not {_VERBS[word[0]]}")
    return None


def question(text: str) -> str | None:
    """Return the yes-or-no question that `text` answers with yes."""
    if text.split(" ", 1)[0].lower().strip(",:") in _NO_SUBJECT:
        return None
    if found := _INVERTED.match(text):
        subject, auxiliary, rest = found.groups()
        if "," in subject or any(
            word in subject.split()
            for word in ("that", "which", "who", "if", "when", "not", "to", "and", "of", "does", "has", "but")
        ):
            return None
        return f"{auxiliary.capitalize()} {_lowered(subject)}{rest}?"
    words = text.rstrip(".!").split()
    for place, word in enumerate(words[1:7], start=1):
        if word in _VERBS and not any(
            each in ("that", "which", "who", "if", "to", "not") or "," in each for each in words[:place]
        ):
            return f"Does {_lowered(' '.join(words[:place]))} {' '.join([_VERBS[word], *words[place + 1 :]])}?"
    return None


def _lowered(text: str) -> str:
    return text[:1].lower() + text[1:] if text.split(" ", 1)[0] in _FIRST else text


def _number(text: str, draw: random.Random) -> tuple[str, str] | None:
    if clocks := [*_CLOCK.finditer(text)]:
        found = draw.choice(clocks)
        hour = (int(found[1]) + draw.choice([-2, -1, 1, 2, 3])) % 24
        return replaced(text, *found.span(), f"{hour}{found[0][len(found[1])]}{found[2]}"), "number"
    if not (numbers := [*_NUMBER.finditer(text)]):
        return None
    found = draw.choice(numbers)
    digits = found[0].replace(",", "")
    if "." in digits:
        new = f"{float(digits) * draw.choice([0.5, 0.9, 1.1, 2, 10]):.{len(digits.split('.')[1])}f}"
    elif len(digits) == 4 and digits[:2] in ("15", "16", "17", "18", "19", "20"):
        new = str(int(digits) + draw.choice([-20, -10, -5, -2, -1, 1, 2, 3, 5, 10]))
    else:
        value = int(digits)
        new = str(max(0, draw.choice([value + 1, value - 1, value + 2, value * 2, value + 5, value + 10, value * 10])))
        if "," in found[0]:
            new = f"{int(new):,}"
    return (
        None
        if new == found[0] or re.search(rf"\b{re.escape(new)}\b", text)
        else (replaced(text, *found.span(), new), "number")
    )


def _series(text: str, draw: random.Random) -> tuple[str, str] | None:
    for series in _SERIES:
        for word in series:
            if len(word) > 2 and (found := re.search(rf"\b{word}\b", text)) and (word != "may"):
                other = draw.choice([each for each in series if each != word and each not in text])
                return replaced(text, *found.span(), other), "series"
    return None


def _lexical(text: str, table: dict[str, list[str]], draw: random.Random) -> tuple[str, str, str] | None:
    found = [word for word in re.finditer(r"[A-Za-z]+(?:-[a-z]+)?", text) if word[0].lower() in table]
    if not found:
        return None
    word = draw.choice(found)
    other = draw.choice(table[word[0].lower()])
    return replaced(text, *word.span(), other), word[0].lower(), other


def contrasts(text: str, names: Sequence[str], heads: Sequence[str], draw: random.Random) -> Iterator[Made]:
    """Yield claims about the sentence `text`. `names` and `heads` are names and subjects of other sentences."""

    def both(other: str, label: str, kind: str) -> Made:
        """Swap sentence and claim at random, so that neither side gives the label away."""
        return Made(text, other, label, kind) if draw.random() < 0.5 else Made(other, text, label, kind)

    yield Made(text, text, SUPPORTED, "equal")
    if made := _number(text, draw):
        yield both(made[0], CONTRADICTED, made[1])
    if changed_word := _series(text, draw):
        yield both(changed_word[0], CONTRADICTED, changed_word[1])
    if other := negated(text):
        yield both(other, CONTRADICTED, "negation")
        if found := _lexical(other, _OPPOSITES, draw):  # not open: closed
            yield both(found[0], SUPPORTED, "double negation")
    if found := _lexical(text, _OPPOSITES, draw):
        yield both(found[0], CONTRADICTED, "opposite")
        if place := re.search(rf"\b{found[1]}\b", text, re.IGNORECASE):
            yield both(replaced(text, *place.span(), f"not {found[2]}"), SUPPORTED, "not the opposite")
    if found := _lexical(text, _CONTRARIES, draw):
        yield both(found[0], CONTRADICTED, "contrary")
    same = [(one, two) for one, two in _SAME if f" {one}" in text and re.search(rf"\b{one}\b", text)]
    if same:
        other = text
        for one, two in draw.sample(same, min(len(same), 3)):
            if place := re.search(rf"\b{one}\b", other):
                other = replaced(other, *place.span(), two)
        yield both(other, SUPPORTED, "same")
        if changed := _number(other, draw):
            yield Made(text, changed[0], CONTRADICTED, "same, number")
        if opposite := negated(other):
            yield Made(text, opposite, CONTRADICTED, "same, negation")
    modals = [each for each in _MODALS if each[0] in text]
    for old, new, label in draw.sample(modals, min(2, len(modals))):
        yield Made(text, text.replace(old, new, 1), label, "modal")
    if found_names := [
        each for each in _NAME.finditer(text) if each[0] not in _SERIES[0] and each[0] not in _SERIES[1]
    ]:
        name = draw.choice(found_names)
        alike = [each for each in names if each.count(" ") == name[0].count(" ") and each not in text]
        if alike:
            other = replaced(text, *name.span(), draw.choice(alike))
            yield both(other, CONTRADICTED if name.start() > len(text) * 0.35 else NEITHER, "name")
    if (found_head := _HEAD.match(text)) and heads:
        other = draw.choice(heads)
        if other != found_head[2]:
            yield both(replaced(text, *found_head.span(2), f"{other} "), NEITHER, "subject")
    if (swap := _SWAP.match(text)) and swap[1] not in _FIRST and swap[3] not in _FIRST:
        yield both(f"{swap[3]} {swap[2]}{swap[1]}{text[swap.end() :]}", CONTRADICTED, "roles")
    cuts = [
        cut.start()
        for cut in re.finditer(
            r", (?=which|who|where|and|but|because|so|although|including|with|after|before)| \(|; | because | in order to ",
            text,
        )
    ]
    cuts = [cut for cut in cuts if len(text[:cut].split()) >= 4]
    if cuts:
        short = text[: draw.choice(cuts)].rstrip(" ,;") + "."
        yield Made(text, short, SUPPORTED, "shortened")
        yield Made(short, text, NEITHER, "more than said")
        if other := negated(short):
            yield Made(text, other, CONTRADICTED, "shortened, negation")
    if (without := re.sub(r" \([^)]*\)", "", text)) != text:
        yield Made(text, without, SUPPORTED, "shortened")


def asked(made: Made) -> Made | None:
    """Return the same pair with the claim as a question."""
    found = question(made.claim)
    return made._replace(claim=found, kind=f"{made.kind}, asked") if found else None


def declared(asked_question: str, answer: str) -> str | None:
    """Return a plain statement of a question and its answer, if the question has one of a few forms."""
    text, answer = asked_question.strip().rstrip("?").strip(), answer.strip().rstrip(".")
    if found := re.match(r"(?i)who (?!else|all)((?:is|are|was|were|did|do|does) )?(.+)$", text):
        if found[1] is None:
            return f"{answer} {found[2]}."
        if found[1].strip().lower() in ("is", "are", "was", "were"):
            return (
                f"{found[2]} {found[1]}{answer}.".capitalize()
                if found[2].islower()
                else f"{found[2]} {found[1]}{answer}."
            )
    if found := re.match(r"(?i)(?:what|which(?: one)?) (is|are|was|were) (.+)$", text):
        return f"{found[2]} {found[1]} {answer}."
    if found := re.match(r"(?i)how much (?:does|do|did) (.+) cost(.*)$", text):
        return f"{found[1]} costs {answer}{found[2]}."
    if found := re.match(
        r"(?i)(when|where|in what year|in which year|what time) (is|are|was|were|does|do|did|will|can) (.+)$", text
    ):
        place = (
            answer
            if re.match(
                r"(?i)(in|on|at|from|by|before|after|during|under|near|between|to|every|when|as|if|until)\b", answer
            )
            else f"{'at' if found[1].lower() == 'what time' else 'in'} {answer}"
        )
        words = found[3].split()
        for at in range(len(words), 0, -1):  # the verb is among the last words: "the tower | built in 1871"
            if words[at - 1].endswith(("ed", "en")) or words[at - 1] in (
                "built",
                "born",
                "made",
                "held",
                "sold",
                "found",
                "kept",
                "sent",
                "set",
                "open",
                "closed",
                "due",
            ):
                return f"{' '.join(words[: at - 1])} {found[2].lower()} {' '.join(words[at - 1 :])} {place}."
        return f"{found[3]} {place}." if found[2].lower() in ("does", "do", "did") else None
    if found := re.match(r"(?i)how many (.+?) (?:are|is|were|was) there(.*)$", text):
        return f"There are {answer if found[1] in answer else f'{answer} {found[1]}'}{found[2]}."
    return None


def able(text: str) -> bool:
    """Return whether a sentence is of the kind that claims are written about."""
    words = text.split()
    ends = text[:1].isupper() and text[-1:] in ".!"
    return 4 <= len(words) <= 45 and ends and "|" not in text and text.count('"') % 2 == 0


def subjects(texts: Sequence[str]) -> list[str]:
    """Return the subjects of sentences such as "The pool is ...": "pool"."""
    return sorted(
        {
            found[2].strip()
            for text in texts
            if (found := _HEAD.match(text)) and found[1] in ("The", "A", "An", "Our", "Your")
        }
    )


def proper_names(texts: Sequence[str]) -> list[str]:
    """Return names in the sentences."""
    return sorted({found[0] for text in texts for found in _NAME.finditer(text)})
