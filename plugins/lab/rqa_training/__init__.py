"""Training: fit a model, or the bounds of a strategy, to questions of your own.

`reader` makes models for the reader `embedded`, and `evaluator` for the evaluator `t5`. They share the training loop
(loop.py), the conversion to CTranslate2, the model card and the metrics. `cascade` fits the strategy of that name. Only
the commands `rqa train` and `rqa evaluator` import this package.
"""
