"""`rqa models`: list and pull."""

from __future__ import annotations

import json
from typing import Any

import click

_GB = 10**9


@click.group(epilog="Example: rqa models pull qwen3-4b-2507")
def models() -> None:
    """List and download models for the reader llamacpp."""


@models.command("list", epilog="Example: rqa models list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def list_models(as_json: bool) -> None:
    """List pulled models, and known models that have a short name."""
    from . import library
    from .gguf_files import parts

    root = library.folder()
    here: dict[str, int] = {}
    for name in library.pulled(root):
        first = root / name
        whole = [first.with_name(part) for part in parts(first.name)]
        here[name] = sum(part.stat().st_size for part in whole if part.exists())
    known = [
        {
            "name": entry.name,
            "repo": entry.repo,
            "file": entry.file,
            "size_gb": entry.size,
            "memory_gb": entry.memory,
            "licence": entry.licence,
            "pulled": f"{entry.repo}/{entry.file}" in here,
        }
        for entry in library.CATALOGUE.values()
    ]
    pulled = [{"model": _option(name), "path": str(root / name), "bytes": size} for name, size in here.items()]
    if as_json:
        click.echo(json.dumps({"folder": str(root), "pulled": pulled, "known": known}))
    else:
        _print_tables(str(root), pulled, known)


def _option(name: str) -> str:
    """Return the value of the option `model` for the pulled OWNER/REPO/FILE."""
    from .library import CATALOGUE

    short = (entry.name for entry in CATALOGUE.values() if f"{entry.repo}/{entry.file}" == name)
    return next(short, "/".join(name.split("/", 2)[:2]) + ":" + name.split("/", 2)[-1])


def _print_tables(root: str, pulled: list[dict[str, Any]], known: list[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    from robust_qa.cli import console
    from robust_qa.kit import printable

    out = console()
    if pulled:
        table = Table(
            "model", "GB", title=Text(f"Pulled, in {printable(root)}"), title_justify="left", box=None, pad_edge=False
        )
        for row in pulled:
            table.add_row(Text(printable(row["model"])), f"{row['bytes'] / _GB:.2f}")
        out.print(table)
    title = "Known models (approximate sizes; memory at a window of 8,192 tokens)"
    table = Table("name", "GB", "memory GB", "licence", title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("repository", overflow="fold")  # never truncated, so that it can be copied
    for row in known:
        mark = " (pulled)" if row["pulled"] else ""
        table.add_row(row["name"] + mark, str(row["size_gb"]), str(row["memory_gb"]), row["licence"], row["repo"])
    out.print(table)


@models.command(epilog="Example: rqa models pull unsloth/Qwen3.5-2B-GGUF:q5_k_m")
@click.argument("model")
def pull(model: str) -> None:
    """Download a model from the Hugging Face hub.

    MODEL is a name from `rqa models list`, or OWNER/REPO, OWNER/REPO:FILE or OWNER/REPO:QUANTISATION. Run the
    command again to resume an interrupted download. Uses HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE.
    """
    from robust_qa.kit import printable

    from . import hub, library

    path = hub.fetch(library.parse(model), lambda line: click.echo(line, err=True))
    name = _option(path.relative_to(library.folder()).as_posix())
    click.echo(f"{printable(str(path))} is ready. To use it, add to your configuration:\n")
    click.echo(f'[reader.local]\nplugin = "llamacpp"\nmodel = {json.dumps(name, ensure_ascii=False)}\n')
    click.echo('Then ask:\n\n  rqa ask --reader local "Who wrote Moby-Dick?"')
