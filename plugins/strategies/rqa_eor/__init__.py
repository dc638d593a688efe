"""Ensemble of Retrievers: read the passages of many retrievers and let the answers vote.

Li, Li, Chen, Xuan and Zhang, "Unraveling and Mitigating Retriever Inconsistencies in Retrieval-Augmented Large Language
Models", Findings of ACL 2024. The pool is from Appendix C.1 and the voter from Section 4.1. `rqa train eor` fits the
voter as in Section 4.2.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from robust_qa import Answer, EmbedderName, Expression, Order, Registry, hookimpl
from rqa_prompts import Prompter, Prompts, load_prompts

from .voting import Pooling

if TYPE_CHECKING:
    from robust_qa import EmbedderHandle, Toolbox


class Eor:
    """Read with many retrievers at once and elect one of the answers."""

    needs = frozenset({"read"})

    @dataclass
    class Options:
        pool: list[Expression] | None = None  # retrievers; default: the paper's 16, or parts of the given passages
        weights: list[Annotated[float, Meta(ge=0)]] | None = None  # w, one for each retriever; default: 1
        similarities: list[str] = field(default_factory=lambda: ["em", "f1"])  # functions that compare answers
        lambdas: list[Annotated[float, Meta(ge=0)]] | None = None  # one for each similarity; default: equal
        pooling: Pooling = "mean"  # how an answer's similarities to the others are combined
        threshold: Annotated[float, Meta(ge=0, le=1)] = 0.8  # s: answers at least this similar are equivalent
        samples: Annotated[int, Meta(ge=1)] = 1  # answers that a language model samples for each retriever
        # sampling temperature; default: 0.7 for several samples, the reader's own for one
        temperature: Annotated[float, Meta(ge=0)] | None = None
        seed: int = 0  # for sampling and for the random order
        order: Order = "descending"  # of the passages in a prompt, by relevance
        nli_model: Path | None = None  # folder of the classifier for the similarity nli
        embedder: EmbedderName | None = None  # for the similarity cosine; default: the one in [defaults]
        abstain: bool = True  # false: ask a language model for an answer even if the passages do not contain it
        # files that replace the prompts recall and read; or paper: Appendix C.2
        prompts: Prompts = field(default_factory=dict)

        def __post_init__(self) -> None:
            for name, of in (("weights", "pool"), ("lambdas", "similarities")):
                numbers, names = getattr(self, name), getattr(self, of)
                if names is not None and not names:
                    raise ValueError(f"needs at least one entry in `{of}`")
                if names is not None and len(set(names)) < len(names):
                    raise ValueError(f"has a duplicate entry in `{of}`")
                if numbers is None:
                    continue
                if names is None:
                    raise ValueError(f"has `{name}` but no `{of}`: set `{of}` too")
                if len(numbers) != len(names):
                    raise ValueError(f"has {len(numbers)} `{name}` for {len(names)} `{of}`")
                if not any(numbers):
                    raise ValueError(f"needs at least one of `{name}` above 0")

    def __init__(self, options: Options, *, embedder: EmbedderHandle | None = None) -> None:
        from .similarity import BUILT_IN, similarities

        self.options = options
        own = options.prompts
        recall = own if own == "paper" else {name: file for name, file in own.items() if name != "read"}
        self.recall = Prompter(Path(__file__).with_name("prompts"), replace(options, prompts=recall))
        read = {"read": own["read"]} if own != "paper" and "read" in own else None
        self.read_prompt = self.recall.prompts.get("read") or load_prompts(overrides=read)["read"]
        lambdas = options.lambdas or [1 / len(options.similarities)] * len(options.similarities)
        self._lambdas = {name: number for name, number in zip(options.similarities, lambdas, strict=True) if number}
        self._similarities = similarities(list(self._lambdas), options.nli_model, embedder)
        self.scored_by = [name for name in self._lambdas if name not in BUILT_IN]

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Retrieve and read with the whole pool, compare the answers and let them vote (Section 4.1).

        Abstains if no retriever leads to an answer. Raises CallError if there is no answer and a retriever failed.
        """
        from .answers import ReadSettings, read_all, select_pool
        from .election import Voter, elect
        from .result import build_answer, describe_group

        options = self.options
        for compare in self._similarities.values():  # a missing model is an error before the first call, not after it
            await compare(question, (), toolbox)
        weights, left_out = select_pool(options.pool, options.weights, toolbox)
        for retriever, reason in left_out.items():
            toolbox.note(f"{retriever} is left out: {reason}")
        # Greedy samples would all be equal.
        temperature = 0.7 if options.temperature is None and options.samples > 1 else options.temperature
        settings = ReadSettings(
            self.read_prompt,
            self.recall,
            options.samples,
            temperature,
            options.seed,
            options.order,
            options.abstain,
        )
        results = await read_all(question, toolbox, weights, settings)
        for result in results:
            if result.error is not None:
                toolbox.note(f"{result.retriever} failed and does not vote: {result.error.message}")
        errors = [result.error for result in results if result.error]
        if errors and not any(result.replies for result in results):
            raise errors[0]
        voter = Voter(self._similarities, list(self._lambdas.values()), options.pooling, options.threshold)
        election = await elect(question, toolbox, results, list(weights.values()), voter)
        for group in election.groups:
            toolbox.note(describe_group(group))
        return build_answer(election, voter, left_out)


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the plugin."""
    registry.strategy("eor", "rqa_eor:Eor", summary="reads with many retrievers at once and lets their answers vote")
