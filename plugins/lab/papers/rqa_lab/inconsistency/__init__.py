"""`rqa inconsistency`: how the strategies of a run, or the retrievers of an ensemble, disagree."""
