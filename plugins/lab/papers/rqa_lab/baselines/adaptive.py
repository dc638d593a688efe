"""Baselines that change what is read: by how hard the question is, to its best sentences, or against the memory."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from robust_qa import Answer
from robust_qa.kit import sentences, with_title
from rqa_prompts import says_unknown

from . import asking
from .replies import concluded, holding, read
from .stepwise import InterleavedRetrieval

if TYPE_CHECKING:
    from robust_qa import Toolbox


class AdaptiveRag:
    """Answers easy questions from memory, others from passages, and hard ones by interleaved retrieval.

    Jeong et al., "Adaptive-RAG: Learning to Adapt Retrieval-Augmented Large Language Models through Question
    Complexity", NAACL 2024, Section 3.2. There a trained T5 classifies the question; here the language model does.
    """

    needs = frozenset({"retrieve", "read", "generate"})

    @dataclass
    class Options(asking.PassageOptions):
        always: Literal["A", "B", "C"] | None = None  # the class of every question; default: as classified

    def __init__(self, options: Options) -> None:
        self.always = options.always
        self.agent = asking.Agent(options, "adaptive_rag", reads=True)
        self.several = InterleavedRetrieval(InterleavedRetrieval.Options(abstain=options.abstain, order=options.order))

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer in 1 call to classify, and 1 more, or those of ircot for a hard question."""
        found = None if self.always else re.search(r"\b[ABC]\b", await self.agent.ask(toolbox, "classify"))
        chosen = self.always or (found[0] if found else "B")
        toolbox.note(f"the question is of class {chosen}", reply="")
        if chosen == "A":
            answer = concluded(await self.agent.ask(toolbox, "answer"))
        elif chosen == "C":
            answer = await self.several.answer(question, toolbox)
        else:
            passages = await toolbox.retrieve(question)
            answer = read(await self.agent.read(toolbox, question, passages), passages)
        return dataclasses.replace(answer, details={**answer.details, "class": chosen})


class Recomp:
    """Reads only the sentences that are most relevant to the question.

    After the extractive compressor of Xu et al., "RECOMP: Improving Retrieval-Augmented LMs with Compression and
    Selective Augmentation", ICLR 2024, Section 3.1. There a trained encoder ranks the sentences; here the evaluator.
    """

    needs = frozenset({"retrieve", "read", "score"})

    @dataclass
    class Options(asking.PassageOptions):
        keep: Annotated[int, Meta(ge=1)] = 2  # sentences

    def __init__(self, options: Options) -> None:
        self.options = options
        self.agent = asking.Agent(options, "recomp", reads=True)

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer in 1 call. Abstains if no passage is found or the reader finds no answer."""
        passages = await toolbox.retrieve(question)
        parts = [(one, one.text[start:end]) for one in passages for start, end in sentences(one.text)]
        titled = toolbox.titles()
        texts = [with_title(passage.title, text) if titled else text for passage, text in parts]
        scores = await toolbox.score(question, texts)
        best = sorted(range(len(parts)), key=lambda place: -scores[place])[: self.options.keep]
        kept = [dataclasses.replace(parts[place][0], text=parts[place][1]) for place in sorted(best)]
        if not kept and self.agent.abstain:
            return Answer(None, reason="No passage was found for the question.")
        answer = read(await self.agent.read(toolbox, question, kept), kept)
        return dataclasses.replace(answer, details={"sentences": [passage.text for passage in kept]})


class ContextAware:
    """Decodes word by word what the passages make likelier than the model's memory does (CAD).

    Shi et al., "Trusting Your Evidence: Hallucinate Less with Context-aware Decoding", NAACL 2024, Section 2.1, over
    the likeliest tokens that the server returns. Needs a model that gives probabilities.
    """

    needs = frozenset({"retrieve", "continue_text"})

    @dataclass
    class Options(asking.Options):
        alpha: Annotated[float, Meta(ge=0)] = 0.5  # weight of the difference that the passages make
        max_tokens: Annotated[int, Meta(ge=1)] = 16  # of the answer, each two calls
        # most likely tokens to request at each position; OpenAI returns at most 5
        alternatives: Annotated[int, Meta(ge=2)] = 20

    def __init__(self, options: Options) -> None:
        self.options = options
        self.prompts = asking.Agent(options, "cad").prompts

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer in two calls for each token, one at a time. Abstains if nothing is found or written."""
        passages = await toolbox.retrieve(question)
        if not passages:
            return Answer(None, reason="No passage was found for the question.")
        prompts = [asking.as_text(self.prompts[role], question, passages) for role in ("with", "without")]
        text, changed = "", 0
        for _ in range(self.options.max_tokens):
            given, alone = [await self._top(prompt + text, toolbox) for prompt in prompts]
            token = decoded(given, alone, self.options.alpha)
            if not token or "\n" in token or (token.startswith("<") and token.endswith(">")):
                break
            changed += token != max(given, key=lambda one: given[one])
            text += token
        answer = text.strip()
        toolbox.note(f"{changed} tokens are others than without the contrast", reply=answer)
        if not answer or says_unknown(answer):
            return Answer(None, reason="The language model wrote no answer.", details={"changed": changed})
        return Answer(answer, citations=holding(answer, passages), details={"changed": changed})

    async def _top(self, prompt: str, toolbox: Toolbox) -> Mapping[str, float]:
        """Return the log-probabilities of the likeliest next tokens, none at the end."""
        found = await toolbox.continue_text(
            prompt, top=self.options.alternatives, temperature=0.0, max_tokens=1, what="next token"
        )
        if not found.tokens or not found.text:
            return {}
        token = found.tokens[0]
        return {**token.top, token.text: token.logprob}


def decoded(given: Mapping[str, float], alone: Mapping[str, float], alpha: float) -> str:
    """Return the token with the highest (1 + alpha) log p(y | c, x) - alpha log p(y | x), "" at the end.

    A token that is not among the likeliest without the passages counts as the least likely of those.
    """
    if not given:
        return ""
    least = min(alone.values(), default=0.0)
    return max(given, key=lambda token: (1 + alpha) * given[token] - alpha * alone.get(token, least))
