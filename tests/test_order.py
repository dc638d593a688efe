import pytest

from robust_qa.kit import arrange
from robust_qa.types import ORDERS, Order


@pytest.mark.parametrize(
    "order, expected",
    [
        ("descending", [1, 2, 3, 4, 5]),
        ("ascending", [5, 4, 3, 2, 1]),
        ("ping-pong-top", [1, 3, 5, 4, 2]),
        ("ping-pong-bottom", [2, 4, 5, 3, 1]),
    ],
)
def test_orders_of_table_8(order: Order, expected: list[int]) -> None:
    assert arrange([1, 2, 3, 4, 5], order) == expected


def test_random_order_is_the_same_for_the_same_seed_and_another_for_another() -> None:
    ranked = list(range(20))
    assert arrange(ranked, "random", 7) == arrange(ranked, "random", 7) != arrange(ranked, "random", 8)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("size", [0, 1, 2, 6])
def test_every_order_keeps_every_passage(order: Order, size: int) -> None:
    assert sorted(arrange(range(size), order, 3)) == list(range(size))
