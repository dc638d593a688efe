"""The conformance checks of embedders."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from robust_qa.answering import unit_vectors

from .suite import ODD_TEXTS, PASSAGES, Subject, Suite, expect

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SUITE = Suite()
TEXTS = [passage.text for passage in PASSAGES]
TOLERANCE = 0.05  # length of a difference: vectors of quantised models depend a little on their batch


@SUITE.behaviour("it has a method `embed(texts)`")
async def _shape(subject: Subject) -> None:
    subject.has("embed")


@SUITE.behaviour("it returns one vector for each text, all of one width")
async def _vectors(subject: Subject) -> None:
    widths = {(await _embedded(subject, texts)).shape[1] for texts in (TEXTS, TEXTS[:1])}
    expect(len(widths) == 1, f"the vectors have the widths {sorted(widths)} in two calls")


@SUITE.behaviour("it returns the vectors in the order of the texts")
async def _order(subject: Subject) -> None:
    straight, reverse = await _embedded(subject, TEXTS), await _embedded(subject, TEXTS[::-1])
    expect(_close(straight, reverse[::-1]), "the vectors of the texts in reverse order are not in reverse order")


@SUITE.behaviour("it returns the same vector for the same text, in any batch")
async def _same(subject: Subject) -> None:
    together = await _embedded(subject, [*TEXTS, "word " * 300, TEXTS[0]])
    alone = await _embedded(subject, TEXTS[:1])
    expect(_close(together[:1], alone), "a text has another vector in a batch than alone")
    expect(_close(together[:1], together[-1:]), "a text that occurs twice in a call has two vectors")


@SUITE.behaviour("it accepts any text")
async def _any_text(subject: Subject) -> None:
    await subject.survives("embed", *((what, ([text],)) for what, text in ODD_TEXTS))
    await _embedded(subject, [text for _, text in ODD_TEXTS])


@SUITE.behaviour("it handles two concurrent calls")
async def _at_once(subject: Subject) -> None:
    pairs = await subject.alone_and_together(lambda texts: _embedded(subject, texts), (TEXTS[:2], TEXTS[2:]))
    same = all(_close(*pair) for pair in pairs)
    expect(same, "the vectors of concurrent calls differ from those of single calls")


async def _embedded(subject: Subject, texts: list[str]) -> NDArray[np.float32]:
    """The vectors as the host scales them, shape (len(texts), width). Fails the check if they are not valid."""
    vectors, problem = unit_vectors(await subject.call("embed", list(texts)), len(texts))
    expect(not problem, f"it returned {problem}")
    checked: NDArray[np.float32] = vectors
    return checked


def _close(one: NDArray[Any], other: NDArray[Any]) -> bool:
    import numpy as np

    return one.shape == other.shape and bool((np.linalg.norm(one - other, axis=-1) <= TOLERANCE).all())
