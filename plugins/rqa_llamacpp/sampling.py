"""Choosing the next token: greedily or at random, freely or within a JSON schema."""

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
    """How to choose: greedily at temperature 0; `grammar` is GBNF, empty for free text."""

    temperature: float = 0.0
    seed: int = 0
    grammar: str = ""


def grammar(schema: Mapping[str, Any]) -> str:
    """The GBNF grammar of the JSON that satisfies `schema`. Raises PluginError when there is none."""
    from llama_cpp.llama_grammar import json_schema_to_gbnf

    try:
        rules = str(json_schema_to_gbnf(json.dumps(_one_type_each(schema))))
    except Exception as error:  # the converter asserts, indexes and looks up as it goes
        raise PluginError(f"A reply's JSON schema cannot be turned into a grammar: {error!r}.") from error
    return rules.replace(r'[^"\\]', r'[^"\\\x00-\x1F]')  # JSON has no bare control characters in strings


def _one_type_each(schema: Any) -> Any:
    """`schema` with lists of types written as alternatives: the converter forgets what else stands beside one."""
    if isinstance(schema, Mapping):
        plain = {key: _one_type_each(value) for key, value in schema.items()}
        types = plain.get("type")
        return {"anyOf": [{**plain, "type": one} for one in types]} if isinstance(types, list) else plain
    return [_one_type_each(item) for item in schema] if isinstance(schema, list | tuple) else schema


class Sampler:
    """The choices of one reply, in order.

    Under a grammar the free choice is tried first and kept if the grammar allows it, as it does for most
    tokens of a model that knows JSON. Sifting the whole vocabulary takes over 100 ms a token at 150,000 entries.
    """

    def __init__(self, vocabulary: Any, sampling: Sampling) -> None:
        self._free = _chain(sampling)
        self._bound: Any = None
        if sampling.grammar:
            rule = lib.llama_sampler_init_grammar(vocabulary, sampling.grammar.encode(), b"root")
            if not rule:
                self.close()
                raise PluginError("llama.cpp does not accept the grammar of a reply's JSON schema.")
            self._bound = _chain(sampling, rule)

    def choose(self, context: Any) -> int:
        """The token to follow what `context` has read."""
        token: int = lib.llama_sampler_sample(self._free, context, -1)
        if self._bound and self._allows(token):
            lib.llama_sampler_accept(self._bound, token)
        elif self._bound:
            token = lib.llama_sampler_sample(self._bound, context, -1)
        return token

    def _allows(self, token: int) -> bool:
        candidate = lib.llama_token_data(token, 1.0, 0.0)
        candidates = lib.llama_token_data_array(ctypes.pointer(candidate), 1, -1, False)
        lib.llama_sampler_apply(lib.llama_sampler_chain_get(self._bound, 0), ctypes.byref(candidates))
        return not math.isinf(candidate.logit)

    def close(self) -> None:
        """Free the samplers."""
        for chain in (self._free, self._bound):
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
            lib.llama_sampler_init_dist(sampling.seed & 0x7FFFFFFF),  # the all-ones seed means a random one
        ]
    for link in (*first, *links):
        lib.llama_sampler_chain_add(chain, link)
    return chain
