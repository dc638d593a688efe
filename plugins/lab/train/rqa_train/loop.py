"""The training loop: seeded, mixed precision, checkpoints, resuming and early stopping."""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from robust_qa import InputError, RqaError
from robust_qa.kit import atomic_write

STATE, BEST = "checkpoint.pt", "model.pt"  # in the run's folder: the state for resuming, and the best weights

_LOG_SECONDS = 10.0
_THREADS = torch.get_num_threads()  # CTranslate2 later reduces it to 1
# A CPU with matrix instructions; older versions of torch do not tell.
_AMX: bool = hasattr(torch.cpu, "get_capabilities") and torch.cpu.get_capabilities().get("amx_bf16", False)


@dataclass(frozen=True)
class Plan:
    """Hyperparameters of a run."""

    epochs: float = 1.0
    batch: int = 32  # rows in a step
    rate: float = 1e-4  # peak learning rate
    warmup: float = 0.05  # share of the steps with a rising rate
    seed: int = 13
    patience: int = 0  # measurements without improvement before stopping; 0: never stop
    measure_every: int = 0  # steps between measurements and checkpoints; 0: a twentieth of the run


@dataclass
class _State:
    step: int = 0
    best: float = float("-inf")
    stale: int = 0  # measurements since the best one


def device() -> str:
    """Return the device to train on. On a CPU, torch gets all threads back."""
    torch.set_num_threads(_THREADS)
    return "cuda" if torch.cuda.is_available() else "cpu"


def mixed(device: str) -> torch.autocast:
    """Return the context of a forward pass: bfloat16 on a GPU, and on a CPU where it takes less than half the time."""
    return torch.autocast(device, dtype=torch.bfloat16, enabled=device != "cpu" or _AMX)


def train(
    model: Any,
    lengths: Sequence[int],
    folder: Path,
    plan: Plan,
    *,
    signature: str,
    backward: Callable[[list[int], float], float],
    measure: Callable[[], Mapping[str, float]],
    target: str = "",
    pool: int = 1,
    say: Callable[[str], None],
) -> None:
    """Train the model in place, and leave the best weights in it and in `folder`.

    `lengths` are those of the rows in tokens. `backward` gets the rows of a batch and the share of the run that is
    done, accumulates the gradient and returns the loss. The best weights have the highest metric `target` of
    `measure`; without a `target` they are the latest. A batch has rows of similar length if the `pool` it is drawn from
    is larger than one batch.

    An interrupted run continues from the state in `folder`, with the same result. Raises InputError if that state is
    damaged or has another `signature`, and RqaError if training diverges.
    """
    batch_size = min(plan.batch, len(lengths))
    total = max(1, round(len(lengths) * plan.epochs / batch_size))
    interval = plan.measure_every or max(1, total // 20)
    optimiser = _optimiser(model, plan.rate)
    state = _resume(folder, signature, model, optimiser)
    where = next(model.parameters()).device.type
    say(f"{len(lengths):,} rows, {total:,} steps of {batch_size} on {where}, from step {state.step:,}")
    logged, since, losses = time.monotonic(), state.step, []
    for batch in _batches(lengths, batch_size, seed=plan.seed, pool=pool, first=state.step, total=total):
        if plan.patience and state.stale >= plan.patience:
            say(f"no improvement in {state.stale} measurements: stopped at step {state.step:,}")
            break
        for group in optimiser.param_groups:
            group["lr"] = plan.rate * _schedule(state.step, total, plan.warmup)
        torch.manual_seed(plan.seed * 1_000_003 + state.step)  # of dropout
        model.train()
        model.zero_grad(set_to_none=True)
        losses.append(backward(batch, state.step / total))
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        state.step += 1
        if (now := time.monotonic()) - logged >= _LOG_SECONDS:
            left = (total - state.step) * (now - logged) / (state.step - since) / 60
            say(f"step {state.step:,}/{total:,}  loss {np.mean(losses):.3f}  {left:.0f} min left at most")
            logged, since, losses = now, state.step, []
        if state.step % interval == 0 or state.step == total:
            if not all(weights.isfinite().all() for weights in model.parameters()):
                raise RqaError(
                    f"Training diverged before step {state.step:,}.", hint="Use a lower --rate and another folder."
                )
            found = measure()
            score = found.get(target, float("nan"))
            better = not score <= state.best  # the latest if it is NaN
            state.best, state.stale = (score, 0) if better else (state.best, state.stale + 1)
            if better:
                _save(folder / BEST, model.state_dict())
            values = "  ".join(f"{name} {value:.4g}" for name, value in found.items())
            say(f"step {state.step:,}/{total:,}  {values}{'  (best)' if better and target else ''}")
            _save(folder / STATE, {
                "signature": signature, **asdict(state),
                "model": model.state_dict(), "optimiser": optimiser.state_dict(),
            })  # fmt: skip
    model.load_state_dict(_load(folder / BEST, where))


def signature(settings: object, models: Iterable[Any], rows: Iterable[object]) -> str:
    """Return the digest of the settings, the weights of models and the rows of a run."""
    digest = hashlib.sha256(repr(settings).encode())
    for model in models:
        for name, weights in model.state_dict().items():
            digest.update(repr((name, weights.shape)).encode())
            digest.update(weights.detach().contiguous().cpu().numpy().tobytes())
    for row in rows:
        digest.update(repr(row).encode())
    return digest.hexdigest()


def _optimiser(model: Any, rate: float) -> torch.optim.Optimizer:
    trained = [p for p in model.parameters() if p.requires_grad]
    decayed, others = [p for p in trained if p.ndim > 1], [p for p in trained if p.ndim <= 1]
    return torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}], lr=rate, fused=True
    )


