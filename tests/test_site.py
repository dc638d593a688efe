"""The documentation site builds without warnings, has everything that is public, and needs no other host."""

import os
import re
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from documentation import PAGES, ROOT, only_built_in  # noqa: F401

import robust_qa
from robust_qa import kit
from robust_qa.cli.reference import option_tables
from robust_qa.host.loading import Host

pytest.importorskip("mkdocs", reason="MkDocs builds the site: pip install -e '.[docs]'")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    variables = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return folder


def test_every_page_of_the_manual_is_in_the_reference(site: Path) -> None:
    reference = (site / "reference" / "index.html").read_text("utf-8")
    assert {page for page in PAGES if f">{page}</a>: " not in reference} == set()


def test_every_table_of_the_configuration_has_its_options(site: Path) -> None:
    page = (site / "reference" / "options" / "index.html").read_text("utf-8")
    assert {
        table.name for table in option_tables(Host.from_environment()) if f">[{table.name}]</code>" not in page
    } == set()


def test_every_public_name_has_its_docstring(site: Path) -> None:
    inventory = zlib.decompress((site / "objects.inv").read_bytes().split(b"\n", 4)[4]).decode()
    names = {line.split()[0].rpartition(".")[2] for line in inventory.splitlines()}
    public = {name for name in (*robust_qa.__all__, *kit.__all__) if not name.isupper()}  # constants have no docstrings
    assert public - names == {"__version__", "hookimpl"}


def test_the_pages_need_no_other_host(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text("utf-8")
        loaded = re.findall(r"<(?:link|script|img|iframe)\b[^>]*?\b(?:href|src)=[\"']?((?:https?:)?//[^\"'> ]+)", text)
        assert loaded == [], page
        assert 'class="mermaid"' not in text, page  # its script comes from another host
