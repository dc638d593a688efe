"""The strategies that the papers compare against, each in a package of its own with its prompts beside it.

They are here to be measured against: short, faithful to their papers at the defaults, and never chosen unasked.
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
from .self_route import SelfRoute
from .usc import UniversalSelfConsistency

if TYPE_CHECKING:
    from robust_qa import Registry


@hookimpl
def rqa_register(registry: Registry) -> None:
    registry.strategy("answer_refinement", AnswerRefinement)
    registry.strategy("chain_of_note", ChainOfNote)
    registry.strategy("compact", CompAct)
    registry.strategy("context_filtering", ContextFiltering)
    registry.strategy("cot", ChainOfThought)
    registry.strategy("genread", GenRead)
    registry.strategy("instructrag", InstructRag)
    registry.strategy("madra", Madra)
    registry.strategy("robustrag", RobustRag)
    registry.strategy("self_consistency", SelfConsistency)
    registry.strategy("self_route", SelfRoute)
    registry.strategy("usc", UniversalSelfConsistency)
