"""Compare the speed of the evaluator `t5` (int8 on CTranslate2) with torch in fp32, and measure the host's overhead.

    python benchmarks/evaluator_speed.py                             # shapes of t5-small and t5-base, random weights
    python benchmarks/evaluator_speed.py --checkpoint OUT/torch      # and a checkpoint, such as the packaged one

Pairs are synthetic, about 145 tokens each, from one seed. The two engines take turns, so other work on the machine
slows both. Both use the same number of cores. A figure is the median over the rounds, in pairs a second; the ratio is
the median of the rounds' ratios. `--questions N` also scores N questions with 10 passages each, in turns through the
host, as a batch does, and in one call of the engine alone. Needs `[train]`.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers

from robust_qa.answering.session import Session
from robust_qa.config import layers as config
from robust_qa.host.loading import Host
from rqa_t5.engine import Engine
from rqa_t5.folder import Settings
from rqa_t5.pairs import LABEL_TEMPLATE
from rqa_train.evaluator.checkpoints import Checkpoint, load
from rqa_train.evaluator.conversion import convert

SIZES = {  # width, layers, heads, feed-forward width
    "tiny": (64, 2, 2, 128),
    "t5-small": (512, 6, 8, 2048),
    "t5-base": (768, 12, 12, 3072),
}
VOCABULARY = 32_128
PASSAGES = 10
WORDS = [f"w{n}" for n in range(20_000)]

Pairs = list[tuple[str, str]]


def checkpoint(size: str) -> Checkpoint:
    """Return a label T5 of that size with random weights. Each word is a token."""
    width, layers, heads, inner = SIZES[size]
    pieces = ["<pad>", "</s>", "<unk>", "▁true", "▁false", *(f"▁{word}" for word in WORDS)]
    tokenizer = Tokenizer(models.WordLevel({piece: n for n, piece in enumerate(pieces)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    config = transformers.T5Config(
        vocab_size=VOCABULARY, d_model=width, d_kv=width // heads, d_ff=inner, num_layers=layers, num_heads=heads,
        pad_token_id=0, eos_token_id=1, decoder_start_token_id=0,
    )  # fmt: skip
    torch.manual_seed(0)
    model = transformers.T5ForConditionalGeneration(config).eval()
    return Checkpoint(
        size, model, tokenizer, Settings(shape="label", template=LABEL_TEMPLATE, labels=("▁true", "▁false"))
    )


def texts(count: int, seed: int, source: Checkpoint) -> Pairs:
    """Return questions of ten words, each with PASSAGES passages of 90 to 170. A word is one token to `source`."""
    rng = random.Random(seed)
    tokens = source.tokenizer.get_vocab()
    whole = [token[1:] for token in tokens if token.startswith("▁")] or tokens  # BERT's tokens have no mark
    words = sorted(word for word in whole if len(word) > 2 and word.isalnum())
    drawn: Pairs = []
    while len(drawn) < count:
        question = " ".join(rng.choices(words, k=10))
        drawn += [(question, " ".join(rng.choices(words, k=rng.randint(90, 170)))) for _ in range(PASSAGES)]
    return drawn[:count]


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def by_torch(source: Checkpoint, pairs: Pairs) -> None:
    """Score with torch as transformers is commonly used: in fp32, each batch padded to its longest pair."""
    pairing = source.pairing()
    with torch.inference_mode():
        source.logits([pairing.pair(question, text) for question, text in pairs])


def compare(name: str, source: Checkpoint, folder: Path, given: argparse.Namespace) -> None:
    torch.set_num_threads(given.threads)
    with closing(Engine(folder, given.threads)) as engine:
        for batch in given.batches:
            pairs = texts(batch, batch, source)
            by_torch(source, pairs)
            engine.score(pairs)
            rounds = [
                (seconds(lambda: by_torch(source, pairs)), seconds(lambda: engine.score(pairs)))  # noqa: B023
                for _ in range(given.rounds)
            ]
            one, other = (statistics.median(batch / taken[n] for taken in rounds) for n in (0, 1))
            ratio = statistics.median(taken[0] / taken[1] for taken in rounds)
            print(f"{name[:14]:14} {batch:5}  {one:10.1f} {other:10.1f}  {ratio:5.2f}", flush=True)


async def through_the_host(folder: Path, pairs: Pairs, threads: int) -> float:
    overrides = [
        ("defaults.evaluator", "t5"),
        ("evaluator.t5.model", str(folder)),
        ("evaluator.t5.threads", str(threads)),
        ("cache.enabled", "false"),
    ]
    async with Session(config.load(overrides=overrides), Host.from_environment()) as session:
        toolbox = session.toolbox("evaluator")
        await toolbox.score("warm", ["up"])
        requests = [pairs[n : n + PASSAGES] for n in range(0, len(pairs), PASSAGES)]
        began = time.perf_counter()
        await asyncio.gather(*(toolbox.score(of[0][0], [text for _, text in of]) for of in requests))
        return time.perf_counter() - began


def end_to_end(name: str, source: Checkpoint, folder: Path, given: argparse.Namespace) -> None:
    pairs = texts(given.questions * PASSAGES, 7, source)
    bare, hosted = [], []
    with closing(Engine(folder, given.threads)) as engine:
        engine.score(pairs[:10])
        for _ in range(max(1, given.rounds // 5)):
            bare.append(len(pairs) / seconds(lambda: engine.score(pairs)))
            hosted.append(len(pairs) / asyncio.run(through_the_host(folder, pairs, given.threads)))
    share = statistics.median(one / other for one, other in zip(hosted, bare, strict=True))
    print(
        f"{name}: {given.questions} questions x {PASSAGES}: engine {statistics.median(bare):.1f} pairs/s, "
        f"through the host {statistics.median(hosted):.1f} ({100 * share:.1f} %)",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="*", choices=SIZES, default=["t5-small", "t5-base"])
    parser.add_argument("--checkpoint", action="append", default=[], metavar="FOLDER")
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 10, 64])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--questions", type=int, default=0, help="also measure end to end with N questions")
    given = parser.parse_args()
    print("model          batch  torch fp32       int8  ratio   (pairs/s)")
    sources = [checkpoint(size) for size in given.sizes] + [load(name) for name in given.checkpoint]
    with tempfile.TemporaryDirectory() as folder:
        for number, source in enumerate(sources):
            out = Path(folder) / str(number)
            convert(source, out)
            name = Path(source.name).name
            compare(name, source, out, given)
            if given.questions:
                end_to_end(name, source, out, given)


if __name__ == "__main__":
    main()
