"""Train a reader: its losses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from robust_qa import InputError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

from .. import loop
from .encoding import Example, encode, headed, load_tokenizer
from .model import Scores, SpanReader, distance, span_loss
from .rows import Row


@dataclass(frozen=True)
class Plan(loop.Plan):
    """Hyperparameters of a run. The defaults suit two cores."""

    rate: float = 2.5e-4
    length: int = 192  # tokens of question and passage
    answered: float = 0.5  # weight of the answered score's cross-entropy
    relevance: float = 10.0  # weight of the squared error to the embedder's cosine
    vectors: float = 1.0  # weight of the distance to the embedder's vectors
    taught: float = 0.0  # weight of the teachers' scores in the loss of a row


_EMBED_EVERY = 2  # steps between updates of the vectors, in the mean
_POOL = 16  # batches from which a batch of similar lengths is drawn
_EMBEDDED_PASSAGES = 6  # passages embedded in such a step, in addition to all questions


class Embedder(Protocol):
    """Returns unit vectors of texts, (texts, width)."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]: ...


def train(
    rows: list[Row],
    base: Path,
    tokenizer_file: Path,
    out: Path,
    plan: Plan,
    *,
    embedder: Embedder | None = None,
    teachers: Sequence[SpanReader] = (),
    measure: Callable[[SpanReader], dict[str, float]] | None = None,
    say: Callable[[str], None] = print,
) -> tuple[SpanReader, int]:
    """Train the encoder at `base` and write `out/model.pt`. Returns the model and the number of usable rows.

    With an `embedder`, the relevance score learns its cosine of question and passage, and the encoder keeps its
    sentence vectors. So one model reads, judges and embeds. The mean scores of `teachers` are additional targets
    (distillation). See `loop.train`.
    """
    torch.manual_seed(plan.seed)
    device = loop.device()
    tokenizer = load_tokenizer(str(tokenizer_file), plan.length)
    examples = encode(rows, tokenizer, say)
    tokenizer.no_truncation()  # from here on it encodes single texts
    if not examples:
        raise InputError(
            f"None of the {len(rows):,} rows has a token of its answer among the first {plan.length} tokens.",
            hint="Use a higher --length, or check that the contexts contain the answers.",
        )
    model = SpanReader(base, tokenizer_file)
    signature = loop.signature(plan, [model, *teachers], examples)
    model.to(device)
    if device == "cpu":  # the gradient of fused attention is slow on a CPU
        model.encoder.set_attn_implementation("eager")
    # Freeze the word vectors: training would move only those of frequent words.
    model.encoder.embeddings.word_embeddings.requires_grad_(False)
    losses = _BatchLoss(model, rows, plan, tokenizer, embedder, [one.to(device).eval() for one in teachers], device)
    loop.train(
        model,
        [len(example.ids) for example in examples],
        out,
        plan,
        signature=signature,
        backward=lambda batch, done: losses.backward([examples[n] for n in batch], done),
        measure=lambda: measure(model) if measure else {},
        pool=_POOL,
        say=say,
    )
    return model, len(examples)


