"""Kill a batch with signal 9 at random moments, resume it each time, and compare with an undisturbed run.

    python benchmarks/kill_resume.py [--kills 50] [--rows 4000] [--seed 1]

After every kill, everything written before must still be there, byte for byte. In the end no row may be missing,
written twice or torn, and every answer must be the same as in the undisturbed run. The endpoint's calls beyond one a
row are answers that were lost by a kill before they were written.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from calls import RQA, write_rows
from endpoint import calls, running


def command(rows: Path, out: Path, url: str, *more: str) -> list[str]:
    settings = {"plugin": "openai", "base_url": url, "model": "benchmark"}
    options = [part for key, value in settings.items() for part in ("-O", f"reader.bench.{key}={value}")]
    batch = ["-q", "batch", str(rows), "-o", str(out), "-s", "rag", "--reader", "bench", "-j", "16", "--no-cache"]
    return [*RQA, *batch, *options, *more]


def seconds(arguments: list[str]) -> float:
    """Return the wall time of the command."""
    began = time.perf_counter()
    subprocess.run(arguments, check=True)
    return time.perf_counter() - began


def whole_lines(out: Path) -> bytes:
    """Return the content of the file up to its last line feed."""
    content = out.read_bytes() if out.exists() else b""
    return content[: content.rfind(b"\n") + 1]


def answers(out: Path) -> list[dict[str, Any]]:
    """Return the rows without the fields that differ between runs."""
    rows = [json.loads(line) for line in out.read_bytes().splitlines()]
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    chance = random.Random(asked.seed)
    with tempfile.TemporaryDirectory() as folder, running(0.02) as url:
        rows, alone, out = (Path(folder) / name for name in ("rows.jsonl", "alone.jsonl", "out.jsonl"))
        write_rows(rows, 1)
        start_up = seconds(command(rows, alone, url))
        write_rows(rows, asked.rows)
        work = seconds(command(rows, alone, url, "--force")) - start_up
        before, kept, torn = calls(url), b"", 0
        for _ in range(asked.kills):
            process = subprocess.Popen(command(rows, out, url, "--resume"))
            time.sleep(chance.uniform(start_up / 2, start_up + 1.4 * work / asked.kills))
            process.kill()
            assert process.wait() != 0, "the run ended before the last kill: give more rows"
            now = whole_lines(out)
            assert now.startswith(kept), "a line that was written has changed"
            torn += out.exists() and out.stat().st_size > len(now)
            kept = now
        left = asked.rows - kept.count(b"\n")
        subprocess.run(command(rows, out, url, "--resume"), check=True)
        made = calls(url) - before
        expected, found = answers(alone), answers(out)
        assert [row["row"] for row in found] == list(range(1, asked.rows + 1)), "a row is missing, or there twice"
        assert found == expected, "an answer differs"
    print(
        f"{asked.kills} kills of a run of {asked.rows} rows, {left} of them after the last kill; {torn} tore a line: "
        f"no row lost, none twice, none torn; {made - asked.rows} calls made again"
    )


if __name__ == "__main__":
    main()
