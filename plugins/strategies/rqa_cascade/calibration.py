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
