"""[trust]: weights of sources come from the configuration alone."""

from pathlib import Path

import pytest

from robust_qa import ConfigError, Passage
from robust_qa.config import trusted_files
from robust_qa.config.layers import Config, load, read
from robust_qa.config.source_trust import SourceTrust, build
from rqa_rows.rows import parse_row

TABLE = """
[trust]
"example.org" = 2.0
"low.example.org" = 0.5
"handbook/" = 1.5
"handbook/old" = 0.1
"*.draft.md" = 0.2
"https://blog.example/*" = 0.3
"""


@pytest.fixture
def weights(tmp_path: Path) -> SourceTrust:
    (tmp_path / "rqa.toml").write_text(TABLE)
    return build(Config([read(tmp_path / "rqa.toml")]))


@pytest.mark.parametrize(
    ("source", "weight"),
    [
        ("https://example.org/a", 2.0),
        ("https://www.example.org:8443/a", 2.0),
        ("https://low.example.org/a", 0.5),
        ("https://notexample.org/a", 1.0),
        ("https://example.org.evil.example/a", 1.0),
        ("https://blog.example/post", 0.3),
        ("handbook/travel.md", 1.5),
        ("handbook/old/travel.md", 0.1),
        ("handbook-of-others/travel.md", 1.0),
        ("handbook/travel.draft.md", 0.2),
        ("", 1.0),
        ("https://[", 1.0),
    ],
)
def test_the_longest_entry_that_matches_counts(
    weights: SourceTrust, tmp_path: Path, source: str, weight: float
) -> None:
    place = source if not source or "://" in source else str(tmp_path / source)
    assert weights.weight(Passage("x", source=place)) == weight


def test_paths_are_relative_to_the_folder_of_the_file_and_parts_may_go_up(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "rqa.toml").write_text('[trust]\n"../docs" = 3\n')
    weights = build(Config([read(tmp_path / "a" / "rqa.toml")]))
    assert weights.weight(Passage("x", source=str(tmp_path / "docs" / "b.md"))) == 3


@pytest.mark.parametrize("value", ["-1", '"high"', "true", "inf"])
def test_a_weight_is_a_number_of_0_or_more(tmp_path: Path, value: str) -> None:
    (tmp_path / "rqa.toml").write_text(f'[trust]\n"example.org" = {value}\n')
    with pytest.raises(ConfigError, match=r"rqa\.toml: `trust\.example\.org`"):
        build(Config([read(tmp_path / "rqa.toml")]))


def test_a_row_cannot_raise_the_weight_of_its_file_with_a_url(weights: SourceTrust, tmp_path: Path) -> None:
    inside, outside = str(tmp_path / "handbook" / "rows.jsonl"), str(tmp_path / "found.jsonl")

    def weight(url: str, file: str) -> float:
        return weights.weight(Passage("x", source=url, file=file))

    assert weight("https://example.org/", outside) == 1.0
    assert weight("https://example.org/", inside) == 1.5
    assert weight("https://low.example.org/", inside) == 0.5
    assert weight("https://elsewhere.example/", inside) == 1.5


def test_a_passage_cannot_state_its_own_trust(weights: SourceTrust) -> None:
    row = parse_row(b'{"question": "?", "passages": [{"text": "x", "trust": 9, "weight": 9, "file": "/handbook"}]}', 1)
    [passage] = row.question().passages or ()
    assert (weights.weight(passage), passage.file) == (1.0, "")


def test_an_untrusted_file_that_was_found_cannot_set_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RQA_CONFIG_DIR", str(tmp_path / "own"))
    file = tmp_path / "rqa.toml"
    file.write_text(TABLE)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=r"an untrusted file cannot set \[trust\]") as raised:
        load()
    assert "rqa config trust" in raised.value.hint
    trusted_files.trust(file, file.read_bytes())
    assert build(load()).weight(Passage("x", source="https://example.org/")) == 2.0
