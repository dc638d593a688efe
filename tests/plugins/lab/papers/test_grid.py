"""`rqa grid`: one table over readers, numbers of passages, seeds and strategies."""

import json
from pathlib import Path
from typing import Any

from standins.openai import serve

ROWS = [
    {"question": f"Who built bridge {n}?", "answers": ["Ada"], "passages": ["Ada did." if n % 2 else "Bo did.", "No."]}
    for n in range(6)
]


def test_a_grid_is_one_table_and_continues_where_it_ended(rqa: Any) -> None:
    Path("rows.jsonl").write_text("\n".join(map(json.dumps, ROWS)))

    def says(answer: str) -> Any:
        return lambda body, n: f"<<<ANSWER>>> {answer} <<</ANSWER>>>"

    with serve(says("Ada")) as good, serve(says("Bo")) as bad:
        tables = "".join(
            f'[reader.{name}]\nplugin = "openai"\nmodel = "m"\nbase_url = "{server.url}"\n'
            for name, server in (("good", good), ("bad", bad))
        )
        Path("rqa.toml").write_text(f'[defaults]\nreader = "good"\n[cache]\nenabled = false\n{tables}')
        grid = ("--readers", "good,bad", "-k", "1,2", "--seeds", "0,1", "-s", "rag,norag", "-o", "grid")
        command = ("grid", "rows.jsonl", *grid, "--report", "grid.tex", "--", "--sample", "4", "--metrics", "contains")
        ended = rqa(*command)
        assert ended.code == 0, ended.err
        calls = good.count + bad.count
        shown = ended.out.rpartition("Grid, means over 2 seeds")[2]
        rows = [line.split()[:4] for line in shown.splitlines() if line.strip().startswith(("good", "bad"))]
        expected = [(reader, k, name) for k in "12" for reader in ("good", "bad") for name in ("rag", "norag")]
        assert sorted(rows) == sorted([*key, "100.0" if key[0] == "good" else "0.0"] for key in expected)
        assert rqa(*command).code == 0
        assert good.count + bad.count == calls  # nothing was asked again
    assert {folder.name for folder in Path("grid").iterdir()} == {"k1-seed0", "k1-seed1", "k2-seed0", "k2-seed1"}
    assert r"\begin{tabular}" in Path("grid.tex").read_text()
