"""Samples the next token, greedily or at random, with or without a JSON schema."""

from __future__ import annotations

import ctypes
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import llama_cpp

from robust_qa import PluginError

lib: Any = llama_cpp  # ctypes all through


@dataclass(frozen=True, slots=True)
class Sampling:
    """Temperature (0: greedy), seed, and a GBNF grammar ("": free text)."""

    temperature: float = 0.0
    seed: int = 0
    grammar: str = ""


def grammar(schema: Mapping[str, Any]) -> str:
    """Return the GBNF grammar for `schema`. Raises PluginError if it cannot be converted."""
    from llama_cpp.llama_grammar import json_schema_to_gbnf

    try:
        rules = str(json_schema_to_gbnf(json.dumps(_one_type_each(schema))))
    except Exception as error:  # the converter may raise anything
        raise PluginError(f"Cannot convert the JSON schema of a reply to a grammar: {error!r}.") from error
    return rules.replace(r'[^"\\]', r'[^"\\\x00-\x1F]')  # JSON strings contain no control characters


def _one_type_each(schema: Any) -> Any:
    """Return `schema` with lists of types as `anyOf`: the converter ignores other keywords next to such a list."""
    if isinstance(schema, Mapping):
        plain = {key: _one_type_each(value) for key, value in schema.items()}
        types = plain.get("type")
        return {"anyOf": [{**plain, "type": one} for one in types]} if isinstance(types, list) else plain
    return [_one_type_each(item) for item in schema] if isinstance(schema, list | tuple) else schema


class Sampler:
    """Samples the tokens of one reply.

    With a grammar, it first samples freely and keeps the token if the grammar allows it, which is usual for JSON.
    Applying the grammar to a vocabulary of 150,000 tokens takes over 100 ms a token.
    """

    def __init__(self, vocabulary: Any, sampling: Sampling) -> None:
        self._free = _chain(sampling)
        self._constrained: Any = None
        if sampling.grammar:
            rule = lib.llama_sampler_init_grammar(vocabulary, sampling.grammar.encode(), b"root")
            if not rule:
                self.close()
                raise PluginError("llama.cpp rejected the grammar for the JSON schema of a reply.")
            self._constrained = _chain(sampling, rule)

    def choose(self, context: Any) -> int:
        """Return the next token."""
        token: int = lib.llama_sampler_sample(self._free, context, -1)
        if self._constrained and self._allows(token):
            lib.llama_sampler_accept(self._constrained, token)
        elif self._constrained:
            token = lib.llama_sampler_sample(self._constrained, context, -1)
        return token

    def _allows(self, token: int) -> bool:
        candidate = lib.llama_token_data(token, 1.0, 0.0)
        candidates = lib.llama_token_data_array(ctypes.pointer(candidate), 1, -1, False)
        lib.llama_sampler_apply(lib.llama_sampler_chain_get(self._constrained, 0), ctypes.byref(candidates))
        return not math.isinf(candidate.logit)

    def close(self) -> None:
        """Free the samplers."""
        for chain in (self._free, self._constrained):
            if chain:
                lib.llama_sampler_free(chain)


def _chain(sampling: Sampling, *first: Any) -> Any:
    chain = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
    if sampling.temperature <= 0:
        links = [lib.llama_sampler_init_greedy()]
    else:  # llama.cpp's own defaults
        links = [
            lib.llama_sampler_init_top_k(40),
            lib.llama_sampler_init_top_p(0.95, 1),
            lib.llama_sampler_init_min_p(0.05, 1),
            lib.llama_sampler_init_temp(sampling.temperature),
            lib.llama_sampler_init_dist(sampling.seed & 0x7FFFFFFF),  # llama.cpp treats 0xFFFFFFFF as a random seed
        ]
    for link in (*first, *links):
        lib.llama_sampler_chain_add(chain, link)
    return chain
