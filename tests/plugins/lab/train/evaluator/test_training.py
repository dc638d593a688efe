"""`rqa train evaluator`."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from standins.tiny_models import write_bert, write_t5

from robust_qa import InputError, RqaError
from robust_qa.kit import install_hint
from rqa_t5 import T5
from rqa_t5.engine import Engine
from rqa_t5.folder import read_settings
from rqa_train.evaluator.examples import Example, examples, split
from rqa_train.evaluator.rows import Asked, Candidate, read_rows

WORDS = "ships lay in the ice of the harbour until april moles live under ground and eat worms".split()


def write(path: Path, *rows: Any) -> Path:
    path.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    return path


# -- rows


def test_passage_with_an_answer_is_relevant(tmp_path: Path) -> None:
    row = {
        "question": "Who?",
        "answers": ["Herman Melville", ["H. Melville"]],
        "passages": ["By herman melville!", {"title": "H. Melville", "text": "He wrote."}, "By Ishmael."],
    }
    (asked,) = read_rows([write(tmp_path / "a", row)])
    assert [candidate.relevant for candidate in asked.candidates] == [True, True, False]
    assert asked.candidates[1].text == "H. Melville: He wrote."


def test_title_without_text_is_not_relevant_by_page_or_label(tmp_path: Path) -> None:
    passages = [{"title": "Ahab", "text": ""}, {"title": "Ahab", "text": "A captain."}]
    pair = {"question": "Who?", "title": "Ahab", "passage": " ", "label": 1}
    for asked in read_rows([write(tmp_path / "a", {"question": "Who?", "page": "ahab", "passages": passages}, pair)]):
        assert [candidate.relevant for candidate in asked.candidates] == [bool(c.text) for c in asked.candidates]


def test_passages_of_the_gold_page_are_relevant(tmp_path: Path) -> None:
    passages = [{"title": "Whale", "text": "By nobody."}, {"title": "Sea", "text": "By Melville."}]
    (asked,) = read_rows(
        [write(tmp_path / "a", {"question": "Who?", "answers": ["Melville"], "page": "whale", "passages": passages})]
    )
    assert [candidate.relevant for candidate in asked.candidates] == [True, False]


def test_equal_questions_with_other_passages_stay_separate(tmp_path: Path) -> None:
    rows = [
        {"question": "When?", "answers": [year], "passages": ["Ada, born in 1950.", "Ann, born in 1960."]}
        for year in ("1950", "1960")
    ]
    one, other = read_rows([write(tmp_path / "a", *rows)])
    assert (one.answers, other.answers) == (["1950"], ["1960"])
    assert [candidate.relevant for candidate in one.candidates] == [True, False]
    assert [candidate.relevant for candidate in other.candidates] == [False, True]


def test_pairs_of_a_question_are_merged(tmp_path: Path) -> None:
    rows = [
        {"question": "Who?", "passage": "a", "label": 1},
        {"question": "When?", "text": "b", "title": "B", "label": 0},
        {"question": "Who?", "passage": {"text": "c", "title": "C"}, "score": 0.3},
    ]
    asked = read_rows([write(tmp_path / "a", *rows)])
    assert asked == [
        Asked("Who?", [], [Candidate("a", True), Candidate("c", None, 0.3, "C")]),
        Asked("When?", [], [Candidate("b", False, title="B")]),
    ]


def test_crags_pairs_are_read_from_a_tsv_file(tmp_path: Path) -> None:
    (tmp_path / "pairs.tsv").write_text("Who? [SEP] By Melville.\t1\nWho? [SEP] A whale [SEP] swam.\t0\n", "utf-8")
    assert read_rows([tmp_path / "pairs.tsv"]) == [
        Asked("Who?", [], [Candidate("By Melville.", True), Candidate("A whale [SEP] swam.", False)])
    ]


@pytest.mark.parametrize("line", ["Who? [SEP] By Melville.", "Who? [SEP] By Melville.\t7"])
def test_a_malformed_line_of_a_tsv_file_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "pairs.tsv").write_text(f"Who? [SEP] By Melville.\t1\n{line}", "utf-8")
    with pytest.raises(InputError, match=r"pairs.tsv, line 2 is not `question \[SEP\] passage`"):
        read_rows([tmp_path / "pairs.tsv"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"nonsense", "line 1 is not a valid row"),
        (b'{"question": 7}', "Expected `str`, got `int` - at `row.question`"),
        (b'{"question": " ", "passage": "a", "label": 1}', "empty question"),
        (b'{"question": "Who?", "passage": "a"}', "neither a `label` nor a `score`"),
        (b'{"question": "Who?", "passage": "a", "score": 3}', "scores are from -1 to 1"),
        (b'{"question": "Who?", "passage": "a", "label": 2}', "line 1 has the label 2"),
        (b'{"question": "Who?"}', "no questions with passages"),
    ],
)
def test_invalid_line_is_an_error_with_its_number(tmp_path: Path, line: bytes, message: str) -> None:
    (tmp_path / "a").write_bytes(line)
    with pytest.raises(InputError) as error:
        read_rows([tmp_path / "a"])
    assert message in error.value.message


# -- examples


def asked(n: int) -> Asked:
    good = [Candidate(f"the whale {n} is by melville", True)]
    bad = [Candidate(f"the mole {n} {word}", False) for word in WORDS[:6]]
    return Asked(f"who wrote of whale {n} ?", [["melville"]], good + bad)


def test_split_is_stable() -> None:
    everything = [asked(n) for n in range(400)]
    training, held_out = split(everything)
    assert 20 <= len(held_out) <= 60
    assert split(reversed(everything))[1] == held_out[::-1]
    assert [one for one in training if one in held_out] == []


def test_negatives_are_drawn_for_each_relevant_text_by_the_seed() -> None:
    found = examples([asked(1)], negatives=2, hard=0, seed=1)
    assert [example.label for example in found] == [1, -1, -1]
    assert found == examples([asked(1)], negatives=2, hard=0, seed=1)
    assert len({tuple(examples([asked(1)], negatives=2, hard=0, seed=seed)) for seed in range(8)}) > 1


def test_hard_negatives_are_similar_texts_without_an_answer() -> None:
    others = [
        Asked("?", [["x"]], [Candidate("a whale that nobody wrote of", False), Candidate("a whale by Melville", True)]),
        Asked("??", [["x"]], [Candidate("worms", False)]),
    ]
    found = examples([asked(1), *others], negatives=0, hard=1, seed=0)
    assert Example("who wrote of whale 1 ?", "a whale that nobody wrote of", -1.0) in found
    assert not [e for e in found if e.question.startswith("who") and e.text == "a whale by Melville"]


@pytest.mark.parametrize(
    ("label", "score", "target"), [(1.0, None, 1.0), (-1.0, 0.5, -0.25), (None, 0.5, 0.5), (1.0, 0.0, 0.5)]
)
def test_target_mixes_label_and_score(label: float | None, score: float | None, target: float) -> None:
    assert Example("", "", label, score).target == target


# -- training


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Easy questions: every relevant passage names Melville."""
    rng = random.Random(0)

    def passage(*words: str) -> str:
        drawn = [*rng.choices(WORDS, k=8), *words]
        rng.shuffle(drawn)
        return " ".join(drawn)

    rows = [
        {
            "question": f"who wrote {' '.join(rng.choices(WORDS, k=3))} ?",
            "answers": ["melville"],
            "passages": [passage("moles"), passage("melville") if n % 3 else passage("worms"), passage("ice")],
        }
        for n in range(150)
    ]
    return write(tmp_path / "data.jsonl", *rows)


