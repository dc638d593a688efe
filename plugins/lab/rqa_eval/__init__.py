"""`rqa eval` and `rqa compare` measure strategies; `rqa report` shows the results."""