def _batches(lengths: Sequence[int], size: int, *, seed: int, pool: int, first: int, total: int) -> Iterator[list[int]]:
    """Yield the batches from step `first` on. Their order depends only on the seed."""
    step, epoch = 0, 0
    while step < total:
        rng = random.Random(seed * 1000 + epoch)
        order = list(range(len(lengths)))
        rng.shuffle(order)
        for at in range(0, len(order), size * pool):
            piece = order[at : at + size * pool]
            if pool > 1:
                piece.sort(key=lengths.__getitem__)
            chunks = [piece[n : n + size] for n in range(0, len(piece), size)]
            rng.shuffle(chunks)
            for chunk in chunks:
                if first <= step < total:
                    yield chunk
                step += 1
        epoch += 1


def _schedule(step: int, total: int, warmup: float) -> float:
    rise = max(1, int(total * warmup))
    return (step + 1) / rise if step < rise else max(0.0, (total - step) / max(1, total - rise))


def _save(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:  # an interruption leaves the old file
        torch.save(content, file)


def _load(path: Path, where: str) -> Any:
    """Load what `_save` wrote. Raises InputError if the file is missing or damaged."""
    try:
        return torch.load(path, weights_only=True, map_location=where)
    except Exception as error:  # torch raises many kinds of errors
        raise InputError(
            f"{path} is missing or damaged: the run cannot continue.",
            hint=f"Delete {path.with_name(STATE)} to start again.",
        ) from error


def _resume(folder: Path, signature: str, model: Any, optimiser: torch.optim.Optimizer) -> _State:
    path = folder / STATE
    if not path.exists():
        return _State()
    saved = _load(path, next(model.parameters()).device.type)
    if saved["signature"] != signature:
        raise InputError(
            f"{path} belongs to a run with other options, other rows or another model.",
            hint="Use the same options and rows, give another folder, or delete the file.",
        )
    _load(folder / BEST, "cpu")  # fail now and not at the end
    model.load_state_dict(saved["model"])
    optimiser.load_state_dict(saved["optimiser"])
    return _State(saved["step"], saved["best"], saved["stale"])
