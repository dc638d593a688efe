"""Continue a tiny reader on questions over documents."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from standins.tiny_bert import write_model

from robust_qa import InputError
from rqa_embedded.engine import Settings
from rqa_train.reader.documents import DocumentQuestion, folds, load_groups

PLACES = ["london", "paris"]


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """Twelve folders: a document says where ada was born, another does not. Every third question has no answer."""
    folder = tmp_path / "own"
    lines = []
    for n in range(12):
        told = f"ada was born in {PLACES[n % 2]} ."
        (folder / f"corpus/{n}").mkdir(parents=True)
        (folder / f"corpus/{n}/ada.txt").write_text(told)
        (folder / f"corpus/{n}/river.txt").write_text("the river is at the bridge .")
        known = {"answers": [PLACES[n % 2]], "evidence": told, "doc": f"{n}/ada.txt"}
        lines.append(
            {"question": "where was ada born", **(known if n % 3 else {"near_miss": {"doc": f"{n}/river.txt"}})}
        )
    (folder / "questions.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return folder


def test_a_passage_holds_the_evidence_with_most_of_its_words() -> None:
    question = DocumentQuestion("how many", ["five weeks"], evidence="A notice of five weeks is needed.")
    assert question.held_by("A notice of at least five weeks is what is needed.")
    assert not question.held_by("Notice is given in writing.")
    assert question.right("five weeks of notice") and not question.right("six weeks")


def test_whole_folders_of_documents_are_held_out(questions: Path) -> None:
    groups = load_groups(questions)
    parts = folds([*groups, *groups], 4)
    assert parts[:12] == parts[12:] and sorted(set(parts)) == [0, 1, 2, 3]
    assert all(any(group.holds) == bool(group.question.answers) for group in groups)


@pytest.mark.parametrize("readers", [0, 4])
def test_a_reader_learns_from_documents_and_is_calibrated_on_others(
    questions: Path, tmp_path: Path, torch: Any, readers: int
) -> None:
    from rqa_embedded import EmbeddedReader
    from rqa_train.reader import over_documents

    rows = tmp_path / "rows.jsonl"
    contexts = [f"ada was born in london {word} ." for word in ("", "and paris", "at the river", "at the bridge")]
    row = {"question": "where", "answer": "london"}
    rows.write_text("\n".join(json.dumps({**row, "context": context}) for context in contexts * 5))
    figures = over_documents.make_over_documents(
        [questions], tmp_path / "out", rows=rows, base=write_model(tmp_path / "tiny"), cross_fit=bool(readers),
        say=lambda _: None,
    )  # fmt: skip
    assert figures["difference"] < 1e-4
    trained = {
        path.parts[-3]: msgspec.json.decode(path.read_bytes(), type=Settings)
        for path in tmp_path.glob("out/without-*/model/reader.json")
    }
    assert len(trained) == readers and len({each.answer for each in trained.values()}) == min(readers, 1)
    reader = EmbeddedReader(EmbeddedReader.Options(tmp_path / "out" / "model", threshold=0))
    assert reader.read("where was ada born", load_groups(questions)[0].passages).text


def test_documents_in_one_folder_are_an_error(questions: Path, tmp_path: Path, torch: Any) -> None:
    from rqa_train.reader.over_documents import make_over_documents

    one = json.loads((questions / "questions.jsonl").read_text().splitlines()[1])
    (questions / "questions.jsonl").write_text(json.dumps(one))
    with pytest.raises(InputError, match="too few folders"):
        make_over_documents([questions], tmp_path / "out", rows=tmp_path / "rows.jsonl")