QUICK = "--length 48 --hard 0 --batch 16 --rate 0.01".split()


@pytest.fixture
def train(rqa: Callable[..., Any], data: Path, torch: Any, tmp_path: Path) -> Callable[..., Any]:
    """Runs the command, from a tiny BERT unless the options name another base."""
    tiny = write_bert(tmp_path / "tiny-bert", classifier=False, words=[*WORDS, "who", "wrote", "melville"])

    def run(out: Path, *options: Any) -> Any:
        base = () if "--base" in options else ("--base", tiny)
        return rqa("train", "evaluator", data, "-o", out, *QUICK, *base, *options)

    return run


def test_a_model_is_trained_and_used(train: Any, tmp_path: Path) -> None:
    ended = train(tmp_path / "out", "--epochs", 30, "--rate", 0.002)
    assert ended.code == 0, ended.err
    assert ended.out == f'[evaluator.t5]\nmodel = "{tmp_path}/out/model"\n'
    judge = T5(T5.Options(model=tmp_path / "out" / "model"))
    good, bad = judge.score("who wrote ships ?", ["ice of melville in april", "ice of moles in april"])
    assert good > 0 > bad
    settings = read_settings(tmp_path / "out" / "model")
    assert settings.lower is not None and settings.upper is not None
    assert bad < settings.lower <= settings.upper <= good
    card = (tmp_path / "out" / "model" / "MODEL_CARD.md").read_text("utf-8")
    assert "AUC of the texts" in card and "rqa train evaluator" in card


