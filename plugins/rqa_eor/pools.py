"""Which retrievers vote: the pool of the configuration, or the paper's, or parts of the passages there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from robust_qa import MissingError
from robust_qa.kit import parse_expression

if TYPE_CHECKING:
    from robust_qa import RqaError, Toolbox

NOTHING = "none"  # retrieval-free

# Appendix C.1, SE and Wiki being the retrievers `web` and `wiki`; HB is the sum of both and parametric knowledge.
_PAPER_UNCOMPRESSED = [
    "wiki@10",
    "web@1",
    "web@4",
    "web@rr@10",
    "web@2 & wiki@5",
    "web@rr@5 & wiki@5",
    "(web & wiki@20 & pk)@rr@10",
]
PAPER = [*_PAPER_UNCOMPRESSED, "pk", *(f"{expression} @cp" for expression in _PAPER_UNCOMPRESSED), NOTHING]
GIVEN = ["given", "given-first", "given-last", "given-odd", "given-even", "given@rr@5", NOTHING]
_OF_ONE = ["({})@10", "({})@5", "({})@3", "({})@rr@5", "({})@10 @cp", NOTHING]


def usable(
    expressions: Sequence[str] | None, weights: Sequence[float] | None, toolbox: Toolbox
) -> tuple[dict[str, float], dict[str, str]]:
    """The retrievers of the pool with their weights, and those left out, with the reason.

    Without `expressions` it is parts of the passages that the question brought, else the paper's pool, else cuts of
    what the configured retriever finds; of what -r or --docs asks for, cuts of that before all. A retriever of weight 0
    is in neither. Raises MissingError when none is left but memory, and there is no language model to remember.
    """
    written = [str(parse_expression(one)) for one in (_default(toolbox) if expressions is None else expressions)]
    weighed = dict(zip(written, weights or [1.0] * len(written), strict=True))
    pool = toolbox.pool([expression for expression, weight in weighed.items() if weight])
    left_out = {expression: _told(error) for expression, error in pool.left_out.items()}
    found = {expression: weighed[expression] for expression in pool.expressions}
    if not toolbox.generative and NOTHING in found:
        del found[NOTHING]
        left_out[NOTHING] = "The reader points at answers in passages, and remembers none."
    if not found:
        first = next(iter(left_out.items()), ("", ""))
        raise MissingError(
            f"No retriever of the ensemble can be used; {first[0]}: {first[1]}",
            hint="Bring passages, configure retrievers named web and wiki, or name others in `pool` of [strategy.eor].",
        )
    return found, left_out


def _default(toolbox: Toolbox) -> list[str]:
    if toolbox.question.passages is not None and (toolbox.retriever == "given" or not toolbox.asked_for):
        return GIVEN
    if toolbox.retriever is not None and (toolbox.asked_for or not toolbox.pool(["web", "wiki"]).expressions):
        return [form.format(toolbox.retriever) for form in _OF_ONE]
    return PAPER


def _told(error: RqaError) -> str:
    return " ".join(error.message.split())
