"""The strategies that the papers compare with, each in its own package with its prompts.

They are for comparison: short, faithful to their papers by default, and never chosen automatically.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from robust_qa import hookimpl

from .answer_refinement import AnswerRefinement
from .chain_of_note import ChainOfNote
from .compact import CompAct
from .context_filtering import ContextFiltering
from .cot import ChainOfThought
from .genread import GenRead
from .instructrag import InstructRag
from .madra import Madra
from .robustrag import RobustRag
from .self_consistency import SelfConsistency
from .self_rag import SelfRag
from .self_route import SelfRoute
from .usc import UniversalSelfConsistency

if TYPE_CHECKING:
    from robust_qa import Registry


@hookimpl
def rqa_register(registry: Registry) -> None:
    for name, strategy, summary in (
        ("answer_refinement", AnswerRefinement, "reconsiders its answer from memory with the passages"),
        ("chain_of_note", ChainOfNote, "notes what each passage is worth, and answers from the notes"),
        ("compact", CompAct, "compresses the passages toward the question, and reads the summary"),
        ("context_filtering", ContextFiltering, "picks the passages that help, and reads only those"),
        ("cot", ChainOfThought, "reasons step by step from memory"),
        ("genread", GenRead, "reads a passage of its own along with the retrieved ones"),
        ("instructrag", InstructRag, "explains how the answer follows from the passages that help"),
        ("madra", Madra, "lets agents with and without the passages debate the answer"),
        ("robustrag", RobustRag, "reads each passage alone, and answers from what the readings share"),
        ("self_consistency", SelfConsistency, "reasons over the passages several times, and votes"),
        ("self_rag", SelfRag, "continues after each passage, and judges that by reflection tokens"),
        ("self_route", SelfRoute, "answers from the passages, or else from memory"),
        ("usc", UniversalSelfConsistency, "answers several times, and picks the most consistent reply"),
    ):
        registry.strategy(name, strategy, summary=summary)
