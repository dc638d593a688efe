"""Batches of texts for engines that pad a batch to its longest text."""

from __future__ import annotations

from collections.abc import Sequence


def even_batches(lengths: Sequence[int], tokens: int, workers: int) -> list[list[int]]:
    """Group texts of similar length. Return the positions of the texts in each group, the largest group first.

    With padding, a group has at most `tokens` tokens; a longer text is a group of one. The number of groups is about
    a multiple of `workers`, so that all workers finish at the same time.
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