@pytest.mark.parametrize(
    "write_base",
    [
        lambda to: write_t5(to, head="label", version="1.1"),
        lambda to: write_t5(to, head="classifier", version="1.0"),
        lambda to: write_bert(to, classifier=False),
    ],
    ids=["ordinary T5", "classifier T5", "bare BERT"],
)
def test_training_starts_from_a_checkpoint_of_any_shape(train: Any, tmp_path: Path, write_base: Any) -> None:
    ended = train(
        tmp_path / "out", "--base", write_base(tmp_path / "base"), "--epochs", 0.5, "--quantization", "float32"
    )
    assert ended.code == 0, ended.err
    T5(T5.Options(model=tmp_path / "out" / "model")).score("who ?", ["melville"])


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_an_ordinary_t5_becomes_the_papers_classifier_and_scores_as_in_torch(
    train: Any, torch: Any, tmp_path: Path, version: str
) -> None:
    import transformers

    ended = train(
        tmp_path / "out", "--base", write_t5(tmp_path / "base", head="label", version=version), "--epochs", 2,
        "--shape", "classifier", "--rate", 0.001,
    )  # fmt: skip
    assert ended.code == 0, ended.err
    settings = read_settings(tmp_path / "out" / "model")
    assert (settings.shape, settings.activation, settings.template) == (
        "classifier", "linear", "{question} [SEP] {passage}",
    )  # fmt: skip
    trained = transformers.T5ForSequenceClassification.from_pretrained(tmp_path / "out" / "torch").eval()
    assert trained.config.num_labels == 1
    engine = Engine(tmp_path / "out" / "model")
    pairs = [engine.pairing.pair("who wrote ships ?", text) for text in ("melville in april", "ice " * 60, "moles")]
    with torch.inference_mode():
        expected = [float(trained(input_ids=torch.tensor([pair.ids])).logits[0, 0]) for pair in pairs]
    assert engine.logits(pairs) == pytest.approx(expected, abs=1e-4)
    assert max(expected) - min(expected) > 1e-3  # or nothing would be compared


def test_a_classifier_is_trained_by_mean_squared_error(torch: Any, tmp_path: Path) -> None:
    from rqa_train.evaluator import checkpoints, train

    base = write_t5(tmp_path / "base", head="label", version="1.0")
    config = json.loads((base / "config.json").read_text("utf-8")) | {"dropout_rate": 0.0, "classifier_dropout": 0.0}
    (base / "config.json").write_text(json.dumps(config), "utf-8")
    made = checkpoints.load(str(base), trainable=True)
    samples = [
        train.Sample(made.pairing().pair("who ?", text), target) for text, target in (("melville", 1), ("ice", -1))
    ]
    scores = train.logits(made, [sample.pair for sample in samples])
    squares = [(score - sample.target) ** 2 for score, sample in zip(scores, samples, strict=True)]
    assert train._backward(made, samples) == pytest.approx(sum(squares) / 2, rel=0.02)


def test_an_ordinary_t5_becomes_a_classifier_by_default_in_float32_with_its_speed(train: Any, tmp_path: Path) -> None:
    base = write_t5(tmp_path / "base", head="label", version="1.1")
    ended = train(tmp_path / "out", "--base", base, "--epochs", 0.1)
    assert read_settings(tmp_path / "out" / "model").shape == "classifier"
    assert "weights in float32" in " ".join((tmp_path / "out" / "model" / "MODEL_CARD.md").read_text("utf-8").split())
    assert "passages of 100 words a second here" in ended.err
    ended = train(tmp_path / "again", "--base", tmp_path / "out" / "torch", "--epochs", 0.1, "--shape", "label")
    assert ended.code == 2 and "cannot be trained as the shape label" in ended.err


