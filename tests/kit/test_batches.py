"""Batches of texts for the workers of an engine."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robust_qa.kit import even_batches


@given(st.lists(st.integers(1, 3000)), st.integers(1, 9))
def test_each_text_is_in_one_batch_which_holds_so_many_tokens(lengths: list[int], workers: int) -> None:
    groups = even_batches(lengths, 512, workers)
    assert sorted(n for group in groups for n in group) == list(range(len(lengths)))
    assert all(len(group) == 1 or len(group) * max(lengths[n] for n in group) <= 512 for group in groups)


@pytest.mark.parametrize(("count", "workers"), [(1, 4), (4, 2), (10, 2), (10, 4), (3, 16)])
def test_a_few_texts_are_dealt_to_all_workers(count: int, workers: int) -> None:
    groups = even_batches([16] * count, 512, workers)
    assert len(groups) >= min(count, workers)
    assert max(map(len, groups)) == -(-count // workers)


@pytest.mark.parametrize(("length", "tokens"), [(145, 512), (256, 1024)])
def test_ten_passages_keep_two_workers_busy_to_the_end(length: int, tokens: int) -> None:
    done = [0, 0]
    for group in even_batches([length] * 10, tokens, 2):
        done[done.index(min(done))] += len(group)  # who is free takes the next
    assert done == [5, 5]


def test_texts_of_like_length_are_together() -> None:
    lengths = [5, 100, 7, 90, 6, 300]
    groups = sorted(([lengths[n] for n in group] for group in even_batches(lengths, 200, 2)), key=max, reverse=True)
    assert all(min(longer) >= max(shorter) for longer, shorter in pairwise(groups))
    assert even_batches([], 200, 2) == []
