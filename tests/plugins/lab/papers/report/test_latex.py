"""`rqa report` for LaTeX."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Rqa = Callable[..., Any]
TEX_NAME = r"a_b & 50% of $x$ \input{x} #1 ~^ <y>"


@pytest.fixture
def tex(rqa: Rqa, run: Path) -> Path:
    """The report as LaTeX, with a strategy whose name has every special character."""
    text = (run / "metrics.json").read_text().replace('"rag"', json.dumps(TEX_NAME))
    (run / "metrics.json").write_text(text)
    plan = (run / "run.json").read_text().replace('"rag"', json.dumps(TEX_NAME))
    (run / "run.json").write_text(plan)
    out = run.parent / "table.tex"
    ended = rqa("report", run, "-o", out)
    assert ended.code == 0, ended.err
    return out


def test_tables_in_latex_have_rules_of_booktabs_and_as_many_cells_as_columns(tex: Path) -> None:
    tables = re.findall(r"\\begin\{tabular\}\{([lr]+)\}\n\\toprule\n(.*?)\n\\bottomrule", tex.read_text(), re.DOTALL)
    assert tables
    for columns, body in tables:
        head, *lines = body.replace("\\midrule\n", "").splitlines()
        assert {len(re.split(r"(?<!\\)&", line)) for line in (head, *lines)} == {len(columns)}
        assert all(line.endswith(r" \\") for line in lines)


def test_names_are_escaped_in_latex(tex: Path) -> None:
    escaped = r"a\_b \& 50\% of \$x\$ \textbackslash{}input\{x\} \#1 \textasciitilde{}\textasciicircum{} "
    assert escaped in tex.read_text() and r"\input{" not in tex.read_text()


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="needs pdflatex")
def test_latex_compiles_the_tables(tex: Path) -> None:
    packages = r"\usepackage[T1]{fontenc}\usepackage{booktabs}"
    whole = rf"\documentclass{{article}}{packages}\begin{{document}}\input{{{tex.name}}}\end{{document}}"
    (tex.parent / "whole.tex").write_text(whole)
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "whole.tex"]
    ended = subprocess.run(command, cwd=tex.parent, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stdout[-2000:]