def test_base_that_cannot_be_converted_is_refused_before_training(
    train: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rqa_train.evaluator.conversion.TOLERANCE", -1)
    ended = train(tmp_path / "out", "--base", write_t5(tmp_path / "base", head="label", version="1.1"))
    assert "Cannot convert" in ended.err
    assert "steps of" not in ended.err


def test_saved_checkpoint_can_be_converted(train: Any, rqa: Any, tmp_path: Path) -> None:
    train(tmp_path / "out", "--epochs", 0.3)
    ended = rqa("evaluator", "convert", tmp_path / "out" / "torch", tmp_path / "again")
    assert ended.code == 0, ended.err
    trained, again = (T5(T5.Options(model=tmp_path / name)) for name in ("out/model", "again"))
    assert again.settings.length == 48
    assert again.score("who ?", ["melville"]) == trained.score("who ?", ["melville"])


def test_a_card_names_the_data(train: Any, data: Path, tmp_path: Path) -> None:
    train(tmp_path / "first", "--epochs", 0.1)
    named = f"data.jsonl (SHA-256 {hashlib.sha256(data.read_bytes()).hexdigest()})"
    data.write_bytes(data.read_bytes() + b"\n")
    train(tmp_path / "second", "--epochs", 0.1, "--base", tmp_path / "first" / "torch")
    told = (tmp_path / "second" / "model" / "MODEL_CARD.md").read_text("utf-8")
    assert f"trained on {named}" in told
    assert told.count("trained on data.jsonl (SHA-256 ") == 2


def test_resumed_run_gives_the_same_model(train: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rqa_train.evaluator import train as training

    options = ("--epochs", 1, "--patience", 0)
    train(tmp_path / "whole", *options)
    backward, steps = training._backward, []

    def failing(*args: Any, **kwargs: Any) -> float:
        steps.append(1)
        if len(steps) == 8:
            raise RqaError("The power failed.")
        return backward(*args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(training, "_backward", failing)
        assert train(tmp_path / "parts", *options).code == 1
    assert "from step 7" in train(tmp_path / "parts", *options).err
    whole, parts = ((tmp_path / name / "model" / "model.bin").read_bytes() for name in ("whole", "parts"))
    assert whole == parts


def test_damaged_state_is_an_error(train: Any, tmp_path: Path) -> None:
    train(tmp_path / "out", "--epochs", 0.3)
    file = tmp_path / "out" / "checkpoint.pt"
    file.write_bytes(file.read_bytes()[:100])
    ended = train(tmp_path / "out", "--epochs", 0.3)
    assert ended.code == 2
    assert f"{file} is missing or damaged" in ended.err and "checkpoint.pt to start again" in ended.err
    assert "steps of" not in ended.err


def test_existing_folder_is_an_error_before_training(train: Any, tmp_path: Path) -> None:
    (tmp_path / "out" / "model").mkdir(parents=True)
    (tmp_path / "out" / "model" / "notes.txt").write_text("years of work")
    ended = train(tmp_path / "out")
    assert ended.code == 2 and "already exists" in ended.err
    assert "steps of" not in ended.err


def test_other_options_are_refused_on_resume(train: Any, tmp_path: Path) -> None:
    train(tmp_path / "out", "--epochs", 0.3)
    ended = train(tmp_path / "out", "--epochs", 0.4)
    assert ended.code == 2
    assert "belongs to a run with other options, other rows or another model" in ended.err


def test_early_stopping(train: Any, tmp_path: Path) -> None:
    ended = train(tmp_path / "out", "--epochs", 2, "--rate", 1e-9, "--patience", 2)
    assert "no improvement in 2 measurements" in ended.err


def test_held_out_texts_of_one_kind_are_noted(train: Any, data: Path, tmp_path: Path) -> None:
    write(data, {"question": "q", "passages": ["true whale", "moles"], "answers": ["whale"]})
    ended = train(tmp_path / "out")
    assert ended.code == 0, ended.err
    assert "no early stopping and no thresholds" in ended.err
    assert read_settings(tmp_path / "out" / "model").upper is None


def test_missing_torch_is_an_error_with_a_hint(
    rqa: Any, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "torch", None)
    ended = rqa("train", "evaluator", data, "--base", "t5", "-o", tmp_path / "out")
    assert ended.code == 4
    assert install_hint("train") in ended.err


def test_thresholds_fall_back_to_single_texts(train: Any, data: Path) -> None:
    rows = [json.loads(line) for line in data.read_text("utf-8").splitlines()]
    write(data, *({**row, "passages": [*row["passages"], "melville slept"]} for row in rows))
    ended = train(data.parent / "out", "--epochs", 3)
    assert "accuracy of always Correct: 0." in ended.err
    settings = read_settings(data.parent / "out" / "model")
    assert settings.lower is not None and settings.upper is not None and settings.lower <= settings.upper
