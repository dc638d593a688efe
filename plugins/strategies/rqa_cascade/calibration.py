"""Calibration: from the confidence that a step gives to the probability that its answer is right."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

Points = Sequence[Sequence[float]]  # of confidence and probability, ascending


def calibrated(points: Points, confidence: float) -> float:
    """Return the probability at that confidence, on the lines between the points."""
    place = bisect_right([point[0] for point in points], confidence)
    if place == 0 or place == len(points):
        return points[max(place - 1, 0)][1]
    (x0, y0), (x1, y1) = points[place - 1], points[place]
    return y0 + (y1 - y0) * (confidence - x0) / (x1 - x0)


def fit(confidences: Sequence[float], right: Sequence[float]) -> list[list[float]]:
    """Return the points of the best rising curve: pool adjacent violators (Ayer and others 1955)."""
    sums: dict[float, tuple[float, int]] = {}  # equal confidences are one block from the beginning
    for x, y in zip(confidences, right, strict=True):
        total, count = sums.get(x, (0.0, 0))
        sums[x] = total + y, count + 1
    blocks: list[tuple[float, float, int]] = []  # sums of confidence and right, and their number
    for x in sorted(sums):
        total, count = sums[x]
        block = x * count, total, count
        while blocks and blocks[-1][1] * block[2] >= block[1] * blocks[-1][2]:
            last = blocks.pop()
            block = last[0] + block[0], last[1] + block[1], last[2] + block[2]
        blocks.append(block)
    return [[round(x / count, 4), round(y / count, 4)] for x, y, count in blocks]
