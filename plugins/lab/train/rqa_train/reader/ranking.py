"""Continue the training of a reader on questions over documents: rank passages, and mark the answer."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from torch.nn import functional

from robust_qa.kit import contains_words

from .. import loop
from .documents import Group
from .encoding import Example, encode, load_tokenizer
from .model import Scores, SpanReader, span_loss
from .rows import Row
from .train import Embedder, collate, entropy, keep_vectors


@dataclass(frozen=True)
class Plan(loop.Plan):
    """Hyperparameters of a run. The defaults suit two cores: 2,000 questions in twenty minutes."""

    batch: int = 4  # questions
    rate: float = 5e-5
    epochs: float = 1.0
    length: int = 160  # tokens of question and passage
    others: int = 4  # passages without the answer of a question in a step
    replayed: int = 4  # rows of the first training in a step, so that it is not forgotten
    vectors: float = 4.0  # weight of the distance to the embedder's vectors
    frozen: int = 3  # layers at the bottom that keep their weights, which saves a third of the time


class Encoded(NamedTuple):
    """A group's passages as examples: those that hold the evidence, and the others in the retriever's order."""

    held: list[Example]
    others: list[Example]


def train(
    groups: Sequence[Group],
    replay: list[Row],
    base: Path,
    out: Path,
    plan: Plan,
    *,
    embedder: Embedder,
    say: Callable[[str], None] = print,
) -> SpanReader:
    """Continue the training of the reader at `base` on `groups`, with rows of `replay` in each step.

    The score `relevant` learns to put a passage that holds the evidence before the others of its question, with the
    cross-entropy over one of them and `plan.others` (Nogueira and Cho, 2019, in the listwise form of Gao, Dai and
    Callan, "Rethink training of BERT rerankers", 2021). The sentence vectors stay near those of `embedder`.
    """
    torch.manual_seed(plan.seed)
    device = loop.device()
    tokenizer_file = base / "tokenizer.json"
    tokenizer = load_tokenizer(str(tokenizer_file), plan.length)
    encoded = [one for group in groups if (one := _encoded(group, tokenizer)) is not None]
    replayed = encode(replay, tokenizer)
    tokenizer.no_truncation()
    model = SpanReader(base, tokenizer_file)
    signature = loop.signature(plan, [model], [*encoded, *replayed])
    model.to(device)
    if device == "cpu":  # the gradient of fused attention is slow on a CPU
        model.encoder.set_attn_implementation("eager")
    for part in (model.encoder.embeddings, *model.encoder.encoder.layer[: plan.frozen]):
        part.requires_grad_(False)
    questions = [group.question.question for group in groups]
    texts = [passage.text for group in groups for passage in group.passages]

    def backward(batch: list[int], done: float) -> float:
        rng = random.Random(f"{plan.seed} {done} {batch}")
        total = 0.0
        for n in batch:
            loss = _group_loss(model, encoded[n], plan, rng, device) / len(batch)
            loss.backward()
            total += float(loss.detach())
        part = _tensors(rng.sample(replayed, plan.replayed), device)
        with loop.mixed(device):
            scores = model(part["ids"], part["types"], part["mask"])
        each = span_loss(scores, part["allowed"], part["starts"], part["ends"], part["searched"])
        loss = (each + 0.5 * entropy(scores.answered, part["has"])).mean()
        loss.backward()
        total += float(loss.detach())
        for group in (rng.sample(questions, 8), rng.sample(texts, 6)) if rng.random() < 0.25 else ():
            keep_vectors(model, tokenizer, embedder, group, length=plan.length, weight=plan.vectors)
        return total

    loop.train(model, [1] * len(encoded), out, plan, signature=signature, backward=backward, measure=dict, say=say)
    return model


def _encoded(group: Group, tokenizer: object) -> Encoded | None:
    """Return the examples of a group, None if it has only the passages of one side and nothing to learn."""
    question = group.question
    held: list[Row] = []
    others: list[Row] = []
    for passage, holds in zip(group.passages, group.holds, strict=True):
        if not holds and any(contains_words(each, passage.text) for each in question.answers if question.polar is None):
            continue  # it may hold the answer too
        spans = question.answers if holds and question.polar is None else []
        answer = next((each for each in spans if each in passage.text), None)
        row = Row(question.question, passage.text, passage.title, [answer] if answer else [])
        (held if holds else others).append(row)
    if not others or (question.answers and not held):
        return None
    own = encode(held, tokenizer), encode(others, tokenizer)  # type: ignore[arg-type]
    return Encoded(*own) if own[1] and (own[0] or not held) else None


def _group_loss(model: SpanReader, group: Encoded, plan: Plan, rng: random.Random, device: str) -> torch.Tensor:
    """Return the loss of a group: over one passage that holds the evidence, first in the batch, and some others."""
    gold = [rng.choice(group.held)] if group.held else []
    near = group.others[: 3 * plan.others]
    chosen = [*gold, *rng.sample(near, min(plan.others, len(near)))]
    part = _tensors(chosen, device)
    with loop.mixed(device):
        scores: Scores = model(part["ids"], part["types"], part["mask"])
    weights = torch.full((len(chosen),), 1 / max(1, len(chosen) - len(gold)), device=device)
    weights[: len(gold)] = 1.0
    has = torch.zeros(len(chosen), device=device)
    has[: len(gold)] = 1.0
    spans = span_loss(scores, part["allowed"], part["starts"], part["ends"], part["searched"])
    marked = part["has"].bool() | (has == 0)  # a gold passage in which the answer's words do not stand teaches no span
    loss = (weights * (marked * spans + 0.5 * entropy(scores.answered, has))).sum()
    if gold:
        loss = loss - functional.log_softmax(scores.relevant, 0)[0]
    return loss


def _tensors(examples: Sequence[Example], device: str) -> dict[str, torch.Tensor]:
    return {name: tensor.to(device) for name, tensor in collate([*examples]).items()}
