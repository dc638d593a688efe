"""Batches of texts for the workers of an engine."""

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
