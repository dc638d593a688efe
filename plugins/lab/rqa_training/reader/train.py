"""The training loop: seeded, mixed precision, checkpoints and resuming."""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from robust_qa import InputError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

from .encoding import Example, encode, headed, load_tokenizer
from .model import Scores, SpanReader, distance, span_loss
from .rows import Row


@dataclass(frozen=True)
class Plan:
    """Hyperparameters of a run. The defaults suit two cores."""

    epochs: float = 1.0
    batch: int = 32  # examples in a step
    rate: float = 2.5e-4  # peak learning rate
    warmup: float = 0.05  # share of the steps with a rising rate
    length: int = 192  # tokens of question and passage
    answered: float = 0.5  # weight of the answered score's cross-entropy
    relevance: float = 10.0  # weight of the squared error to the embedder's cosine
    vectors: float = 1.0  # weight of the distance to the embedder's vectors
    taught: float = 0.0  # weight of the teachers' scores in the loss of a row
    seed: int = 13
    save_every: int = 200  # steps
    measure_every: int = 600  # steps


_EMBED_EVERY = 2  # steps between updates of the vectors
_THREADS = torch.get_num_threads()  # CTranslate2 later reduces it to 1
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
    (distillation). An interrupted run continues from its last checkpoint.
    """
    torch.manual_seed(plan.seed)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_num_threads(_THREADS)
    tokenizer = load_tokenizer(str(tokenizer_file), plan.length)
    examples = encode(rows, tokenizer, say)
    tokenizer.no_truncation()  # from here on it encodes single texts
    if not examples:
        raise InputError(
            f"None of the {len(rows):,} rows has a token of its answer among the first {plan.length} tokens.",
            hint="Use a higher --length, or check that the contexts contain the answers.",
        )
    plan = replace(plan, batch=min(plan.batch, len(examples)))  # every batch is full
    total = max(1, int(len(examples) // plan.batch * plan.epochs))
    model = SpanReader(base, tokenizer_file)
    signature = _signature(plan, examples, [model, *teachers])
    model.to(device)
    if device == "cpu":  # the gradient of fused attention is slow on a CPU
        model.encoder.set_attn_implementation("eager")
    optimiser = _optimiser(model, plan)
    losses_of = _BatchLoss(model, rows, plan, tokenizer, embedder, [one.to(device).eval() for one in teachers], device)
    step = _resume(out, signature, model, optimiser)
    say(f"{len(examples):,} examples, {total:,} steps of {plan.batch} on {device}, from step {step:,}")
    began, seen, losses = time.monotonic(), 0, []
    for batch in _batches(examples, plan, step, total):
        for group in optimiser.param_groups:
            group["lr"] = plan.rate * _schedule(step, total, plan)
        model.train()
        optimiser.zero_grad(set_to_none=True)
        losses.append(losses_of.backward(batch, step, total))
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        step += 1
        seen += len(batch)
        if step % 25 == 0:
            speed = seen / (time.monotonic() - began)
            left = (total - step) * plan.batch / speed
            say(
                f"step {step:,}/{total:,}  loss {np.mean(losses):.3f}  {speed:.1f} examples/s  {left / 60:.0f} min left"
            )
            losses.clear()
        if step % plan.save_every == 0 or step == total:
            _save(out, signature, (step, total), model, optimiser)
        if measure and (step % plan.measure_every == 0 or step == total):
            values = "  ".join(f"{name} {value:.3g}" for name, value in measure(model).items())
            say(f"step {step:,}/{total:,}  {values}")
    return model, len(examples)


def _optimiser(model: SpanReader, plan: Plan) -> torch.optim.Optimizer:
    # Freeze the word vectors: training would move only those of frequent words.
    model.encoder.embeddings.word_embeddings.requires_grad_(False)
    decayed = [p for p in model.parameters() if p.requires_grad and p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim <= 1]
    return torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}], lr=plan.rate, fused=True
    )


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

    def backward(self, batch: list[Example], step: int, total: int) -> float:
        """Accumulate the gradient of `batch` over groups of similar length. Returns the loss."""
        # The best span means little early in training (Min et al., 2019, section 3.2).
        searched = random.Random(step).random() < min(0.9, step / (0.4 * total))
        ordered = sorted(batch, key=lambda example: len(example.ids))
        width = 16 if self.device == "cpu" else len(ordered)
        loss = 0.0
        for at in range(0, len(ordered), width):
            piece = ordered[at : at + width]
            part = self._loss(piece, searched=searched) * (len(piece) / len(batch))
            part.backward()
            loss += part.item()
        if self.embedder is not None and step % _EMBED_EVERY == 0:
            self._keep_vectors(batch, self.embedder)
        return loss

    def _loss(self, piece: list[Example], *, searched: bool) -> torch.Tensor:
        part = {name: tensor.to(self.device) for name, tensor in collate(piece).items()}
        with torch.autocast(self.device, dtype=torch.bfloat16):
            scores = self.model(part["ids"], part["types"], part["mask"])
        each = span_loss(scores, part["allowed"], part["starts"], part["ends"], part["searched"] & searched)
        each = each + self.plan.answered * _entropy(scores.answered, part["has"])
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
        with torch.no_grad(), torch.autocast(self.device, dtype=torch.bfloat16):
            every = [teacher(part["ids"], part["types"], part["mask"]) for teacher in self.teachers]
        target = Scores(*(torch.stack(each).mean(0) for each in zip(*every, strict=True)))
        answered = _entropy(scores.answered, target.answered.sigmoid())
        return distance(scores, target, part["allowed"]) + self.plan.answered * answered

    def _texts(self, examples: list[Example]) -> list[str]:
        """Return the questions of `examples`, followed by their passages."""
        found = [self.rows[example.row] for example in examples]
        return [row.question for row in found] + [headed(row) for row in found]

    def _keep_vectors(self, batch: list[Example], embedder: Embedder) -> None:
        """Accumulate the gradient that keeps vectors of questions and some passages close to the embedder's."""
        texts = self._texts(batch)
        for group in (texts[: len(batch)], texts[len(batch) :][:: max(1, len(batch) // _EMBEDDED_PASSAGES)]):
            coded = self.tokenizer.encode_batch(group)
            part = collate([Example(one.ids[: self.plan.length], one.type_ids, [0], [0], False, 0) for one in coded])
            with torch.autocast(self.device, dtype=torch.bfloat16):
                vectors = self.model.embed(part["ids"].to(self.device), part["mask"].to(self.device))
            target = torch.from_numpy(embedder.embed(group)).to(self.device)
            loss = 1 - (vectors * target).sum(1).mean()
            (0.5 * self.plan.vectors * _EMBED_EVERY * loss).backward()


def _entropy(scores: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
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


def _batches(examples: list[Example], plan: Plan, first: int, total: int) -> Iterator[list[Example]]:
    """Yield batches of similar length from step `first` on. Their order depends only on the seed."""
    per_epoch = len(examples) // plan.batch
    step, epoch = 0, 0
    while step < total:
        rng = random.Random(plan.seed * 1000 + epoch)
        order = list(range(len(examples)))
        rng.shuffle(order)
        pool = plan.batch * 16
        batches = []
        for at in range(0, len(order), pool):
            piece = sorted(order[at : at + pool], key=lambda n: len(examples[n].ids))
            chunks = [piece[n : n + plan.batch] for n in range(0, len(piece), plan.batch)]
            rng.shuffle(chunks)
            batches += [chunk for chunk in chunks if len(chunk) == plan.batch]
        for chunk in batches[:per_epoch]:
            if step >= total:
                return
            if step >= first:
                yield [examples[n] for n in chunk]
            step += 1
        epoch += 1


def _schedule(step: int, total: int, plan: Plan) -> float:
    rise = max(1, int(total * plan.warmup))
    if step < rise:
        return (step + 1) / rise
    return max(0.0, (total - step) / max(1, total - rise))


def _signature(plan: Plan, examples: list[Example], models: list[SpanReader]) -> str:
    """Return the digest of options, examples, initial weights and teachers."""
    digest = hashlib.sha256(repr(sorted(asdict(plan).items())).encode())
    for example in examples:
        digest.update(repr(example).encode())
    for model in models:
        for name, weight in model.state_dict().items():
            digest.update(name.encode() + weight.contiguous().cpu().numpy().tobytes())
    return digest.hexdigest()


def _save(out: Path, signature: str, at: tuple[int, int], model: SpanReader, optimiser: torch.optim.Optimizer) -> None:
    step, total = at
    out.mkdir(parents=True, exist_ok=True)
    state = {
        "signature": signature, "step": step,
        "model": model.state_dict(), "optimiser": optimiser.state_dict(),
    }  # fmt: skip
    part = out / "checkpoint.part"
    torch.save(state, part)
    part.replace(out / "checkpoint.pt")  # atomic: an interruption leaves the old file
    if step == total:
        torch.save(model.state_dict(), out / "model.part")
        (out / "model.part").replace(out / "model.pt")


def _resume(out: Path, signature: str, model: SpanReader, optimiser: torch.optim.Optimizer) -> int:
    path = out / "checkpoint.pt"
    if not path.exists():
        return 0
    state = torch.load(path, weights_only=True)
    if state.get("signature") != signature:
        raise InputError(
            f"{path} belongs to a run with other options, other rows, another base or other teachers.",
            hint="Give another folder, or delete this one.",
        )
    model.load_state_dict(state["model"])
    optimiser.load_state_dict(state["optimiser"])
    return int(state["step"])
