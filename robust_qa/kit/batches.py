"""Batches of texts for engines that pad a batch to its longest text."""

from __future__ import annotations

from collections.abc import Sequence


def even_batches(lengths: Sequence[int], tokens: int, workers: int) -> list[list[int]]:
    """Positions in groups of like length, of at most `tokens` each, padding included; one that is longer is alone.

    There are as many groups as give every worker the same share of few texts, and the largest come first: a worker
    that is left with one more than the others makes all wait.
    """
    least = -(-sum(lengths) // tokens)
    share = sum(lengths) / max(1, -(-least // workers) * workers)
    groups: list[list[int]] = []
    grouped = 0
    for n in sorted(range(len(lengths)), key=lambda n: -lengths[n]):
        group = groups[-1] if groups else []
        if group and grouped < share * len(groups) and (len(group) + 1) * lengths[group[0]] <= tokens:
            group.append(n)
        else:
            groups.append([n])
        grouped += lengths[n]
    return sorted(groups, key=lambda group: -len(group) * lengths[group[0]])
