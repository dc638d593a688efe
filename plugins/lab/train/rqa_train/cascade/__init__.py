"""Fit the bounds of the strategy `cascade` to a run of `rqa eval`."""
