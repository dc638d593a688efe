"""Ensemble of Retrievers: many retrievers, one reader, and a vote on what they lead it to say.

Li, Li, Chen, Xuan and Zhang, "Unraveling and Mitigating Retriever Inconsistencies in Retrieval-Augmented Large Language
Models", Findings of ACL 2024. The pool is that of Appendix C.1, the voter that of Section 4.1, and `rqa train eor`
finds its parameters as in Section 4.2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from robust_qa import Answer, Expression, Order, hookimpl
from robust_qa.cli import command_group
from robust_qa.kit import load_prompts

from .voting import Pooling

if TYPE_CHECKING:
    import click

    from robust_qa import Registry, Toolbox


class Eor:
    """Many retrievers are read at once, and their answers vote."""

    needs = frozenset({"read"})

    @dataclass
    class Options:
        pool: list[Expression] | None = None  # retrievers; default: the paper's 16, or parts of the passages there are
        weights: list[Annotated[float, Meta(ge=0)]] | None = None  # w of each of the pool; default: 1 each
        similarities: list[str] = field(default_factory=lambda: ["em", "f1"])  # functions that compare answers
        lambdas: list[Annotated[float, Meta(ge=0)]] | None = None  # lambda of each of the similarities; default: equal
        pooling: Pooling = "mean"  # of an answer's similarities to the others
        threshold: Annotated[float, Meta(ge=0, le=1)] = 0.8  # s: the similarity from which answers are equivalent
        samples: Annotated[int, Meta(ge=1)] = 1  # answers of a language model to the passages of each retriever
        # of the sampling; by default 0.7 for several samples, and for one as the reader is configured
        temperature: Annotated[float, Meta(ge=0)] | None = None
        seed: int = 0  # of the sampling, and of the random order
        order: Order = "descending"  # of the passages in a prompt, by relevance
        nli_model: Path | None = None  # folder of the classifier for the similarity nli
        prompts: dict[str, Path] = field(default_factory=dict)  # files to put in place of prompts: recall, read

        def __post_init__(self) -> None:
            for name, of in (("weights", "pool"), ("lambdas", "similarities")):
                numbers, named = getattr(self, name), getattr(self, of)
                if named is not None and not named:
                    raise ValueError(f"needs something in `{of}`, and it is empty")
                if named is not None and len(set(named)) < len(named):
                    raise ValueError(f"names something twice in `{of}`")
                if numbers is None:
                    continue
                if named is None:
                    raise ValueError(f"has `{name}` for a pool that it does not name: write the `pool`, too")
                if len(numbers) != len(named):
                    raise ValueError(f"has {len(numbers)} `{name}` for {len(named)} `{of}`")
                if not any(numbers):
                    raise ValueError(f"needs one of `{name}` above 0")

    def __init__(self, options: Options) -> None:
        from .similarity import OWN, similarities

        self.options = options
        chosen = dict(options.prompts)
        reading = {"read": chosen.pop("read")} if "read" in chosen else None
        self.reading = load_prompts(overrides=reading)["read"]
        self.recall = load_prompts(Path(__file__).with_name("prompts"), chosen)["recall"]
        lambdas = options.lambdas or [1 / len(options.similarities)] * len(options.similarities)
        self._lambdas = {name: number for name, number in zip(options.similarities, lambdas, strict=True) if number}
        self._similarities = similarities(list(self._lambdas), options.nli_model)
        self.scored_by = [name for name in self._lambdas if name not in OWN]

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Section 4.1: retrieve and read with the whole pool at once, compare the answers, and let them vote.

        Abstains when no retriever leads to an answer. Raises CallError when none does and one of them failed.
        """
        from .account import explained, outcome
        from .asking import Asking, ask_all
        from .election import Voter, elect
        from .pools import usable

        options = self.options
        weights, left_out = usable(options.pool, options.weights, toolbox)
        for retriever, why in left_out.items():
            toolbox.note(f"{retriever} is left out: {why}")
        # As the other strategies that sample: greedy ones would all be the same.
        temperature = 0.7 if options.temperature is None and options.samples > 1 else options.temperature
        asking = Asking(self.reading, self.recall, options.samples, temperature, options.seed, options.order)
        said = await ask_all(question, toolbox, weights, asking)
        for one in said:
            if one.error is not None:
                toolbox.note(f"{one.retriever} failed, and does not vote: {one.error.message}")
        errors = [one.error for one in said if one.error]
        if errors and not any(one.replies for one in said):
            raise errors[0]
        voter = Voter(self._similarities, list(self._lambdas.values()), options.pooling, options.threshold)
        election = await elect(question, toolbox, said, list(weights.values()), voter)
        for group in election.groups:
            toolbox.note(explained(group))
        return outcome(election, voter, left_out)


@hookimpl
def rqa_register(registry: Registry) -> None:
    registry.strategy("eor", Eor, summary="reads with many retrievers at once, and lets their answers vote")


@hookimpl
def rqa_commands(cli: click.Group) -> None:
    """Offer `rqa train eor`."""
    from .command import eor

    command_group(cli, "train", "Train on questions of your own.").add_command(eor)
