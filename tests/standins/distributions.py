"""Real distributions on the path: what pip leaves behind, without pip."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write_distribution(
    folder: Path, name: str, modules: Mapping[str, str], *, entry_points: str | None = None, version: str = "1.0"
) -> Path:
    """A distribution in `folder` (which is to be put on the path): modules by name, and their metadata.

    `entry_points` is the text of entry_points.txt; by default one of the group rqa for each module, of its name.
    """
    metadata = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", "utf-8")
    if entry_points is None:
        entry_points = "\n".join(["[rqa]", *(f"{module} = {module}" for module in modules)])
    (metadata / "entry_points.txt").write_text(entry_points, "utf-8")
    for module, source in modules.items():
        (folder / f"{module}.py").write_text(source, "utf-8")
    return folder


def plugin_source(kind: str, *names: str, before: str = "", after: str = "") -> str:
    """A plugin that registers empty components of `kind`, with code `before` and `after` that in its hook."""
    return "\n".join(
        (
            "from robust_qa import hookimpl",
            "class Nothing:",
            "    'Does nothing.'",
            "    needs = frozenset()",
            "@hookimpl",
            "def rqa_register(registry):",
            f"    {before or 'pass'}",
            *(f"    registry.{kind}({name!r}, Nothing)" for name in names),
            f"    {after or 'pass'}",
            "",
        )
    )
