"""Work grows with the length of a text, and not with its square, whatever the text repeats."""

from __future__ import annotations

import gc
import time

import pytest
from standins.reading import read

from robust_qa.kit import answer_key, normalise, sentences, words
from rqa_claims import values
from rqa_files import Cut

_SHORT = 10_000  # characters
_LEAST = 0.2  # seconds that may be noise
_PARTS = [
    ".", ". ", ".)", "!", "a", "a ", "1", "1.", "1. a\n", "-", "- a\n", "* ", "# a\n", "# a\n\n", "## a\n# b\n",
    "\n", "\n ", " ", "\t", "'", '"', "`", "``a ", "[", "[a](", "![", "<", "<a ", "<b>", "<div>", "<!--", "&#1",
    "|", "|a|b|\n|-|-|\n", "\\", "\\*[x", "\\[x", "\\f[x", "\\h'x", "{", '{"text": "a"}\n', "A: b\n", "title: a\n",
    "=", "a\n=\n", "..", ":a:", "_", "**a ", "op. ", "J.", "灯", "。", "\u0301", ",000", "-1", "1 cat ", "$1 ",
    "a(", "<!---->",
]  # fmt: skip
_STARTS = {
    ".md": "",
    ".txt": "",
    ".html": "<p>",
    ".rst": "",
    ".1": ".TH A 1\n",
    ".py": "",
    ".jsonl": "",
    ".csv": "text\n",
}


def grows_linearly(work, part: str, start: str = "") -> bool:
    """Return whether four times the text takes less than nine times as long, in one of three tries."""

    def seconds(length: int) -> float:
        text = f"{start}{part * (length // len(part))}a\n"  # ends with what fits no mark
        return min(timed(text) for _ in range(2))

    def timed(text: str) -> float:
        gc.disable()  # its time depends on all that other tests left
        try:
            began = time.process_time()
            work(text)
            return time.process_time() - began
        finally:
            gc.enable()

    return any((most := seconds(4 * _SHORT)) < _LEAST or most < 9 * seconds(_SHORT) for _ in range(3))


@pytest.mark.parametrize("suffix", _STARTS)
def test_reading_and_cutting_grow_with_the_text(tmp_path, suffix):
    def work(text: str) -> None:
        (tmp_path / f"a{suffix}").write_text(text)
        for document in read(tmp_path / f"a{suffix}", lambda where, why: None):
            list(Cut().passages(document))

    assert [part for part in _PARTS if not grows_linearly(work, part, _STARTS[suffix])] == []


@pytest.mark.parametrize("function", [sentences, words, normalise, answer_key, values.__wrapped__])
def test_functions_over_text_grow_with_it(function):
    assert [part for part in _PARTS if not grows_linearly(function, part)] == []