@dataclass(frozen=True)
class _BatchLoss:
    """Accumulates the gradients of all losses of a batch."""

    model: SpanReader
    rows: list[Row]
    plan: Plan
    tokenizer: Tokenizer
    embedder: Embedder | None
    teachers: list[SpanReader]
    device: str

    def backward(self, batch: list[Example], done: float) -> float:
        """Accumulate the gradient of `batch` over groups of similar length. Returns the loss."""
        # The best span means little early in training (Min et al., 2019, section 3.2).
        searched = float(torch.rand(())) < min(0.9, done / 0.4)
        ordered = sorted(batch, key=lambda example: len(example.ids))
        width = 16 if self.device == "cpu" else len(ordered)
        loss = 0.0
        for at in range(0, len(ordered), width):
            piece = ordered[at : at + width]
            part = self._loss(piece, searched=searched) * (len(piece) / len(batch))
            part.backward()
            loss += part.item()
        if self.embedder is not None and float(torch.rand(())) < 1 / _EMBED_EVERY:
            texts, weight = self._texts(batch), self.plan.vectors * _EMBED_EVERY
            for group in (texts[: len(batch)], texts[len(batch) :][:: max(1, len(batch) // _EMBEDDED_PASSAGES)]):
                keep_vectors(self.model, self.tokenizer, self.embedder, group, length=self.plan.length, weight=weight)
        return loss

    def _loss(self, piece: list[Example], *, searched: bool) -> torch.Tensor:
        part = {name: tensor.to(self.device) for name, tensor in collate(piece).items()}
        with loop.mixed(self.device):
            scores = self.model(part["ids"], part["types"], part["mask"])
        each = span_loss(scores, part["allowed"], part["starts"], part["ends"], part["searched"] & searched)
        each = each + self.plan.answered * entropy(scores.answered, part["has"])
        if self.teachers:
            share = torch.where(part["unlabelled"], 1.0, self.plan.taught)
            each = torch.lerp(each, self._from_teachers(part, scores), share)
        loss = each.mean()
        if self.embedder is not None:
            questions, passages = np.split(self.embedder.embed(self._texts(piece)), 2)
            cosine = torch.from_numpy((questions * passages).sum(1)).to(self.device)
            loss = loss + self.plan.relevance * torch.nn.functional.mse_loss(scores.relevant, cosine)
        return loss

    def _from_teachers(self, part: dict[str, torch.Tensor], scores: Scores) -> torch.Tensor:
        with torch.no_grad(), loop.mixed(self.device):
            every = [teacher(part["ids"], part["types"], part["mask"]) for teacher in self.teachers]
        target = Scores(*(torch.stack(each).mean(0) for each in zip(*every, strict=True)))
        answered = entropy(scores.answered, target.answered.sigmoid())
        return distance(scores, target, part["allowed"]) + self.plan.answered * answered

    def _texts(self, examples: list[Example]) -> list[str]:
        """Return the questions of `examples`, followed by their passages."""
        found = [self.rows[example.row] for example in examples]
        return [row.question for row in found] + [headed(row) for row in found]


def keep_vectors(
    model: SpanReader, tokenizer: Tokenizer, embedder: Embedder, texts: list[str], *, length: int, weight: float
) -> None:
    """Accumulate the gradient that keeps the vectors of `texts` close to the embedder's."""
    device = next(model.parameters()).device
    coded = tokenizer.encode_batch(texts)
    part = collate([Example(one.ids[:length], one.type_ids, [0], [0], False, 0) for one in coded])
    with loop.mixed(device.type):
        vectors = model.embed(part["ids"].to(device), part["mask"].to(device))
    target = torch.from_numpy(embedder.embed(texts)).to(device)
    loss = 1 - (vectors * target).sum(1).mean()
    (0.5 * weight * loss).backward()


def entropy(scores: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.binary_cross_entropy_with_logits(scores, targets, reduction="none")


def collate(batch: list[Example]) -> dict[str, torch.Tensor]:
    """Return padded tensors of `batch`, (examples, tokens); `has`, `searched` and `unlabelled` are (examples,)."""
    longest = max(len(example.ids) for example in batch)
    shape = (len(batch), -(-longest // 16) * 16)  # oneDNN caches a kernel for each shape
    ids, types = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    mask, allowed, starts, ends = (np.zeros(shape, bool) for _ in range(4))
    for n, example in enumerate(batch):
        size = len(example.ids)
        ids[n, :size], types[n, :size], mask[n, :size] = example.ids, example.types[:size], True
        allowed[n, : size - 1] = types[n, : size - 1] == 1  # without the last [SEP]
        allowed[n, 0] = True
        starts[n, example.starts] = ends[n, example.ends] = True
    arrays = {
        "ids": ids, "types": types, "mask": mask, "allowed": allowed, "starts": starts, "ends": ends,
        "has": np.array([example.answerable for example in batch], np.float32),
        "searched": np.array([example.searched for example in batch]),
        "unlabelled": np.array([example.unlabelled for example in batch]),
    }  # fmt: skip
    return {name: torch.from_numpy(array) for name, array in arrays.items()}
