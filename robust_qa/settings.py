"""Option types that the host treats with care."""

from __future__ import annotations

from typing import NewType

Url = NewType("Url", str)
"""An endpoint. A configuration that nobody vouched for may point it at this machine only."""
