"""Numbers in digits, in the notations of several countries, and in words."""

from __future__ import annotations

import re

from .units import NUMBER_WORDS, SCALES

ONES = "|".join(sorted((word for word, size in NUMBER_WORDS.items() if size < 100), key=len, reverse=True))
_LARGE = "hundred|thousand|million|billion|trillion|dozen"
_WORDS = (  # of at most ten words
    rf"(?:(?:half )?an? (?=(?:{_LARGE})\b)|a couple of (?=(?:{_LARGE})\b))?(?:{ONES}|{_LARGE})\b"
    rf"(?:(?:(?<=hundred)|(?<=thousand)|(?<=million))(?: and)? (?:{ONES})\b|[ -](?:{ONES}|{_LARGE})\b){{0,9}}"
    r"(?: and a half)?"
)
_DIGITS = (  # 1.250,00 or 1,250.00 or 1 250 or 1'250 or 12,50 or 2½
    r"\d{1,3}(?:\.\d{3}){1,6},\d{1,2}(?!\d)|\d{1,3}(?:[\u00a0\u202f ]\d{3}){1,6}(?:[.,]\d{1,2})?(?!\d)"
    r"|\d{1,3}(?:['’]\d{3}){1,6}(?:\.\d{1,30})?|\d{1,3}(?:,\d{3}){1,6}(?:\.\d{1,30})?(?![\d,])"
    r"|\d{1,30}(?:[.,]\d{1,30})?[½¼¾]?|[½¼¾]"
)
_SIGN = r"(?:(?<![\w.)-])[-−](?=\d)|\b(?:minus|negative) )?"
NUMBER = rf"{_SIGN}(?:(?<!\d)(?:{_DIGITS})|(?<![\w-])(?:{_WORDS})(?![\w-]))"
NUMBER_WORD = re.compile(rf"(?<![\w-])(?:{_WORDS})(?![\w-])", re.IGNORECASE)
SCALE = r"(?:[ -]?(?:thousand|million|billion|trillion|bn|mn|mio|k)\b)?"
_VULGAR = {"½": 0.5, "¼": 0.25, "¾": 0.75}


def number_in(text: str, *, money: bool = False) -> float:
    """Return the number that `text` is: digits in the notation of several countries, or words."""
    text = text.strip().lower().replace("−", "-")
    sign = -1.0 if re.match(r"-|minus |negative ", text) else 1.0
    text = re.sub(r"^(?:-|minus |negative )", "", text)
    scaled = re.search(r"[ -]?(thousand|million|billion|trillion|bn|mn|mio|m|k)$", text)
    if scaled and text[:1].isdigit():
        return sign * number_in(text[: scaled.start()], money=money) * SCALES[scaled[1]]
    if text[:1].isdigit() or text in _VULGAR:
        extra = _VULGAR.get(text[-1], 0.0)
        digits = re.sub(r"[\s'’½¼¾]", "", text)
        if re.search(r"^\d+,\d{1,2}$|\.\d{3},\d+$", digits) or re.fullmatch(r"0,\d+", digits):
            digits = digits.replace(".", "").replace(",", ".")  # a decimal comma
        elif money and re.fullmatch(r"\d{1,3}(?:\.\d{3})+", digits):
            digits = digits.replace(".", "")
        return sign * (float(digits.replace(",", "") or 0) + extra)
    return sign * word_number(text)


def word_number(text: str) -> float:
    half = 0.5 if text.endswith(" and a half") else 0.0
    factor = 0.5 if text.startswith("half a") else 2.0 if text.startswith("a couple of") else 1.0
    total, part = 0.0, 0.0
    for word in re.findall(r"[a-z]+", text.removesuffix(" and a half")):
        if word == "dozen":
            part = (part or 1) * 12
        elif word in SCALES and SCALES[word] >= 1000:
            total, part = total + (part or 1) * SCALES[word], 0.0
        elif word == "hundred":
            part = (part or 1) * 100
        else:
            part += NUMBER_WORDS.get(word, 0)
    return factor * (total + part) + half


def exact(value: float) -> float:
    return float(f"{value:.12g}")


def point(value: float) -> tuple[tuple[float, float], ...]:
    return ((exact(value), exact(value)),)


def with_digits(text: str) -> str:
    """Return `text` with its number words as digits: 28 for twenty-eight."""
    return NUMBER_WORD.sub(lambda match: f"{word_number(match[0].lower()):g}", text)
