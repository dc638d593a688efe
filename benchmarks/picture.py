"""Draw the README's picture from a real run of `rqa ask`.

python benchmarks/picture.py [RQA]     # from the checkout; writes benchmarks/picture.svg
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[1]
WIDTH = 90  # characters
COMMAND = 'rqa ask --docs examples/harbour "When was the lighthouse at Skerry Point built?"'


def run(rqa: str) -> str:
    """Return the output of the command on a terminal, with colours, without the user's configuration and files."""
    with tempfile.TemporaryDirectory() as folder:
        private = {f"RQA_{name}_DIR": folder for name in ("CONFIG", "DATA", "CACHE")}
        private["RQA_HISTORY__ENABLED"] = "false"
        variables = {**os.environ, **private, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH)}
        done = subprocess.run(
            [rqa, *shlex.split(COMMAND)[1:]], cwd=ROOT, env=variables, text=True, check=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip
    return done.stdout


def draw(printed: str) -> str:
    """Return the command and its output as an SVG."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, highlight=False)
    console.print(Text(f"$ {COMMAND}", style="bold green"), soft_wrap=True)
    console.print(Text.from_ansi(printed.rstrip()))
    svg = console.export_svg(title="rqa", unique_id="rqa")
    # An image in a page cannot load fonts, so use the reader's monospace font.
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


if __name__ == "__main__":
    (ROOT / "benchmarks" / "picture.svg").write_text(draw(run(*sys.argv[1:] or ["rqa"])), "utf-8")
