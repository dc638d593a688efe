"""Draw the README's picture from a real run of `rqa ask`, and one for phones.

python benchmarks/picture.py [RQA]     # from the checkout; writes benchmarks/picture.svg and picture-narrow.svg
"""

from __future__ import annotations

import io
import os
import pty
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[1]
WIDTHS = {"picture.svg": 90, "picture-narrow.svg": 44}  # characters
COMMAND = 'rqa ask --docs examples/harbour "When was the lighthouse at Skerry Point built?"'


def run(rqa: str, width: int) -> str:
    """Return the output of the command on a terminal, with colours, without the user's configuration and files."""
    screen, terminal = pty.openpty()
    with tempfile.TemporaryDirectory() as folder:
        private = {f"RQA_{name}_DIR": folder for name in ("CONFIG", "DATA", "CACHE")}
        private["RQA_HISTORY__ENABLED"] = "false"
        variables = {**os.environ, **private, "FORCE_COLOR": "1", "COLUMNS": str(width)}
        command = [rqa, *shlex.split(COMMAND)[1:]]
        subprocess.run(command, cwd=ROOT, env=variables, check=True, stdout=terminal, stderr=subprocess.DEVNULL)
    os.close(terminal)
    return os.read(screen, 1 << 16).decode().replace("\r", "")


def draw(printed: str, width: int) -> str:
    """Return the command and its output as an SVG."""
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True, highlight=False)
    console.print(Text(f"$ {COMMAND}", style="bold green"))
    console.print(Text.from_ansi(printed.rstrip()))
    svg = console.export_svg(title="rqa", unique_id="rqa")
    # An image in a page cannot load fonts, so use the reader's monospace font.
    return re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)


if __name__ == "__main__":
    for name, width in WIDTHS.items():
        (ROOT / "benchmarks" / name).write_text(draw(run((sys.argv[1:] or ["rqa"])[0], width), width), "utf-8")
