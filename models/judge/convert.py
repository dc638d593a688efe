"""Write a trained judge for CTranslate2: PYTHONPATH=models python -m judge.convert TRAINED BASE TOKENIZER FOLDER [TEMPERATURE]

TRAINED is the folder that judge.train wrote, BASE its encoder's, and FOLDER the new model folder.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
from pathlib import Path

import msgspec
import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import AutoConfig, BertModel

from rqa_embedded.engine import CHECKSUMS, file_digest
from rqa_embedded.judging import Settings
from rqa_train.conversion import bert, write

from .train import CLAIM, LENGTH, unpacked


def main(trained: str, base: str, tokenizer: str, folder: str, temperature: str = "1.0", *answer: str) -> None:
    state, out = unpacked(Path(trained, "weights.npz")), Path(folder)
    encoder = BertModel(AutoConfig.from_pretrained(base)).eval()
    for parameter in encoder.pooler.parameters():
        torch.nn.init.zeros_(parameter)  # nothing reads it
    encoder.load_state_dict(
        {name.removeprefix("encoder."): value for name, value in state.items() if name.startswith("encoder.")},
        strict=False,
    )
    tokens = sorted(Tokenizer.from_file(tokenizer).get_vocab().items(), key=lambda item: item[1])
    write(bert(encoder, [token for token, _ in tokens]), out, "int8")
    np.savez(out / "heads.npz", weight=state["head.weight"].numpy(), bias=state["head.bias"].numpy())
    shutil.copy(tokenizer, out / "tokenizer.json")
    weights = tuple(map(float, answer)) if answer else (0.0, 1.0, 0.0)
    settings = Settings(LENGTH, CLAIM, float(temperature), weights)  # type: ignore[arg-type]
    digest = hashlib.sha256(msgspec.json.encode(settings)).hexdigest()
    named = msgspec.structs.replace(settings, identity=f"{file_digest(out / 'model.bin')[:16]}-{digest[:8]}")
    (out / "judge.json").write_bytes(msgspec.json.format(msgspec.json.encode(named), indent=2) + b"\n")
    files = sorted(
        path.name for path in out.iterdir() if path.suffix in {".bin", ".npz", ".json"} and path.name != CHECKSUMS
    )
    (out / CHECKSUMS).write_text(json.dumps({name: file_digest(out / name) for name in files}, indent=2) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
