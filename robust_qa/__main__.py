"""`python -m robust_qa`: the same as `rqa`."""

import sys
from pathlib import Path

if sys.path and sys.path[0] == str(Path.cwd()):
    # Python puts the working directory there, and what a stranger left in it is no plugin.
    del sys.path[0]

from .cli import main

main()
