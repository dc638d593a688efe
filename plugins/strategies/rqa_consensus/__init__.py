"""Consensus: each passage is read alone, and the largest set of answers without a contradiction decides.

After Shen and others, "ReliabilityRAG: Effective and Provably Robust Defense for RAG-based Web-Search", NeurIPS 2025.
Without a language model it needs no call. The answer comes with a certificate: how many planted passages it withstands.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from robust_qa import Answer, Registry, hookimpl
from rqa_claims import source_of
from rqa_prompts import load_prompts

if TYPE_CHECKING:
    from robust_qa import Toolbox


class Consensus:
    """Reads each passage alone, takes a vote, and tells how many planted passages the answer withstands."""

    needs = frozenset({"retrieve", "read"})

    @dataclass
    class Options:
        passages: Annotated[int, Meta(ge=1, le=20)] = 20  # most passages that vote, the most relevant ones
        one_voice: bool = True  # passages of one document or web host count as one
        decay: Annotated[float, Meta(gt=0, le=1)] = 0.9  # weight of a voice relative to the one ranked before it
        lead: Annotated[float, Meta(ge=0, lt=1)] = 0.2  # least lead of the answer, as a share of all weights
        threshold: Annotated[float, Meta(ge=0, le=1)] = 0.5  # a passage has no answer below this confidence
        prompts: dict[str, Path] = field(default_factory=dict)  # files to put in place of prompts: read

    def __init__(self, options: Options) -> None:
        self.options = options
        self.prompt = load_prompts(overrides=options.prompts)["read"] if options.prompts else None

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Read each passage alone, join equal answers, and take the vote. Abstains without a clear majority."""
        from .certificate import withstands
        from .result import accepted, undecided
        from .voices import each_alone, read_each, voices
        from .vote import elect

        options = self.options
        passages = (await toolbox.retrieve(question))[: options.passages]
        if not passages:
            return Answer(None, reason="No passage was found for the question.")
        statements = await read_each(question, passages, toolbox, self.prompt, options.threshold)
        speaker = (lambda passage, _: source_of(passage)) if options.one_voice else each_alone
        heard = voices(statements, speaker, lambda passage, rank: toolbox.trust(passage) * options.decay**rank)
        ballots = [voice.ballot for voice in heard]
        election = elect(ballots, options.lead)
        if not election.is_clear:
            return undecided(heard, election)
        return accepted(heard, election, withstands(ballots, options.lead))


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.strategy(
        "consensus",
        "rqa_consensus:Consensus",
        summary="reads each passage alone and takes a vote that planted ones lose",
    )
