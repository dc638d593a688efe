"""The rows of several files, as the engine numbers them."""

from pathlib import Path

import pytest

from rqa_rows import table_fields

pytest.importorskip("fsspec", reason="Ray is not installed: pip install -e '.[ray]'")

from rqa_ray.source import Rows


def test_tables_and_lines_are_numbered_over_all_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('question\n"Who\nelse?"\n"Who, then?"\n')
    (tmp_path / "b.jsonl").write_text('{"question": "When?"}\n')
    (tmp_path / "c.tsv").write_text("id\tquestion\n7\tWhere?\n")
    rows = list(Rows(str(tmp_path)))
    assert [number for number, _ in rows] == [2, 4, 5, 7]
    tables = [table_fields(row) for _, row in (rows[0], rows[1], rows[3])]
    assert tables == [{"question": "Who\nelse?"}, {"question": "Who, then?"}, {"id": "7", "question": "Where?"}]
    assert rows[2][1] == b'{"question": "When?"}'
