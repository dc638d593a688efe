"""Train the packaged judge: PYTHONPATH=models python -m judge.train ROWS FOLDER [--base BASE] ...

An encoder reads "[CLS] claim [SEP] title : premise [SEP]". A linear head over [CLS] gives the logits of supported,
contradicted and neither.
Weights are written as int8 with a scale for each row, which is how CTranslate2 stores them.
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional
from transformers import AutoConfig, AutoModel

LABELS = ("supported", "contradicted", "neither")
LENGTH, CLAIM = 192, 64  # tokens of a window, and of its claim at most
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
BRAIN = DEVICE == "cuda" or torch.backends.mkldnn.is_available()  # matrices of Intel processors since 2023 run bfloat16


class Judge(nn.Module):
    """An encoder with a head of three logits."""

    def __init__(self, base: Path) -> None:
        super().__init__()
        config = AutoConfig.from_pretrained(base)
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = 0.0  # one pass does not overfit
        trained = base / "weights.npz"  # of an earlier step; else an encoder saved by transformers
        if trained.exists():
            self.encoder = AutoModel.from_config(config, add_pooling_layer=False)
        else:
            self.encoder = AutoModel.from_pretrained(base, config=config, add_pooling_layer=False)
        self.head = nn.Linear(config.hidden_size, 3)
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)
        if trained.exists():
            self.load_state_dict(unpacked(trained), strict=False)

    def forward(self, ids: torch.Tensor, types: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        hidden = self.encoder(input_ids=ids, attention_mask=mask, token_type_ids=types).last_hidden_state
        return self.head(hidden[:, 0])


def packed(state: dict[str, torch.Tensor], path: Path) -> None:
    """Write matrices as int8 with a scale for each row, the rest in half precision."""
    arrays: dict[str, Any] = {}
    for name, tensor in state.items():
        value = tensor.detach().float().cpu().numpy()
        if value.ndim == 2 and value.size > 10_000:
            scale = np.maximum(np.abs(value).max(1, keepdims=True), 1e-9) / 127
            arrays[f"{name}|q"] = np.rint(value / scale).astype(np.int8)
            arrays[f"{name}|s"] = scale.astype(np.float32)
        else:
            arrays[name] = value.astype(np.float32)
    np.savez_compressed(path, **arrays)


def unpacked(path: Path) -> dict[str, torch.Tensor]:
    with np.load(path) as arrays:
        state = {name: torch.tensor(arrays[name]) for name in arrays.files if "|" not in name}
        state |= {
            name[:-2]: torch.tensor(arrays[name].astype(np.float32) * arrays[f"{name[:-2]}|s"])
            for name in arrays.files
            if name.endswith("|q")
        }
    return state


def encoded(rows: list[dict[str, Any]], tokenizer: Tokenizer) -> list[tuple[np.ndarray, int]]:
    """Return token ids and the length of the first part of each row."""
    begin, end = tokenizer.token_to_id("[CLS]"), tokenizer.token_to_id("[SEP]")
    texts = [row["claim"] for row in rows] + [
        f"{row['title']} : {row['premise']}" if row.get("title") else row["premise"] for row in rows
    ]
    coded = (
        [each.ids for each in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]
        if hasattr(tokenizer, "encode_batch_fast")
        else [each.ids for each in tokenizer.encode_batch(texts, add_special_tokens=False)]
    )
    found = []
    for claim, premise in zip(coded[: len(rows)], coded[len(rows) :], strict=True):
        first = [begin, *claim[:CLAIM], end]
        found.append((np.array([*first, *premise[: LENGTH - len(first) - 1], end], np.int32), len(first)))
    return found


def batches(coded: list[tuple[np.ndarray, int]], order: list[int], tokens: int) -> list[list[int]]:
    """Group rows of similar length, at most `tokens` a batch with padding."""
    groups: list[list[int]] = []
    for at in range(0, len(order), 8192):
        part = sorted(order[at : at + 8192], key=lambda n: len(coded[n][0]))
        group: list[int] = []
        for n in part:
            if group and (len(group) + 1) * len(coded[n][0]) > tokens:
                groups.append(group)
                group = []
            group.append(n)
        groups.append(group)
    return groups


def tensors(coded: list[tuple[np.ndarray, int]], group: list[int]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    longest = -(-max(len(coded[n][0]) for n in group) // 8) * 8
    ids, types, mask = (np.zeros((len(group), longest), np.int64) for _ in range(3))
    for row, n in enumerate(group):
        own, first = coded[n]
        ids[row, : len(own)], types[row, first : len(own)], mask[row, : len(own)] = own, 1, 1
    return tuple(
        torch.from_numpy(each).pin_memory().to(DEVICE, non_blocking=True)
        if DEVICE == "cuda"
        else torch.from_numpy(each)
        for each in (ids, types, mask)
    )


@torch.no_grad()
def logits(model: Judge, coded: list[tuple[np.ndarray, int]]) -> np.ndarray:
    model.eval()
    found = np.zeros((len(coded), 3), np.float32)
    for group in batches(coded, list(range(len(coded))), 65536 if DEVICE == "cuda" else 4096):
        with torch.autocast(DEVICE, torch.bfloat16, enabled=BRAIN):
            out = model(*tensors(coded, group))
        found[group] = out.float().cpu().numpy()
    return found


def train(
    model: Judge,
    coded: list[tuple[np.ndarray, int]],
    labels: np.ndarray,
    *,
    epochs: float,
    rate: float,
    tokens: int,
    seed: int = 13,
    saved: Path | None = None,
    most: int = 0,
) -> None:
    """Train, and save what is needed to go on in `saved`, from which an interrupted training goes on."""
    draw = random.Random(seed)
    plain = [p for name, p in model.named_parameters() if p.ndim < 2]
    decayed = [p for name, p in model.named_parameters() if p.ndim >= 2]
    optimizer = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}],
        lr=rate,
        fused=DEVICE == "cuda",
    )
    groups: list[list[int]] = []
    for epoch in range(math.ceil(epochs)):
        order = list(range(len(coded)))
        draw.shuffle(order)
        own = batches(coded, order, tokens)
        draw.shuffle(own)
        groups += own[: round(len(own) * min(1.0, epochs - epoch))]
    model.train()
    started = time.monotonic()
    steps = min(len(groups), most or len(groups))
    step = 0
    if saved is not None and saved.exists():
        state = torch.load(saved, weights_only=False)
        model.load_state_dict(state["model"], strict=False)
        optimizer.load_state_dict(state["optimizer"])
        step = state["step"]
        print("going on at step", step, flush=True)
    while step < steps:
        group = groups[step]
        part = min(1.0, (step + 1) / (0.06 * steps)) * max(0.0, 1 - step / steps)
        for each in optimizer.param_groups:
            each["lr"] = rate * part
        target = torch.from_numpy(labels[group]).to(DEVICE)
        with torch.autocast(DEVICE, torch.bfloat16, enabled=BRAIN):
            out = model(*tensors(coded, group))
        out = out.float()
        loss = functional.cross_entropy(out, target, label_smoothing=0.05)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        if step % 200 == 0:
            print(f"step {step}/{steps} loss {float(loss):.3f} {time.monotonic() - started:.0f} s", flush=True)
            if saved is not None:
                torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}, saved)
    print(f"trained {steps} steps in {time.monotonic() - started:.0f} s", flush=True)


def report(name: str, rows: list[dict[str, Any]], scores: np.ndarray) -> None:
    """Print accuracy by set, and precision and recall of both verdicts."""
    guessed = scores.argmax(1)
    wanted = np.array([LABELS.index(row["label"]) for row in rows])
    sets = sorted({row["set"] for row in rows})
    for each in [*sets, "all"]:
        chosen = np.array([each in ("all", row["set"]) for row in rows])
        line = f"{name} {each} n={chosen.sum()} acc={float((guessed == wanted)[chosen].mean()):.3f}"
        for label in (0, 1):
            right = ((guessed == label) & (wanted == label) & chosen).sum()
            line += f" {LABELS[label][:4]} p={right / max(1, ((guessed == label) & chosen).sum()):.2f} r={right / max(1, ((wanted == label) & chosen).sum()):.2f}"
        print(line, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--tokenizer", type=Path, required=True)
    parser.add_argument("--epochs", type=float, default=3)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--tokens", type=int, default=16384, help="in a batch, with padding")
    parser.add_argument("--steps", type=int, default=0, help="at most")
    parser.add_argument("--most", type=int, default=0, help="rows, to try")
    options = parser.parse_args()
    torch.manual_seed(13)
    torch.backends.cuda.matmul.allow_tf32 = True
    tokenizer = Tokenizer.from_file(str(options.tokenizer))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    with gzip.open(options.rows, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    if options.most:
        rows = random.Random(1).sample(rows, options.most)
    began = time.monotonic()
    coded = encoded(rows, tokenizer)
    print(
        f"{len(rows)} rows encoded in {time.monotonic() - began:.0f} s, {sum(len(ids) for ids, _ in coded) / len(coded):.0f} tokens a row",
        flush=True,
    )
    kept = [n for n, row in enumerate(rows) if not row["held"]]
    held = [n for n, row in enumerate(rows) if row["held"]]
    options.out.mkdir(parents=True, exist_ok=True)
    labels = np.array([LABELS.index(rows[n]["label"]) for n in kept])
    model = Judge(options.base).to(DEVICE)
    train(
        model,
        [coded[n] for n in kept],
        labels,
        epochs=options.epochs,
        rate=options.rate,
        tokens=options.tokens,
        saved=options.out / "training.pt",
        most=options.steps,
    )
    packed(model.state_dict(), options.out / "weights.npz")
    model.load_state_dict(unpacked(options.out / "weights.npz"), strict=False)  # as it will run
    scores = logits(model, [coded[n] for n in held])
    report(options.out.name, [rows[n] for n in held], scores)
    kinds = [{**rows[n], "set": rows[n]["kind"].replace(", asked", "?") or rows[n]["set"]} for n in held]
    report("kind", kinds, scores)
    np.savez_compressed(options.out / "held.npz", scores=scores.astype(np.float16), places=np.array(held))


if __name__ == "__main__":
    main()
