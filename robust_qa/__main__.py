"""`python -m robust_qa`: the same as `rqa`."""

from .cli import main

main()
