"""Formats of data: tables, rows, JSON, workbooks and notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from robust_qa import hookimpl

if TYPE_CHECKING:
    from robust_qa import Registry


@hookimpl
def rqa_register(registry: Registry) -> None:
    """Register the formats of data."""
    add = registry.format
    add("jsonl", read="rqa_data.rows:read_jsonl", suffixes="jsonl|ndjson")
    add("table", read="rqa_data.rows:read_delimited", suffixes="csv|tsv")
    add("json", read="rqa_data.structured:read_json_file", suffixes="json|geojson")
    add("xml", read="rqa_data.xml:read_xml", suffixes="xml")
    add("sql", read="rqa_data.sql:read_sql", suffixes="sql")
    add("notebook", read="rqa_data.structured:read_notebook", suffixes="ipynb")
    add(
        "workbook",
        read="rqa_data.rows:read_workbook",
        suffixes="xlsx|xlsm",
        magic=rb"PK\x03\x04",
        opens="rqa_data.rows:is_workbook",
    )
