"""Baselines that decide while they generate whether and for what to retrieve again."""

from __future__ import annotations

import dataclasses
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from robust_qa import Answer, Passage, Token
from robust_qa.kit import sentences
from rqa_prompts import answer_line, fenced, says_unknown

from . import asking
from .replies import concluded, holding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from robust_qa import Toolbox

_Share = Annotated[float, Meta(ge=0, le=1)]
_CONCLUSION = re.compile(r"\banswer is\W*(\w.*?)\s*\.?\s*$", re.I)


class Flare:
    """Writes a sentence, and if the model is unsure of a word, retrieves with it and writes the sentence again.

    Jiang et al., "Active Retrieval Augmented Generation", EMNLP 2023, Section 3.2 (direct, with implicit queries) and
    the thresholds of Section 5; without examples. Needs a model that gives probabilities.
    """

    needs = frozenset({"retrieve", "continue_text"})

    @dataclass
    class Options(asking.Options):
        theta: _Share = 0.8  # probability below which a word makes it retrieve
        beta: _Share = 0.4  # probability below which a word is left out of the query
        steps: Annotated[int, Meta(ge=1)] = 8  # maximum sentences
        max_tokens: Annotated[int, Meta(ge=1)] = 64  # maximum tokens of a sentence

    def __init__(self, options: Options) -> None:
        self.options = options
        self.prompt = asking.Agent(options, "flare").prompts["answer"]

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer in 1 or 2 calls for each sentence. Abstains if no sentence concludes."""
        passages, seen = await toolbox.retrieve(question), list[Passage]()
        written, queries = list[str](), list[str]()
        for _ in range(self.options.steps):
            seen += [passage for passage in passages if passage not in seen]
            sentence, tokens = await self._next(question, passages, written, toolbox)
            if query := self._query(tokens):
                queries.append(query)
                passages = await toolbox.retrieve(query) or passages
                seen += [passage for passage in passages if passage not in seen]
                sentence, _ = await self._next(question, passages, written, toolbox)
            if not sentence or sentence in written:
                break
            written.append(sentence)
            if _CONCLUSION.search(sentence):
                break
        found = _CONCLUSION.search(" ".join(written))
        details = {"sentences": written, "queries": queries}
        text = answer_line(found[1] if found else "".join(written[-1:]))
        toolbox.note(f"{len(written)} sentences, {len(queries)} further searches", reply=" ".join(written))
        if not text or says_unknown(text):
            return Answer(None, reason="The language model does not know the answer.", details=details)
        return Answer(text, citations=holding(text, seen), details=details)

    async def _next(
        self, question: str, passages: Sequence[Passage], written: Sequence[str], toolbox: Toolbox
    ) -> tuple[str, list[Token]]:
        """Return the next sentence, and its tokens."""
        prompt = asking.as_text(self.prompt, question, passages, abstain=self.options.abstain)
        prompt = " ".join([prompt, *map(fenced, written)])
        found = await toolbox.continue_text(
            prompt, top=2, temperature=0.0, max_tokens=self.options.max_tokens, stop=("\n\n",), what="next sentence"
        )
        start, end = next(iter(sentences(found.text)), (0, 0))
        kept, length = list[Token](), 0
        for token in found.tokens:
            if length >= end:
                break
            kept.append(token)
            length += len(token.text)
        return " ".join(found.text[start:end].split()), kept

    def _query(self, tokens: Sequence[Token]) -> str:
        """Return the sentence without its unlikely words if a word is less likely than theta, else ""."""
        if all(token.logprob >= math.log(max(self.options.theta, 1e-9)) for token in tokens):
            return ""
        likely = (token.text for token in tokens if token.logprob >= math.log(max(self.options.beta, 1e-9)))
        return " ".join("".join(likely).split())


class IterRetGen:
    """Answers, and retrieves again with the question and the whole reply, several times.

    Shao et al., "Enhancing Retrieval-Augmented Large Language Models with Iterative Retrieval-Generation Synergy",
    Findings of EMNLP 2023, Section 3; without examples.
    """

    needs = frozenset({"retrieve", "generate"})

    @dataclass
    class Options(asking.PassageOptions):
        iterations: Annotated[int, Meta(ge=1)] = 2  # T; the paper gains little from the third on

    def __init__(self, options: Options) -> None:
        self.iterations = options.iterations
        self.agent = asking.Agent(options, "iter_retgen")

    async def answer(self, question: str, toolbox: Toolbox) -> Answer:
        """Answer in T calls. Abstains if the last reply does."""
        replies: list[str] = []
        for _ in range(self.iterations):
            query = f"{question} {replies[-1]}" if replies else question
            passages = await toolbox.retrieve(query)
            replies.append(await self.agent.ask(toolbox, "answer", passages))
        answer = concluded(replies[-1], self.agent.numbered(toolbox, passages))
        return dataclasses.replace(answer, details={"replies": replies})
