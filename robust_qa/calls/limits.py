"""Options that the host reads in the table of every component: limits, timeout, retries and prices."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

from ..types import Kind, Usage

_BATCH_DISCOUNT = 0.5  # of a provider's batch API


@dataclass(frozen=True, slots=True)
class Limits:
    """The options that the host applies to every component."""

    concurrency: Annotated[int, Meta(ge=1)] | None = None  # concurrent calls; default: set by the component
    rpm: Annotated[float, Meta(gt=0)] | None = None  # requests a minute; default: no limit
    timeout: Annotated[float, Meta(ge=0)] | None = None  # seconds one attempt may take; 0: no limit
    retries: Annotated[int, Meta(ge=0)] = 4  # more attempts after a temporary failure
    prompt_price: Annotated[float, Meta(ge=0)] | None = None  # of a million prompt tokens, in a currency of your choice
    completion_price: Annotated[float, Meta(ge=0)] | None = None  # of a million completion tokens

    def cost(self, usage: Usage) -> float | None:
        """The price of the tokens in `usage`, None without prices. Calls in a provider's batch cost half."""
        if self.prompt_price is None and self.completion_price is None:
            return None
        prices = (self.prompt_price or 0.0) * usage.prompt_tokens + (
            self.completion_price or 0.0
        ) * usage.completion_tokens
        discount = _BATCH_DISCOUNT * usage.batched / usage.calls if usage.batched else 0.0
        return prices * (1.0 - discount) / 1e6


RESERVED = frozenset({"plugin", *(field.name for field in dataclasses.fields(Limits))})


def reserved(kind: Kind) -> frozenset[str]:
    """The option names that the host reads in tables of that kind. Strategies and engines have no limits.

    A component that has an option of the same name gets its value too.
    """
    return frozenset({"plugin"}) if kind in ("strategy", "engine") else RESERVED
