"""Training: what fits a model or the bounds of a strategy to questions of your own.

`reader` makes models for the reader `embedded`, `evaluator` for the evaluator `t5`, and `cascade` fits the strategy of
that name. Only the commands `rqa train` and `rqa evaluator` import this package.
"""
