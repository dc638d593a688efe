"""Train, resume and convert a tiny encoder."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace
from standins.tiny_bert import WORDS, write_model
from tokenizers import Tokenizer, models, pre_tokenizers

torch = pytest.importorskip("torch", reason="the extra [train] is not installed")
pytest.importorskip("transformers", reason="the extra [train] is not installed")

from robust_qa import InputError, Passage, RqaError
from rqa_embedded.engine import PACKAGED, Engine, save_settings
from rqa_train.reader.calibrate import calibrate, settings_before, uncalibrated
from rqa_train.reader.encoding import encode, load_tokenizer
from rqa_train.reader.make import make, measure, split
from rqa_train.reader.marking import InTorch
from rqa_train.reader.model import SpanReader, convert
from rqa_train.reader.rows import HELD_OUT, Row, load_rows, place
from rqa_train.reader.train import Plan, train
from rqa_train.reader.unpack import base_folder, encoder


@pytest.fixture
def base(tmp_path):
    """The encoder of the tiny model, saved by transformers."""
    folder = write_model(tmp_path / "tiny")
    encoder(folder / "model.bin").save_pretrained(tmp_path / "base")
    (tmp_path / "base" / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())
    return tmp_path / "base"


@pytest.fixture
def rows(tmp_path):
    """The answer follows the word "in". Passages without an answer have no "in"."""
    rng = random.Random(0)
    path = tmp_path / "rows.jsonl"
    lines = []
    for n in range(600):
        place, filler = rng.choice(["london", "paris", "1815"]), " ".join(rng.choices(WORDS[9:12], k=rng.randint(1, 5)))
        told = n % 4 > 0
        context = f"{filler} {'in' if told else 'of'} {place} . {'river ' * rng.randint(0, 9)}{n}"
        lines.append({"question": "where", "context": context, "answer": place if told else None})
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def quiet(_line):
    pass


def test_unpacked_encoder_equals_the_packed_one(base, tmp_path):
    from transformers import BertModel

    model = BertModel.from_pretrained(base).eval()
    ids = [2, 4, 9, 10, 3]
    with torch.no_grad():
        hidden = model(torch.tensor([ids]), token_type_ids=torch.tensor([[0, 0, 1, 1, 1]])).last_hidden_state[0]
    engine = Engine(tmp_path / "tiny", 1)
    (marks,) = engine.mark([(ids, [0, 0, 1, 1, 1])])
    ours = hidden.numpy() @ engine._weight.T + engine._bias
    assert abs(ours[:, 0] - marks.start).max() < 1e-4


def test_resumed_run_gives_the_same_model(base, rows, tmp_path):
    examples = list(load_rows(rows))[:128]
    plan = Plan(batch=16, length=48, measure_every=3)
    whole, _ = train(examples, base, base / "tokenizer.json", tmp_path / "whole", plan, say=quiet)

    class Stopped(Exception):
        pass

    def stop(line):
        if (tmp_path / "parts" / "checkpoint.pt").exists():
            raise Stopped

    with pytest.raises(Stopped):
        train(examples, base, base / "tokenizer.json", tmp_path / "parts", plan, measure=lambda _: {}, say=stop)
    resumed, _ = train(examples, base, base / "tokenizer.json", tmp_path / "parts", plan, say=quiet)
    for name, value in whole.state_dict().items():
        assert torch.allclose(value, resumed.state_dict()[name], atol=1e-5), name


def test_other_rows_base_or_teachers_are_refused_on_resume(base, rows, tmp_path):
    examples = list(load_rows(rows))[:64]
    tokenizer, plan, out = base / "tokenizer.json", Plan(batch=16, length=48), tmp_path / "out"
    model, _ = train(examples, base, tokenizer, out, plan, say=quiet)
    said = []
    train(examples, base, tokenizer, out, plan, say=said.append)
    assert "from step 4" in said[0]
    with pytest.raises(InputError, match="other rows"):
        train(examples[::-1], base, tokenizer, out, plan, say=quiet)
    with pytest.raises(InputError, match="another model"):
        train(examples, base, tokenizer, out, plan, teachers=[model], say=quiet)
    model.save(base, tmp_path / "tiny" / "tokenizer.json")
    with pytest.raises(InputError, match="another model"):
        train(examples, base, tokenizer, out, plan, say=quiet)


def test_rows_without_tokens_of_the_answer_are_an_error(base, tmp_path):
    past = [Row("where", "river " * 50 + "in paris", "", ["paris"])]
    with pytest.raises(InputError, match="None of the 1 rows has a token"):
        train(past, base, base / "tokenizer.json", tmp_path, Plan(length=32), say=quiet)


def test_diverged_training_is_an_error(base, rows, tmp_path):
    with pytest.raises(RqaError, match="Training diverged"):
        make([rows], tmp_path / "out", base=base, rate=1e30, epochs=0.2, batch=16, length=48, say=quiet)


def test_trained_model_reads(base, rows, tmp_path):
    figures = make([rows], tmp_path / "out", base=base, epochs=12, rate=5e-3, batch=16, length=48, say=quiet)
    assert figures["difference"] < 1e-4
    assert figures["int8 EM"] > 90
    assert abs(figures["int8 F1"] - figures["fp32 F1"]) < 5
    from rqa_embedded import EmbeddedReader

    reader = EmbeddedReader(EmbeddedReader.Options(model=tmp_path / "out" / "model", threads=1))
    assert reader.read("where", [Passage("was born in paris . river")]).text == "paris"
    settings = Engine(tmp_path / "out" / "model", 1).settings
    assert -1 <= settings.lower <= settings.upper <= 1
    assert settings.answer[1] > 0 and all(weight >= 0 for weight in settings.relevance[1:])
    card = (tmp_path / "out" / "model" / "MODEL_CARD.md").read_text()
    assert "int8 F1" in card
    assert "SQuAD" not in card.split("## Data")[0].split("EM and F1")[0]


@pytest.fixture
def same_kind():
    """Rows about three places, all with the answer in their passage or all without."""

    def write(answered):
        return [
            Row(f"who was {place} {n}", f"{place} {n} . was born in {place}", "", [place] if answered else [])
            for place in ("london", "paris", "1815")
            for n in range(9)
        ]

    return write


def test_answerable_rows_alone_are_calibrated_by_leaving_out_their_passages(tmp_path, same_kind):
    said = []
    found = calibrate(Engine(write_model(tmp_path / "tiny"), 1), same_kind(True), settings_before(None), said.append)
    assert found.relevance != settings_before(None).relevance
    assert -1 <= found.lower <= found.upper <= 1
    assert said == []


def test_rows_that_tell_nothing_keep_the_settings_of_the_initial_model(tmp_path, same_kind):
    engine, before = Engine(write_model(tmp_path / "tiny"), 1), settings_before(None)
    for rows in (same_kind(False), same_kind(True)[:1] * 18):  # no answer at all, and one passage alone
        said = []
        found = calibrate(engine, rows, before, said.append)
        for name in ("relevance", "answer", "threshold", "lower", "upper"):
            assert getattr(found, name) == getattr(before, name)
        assert len(said) == 1


def test_card_and_notice_name_the_rows_once(base, rows, tmp_path):
    for name, begin in (("first", base), ("second", tmp_path / "first" / "model")):
        make([rows], tmp_path / name, base=begin, epochs=0.05, batch=16, length=48, say=quiet)
    named = f"rows of rows.jsonl (SHA-256 {hashlib.sha256(rows.read_bytes()).hexdigest()}), 600 with"
    for name in ("MODEL_CARD.md", "NOTICE"):
        assert (tmp_path / "second" / "model" / name).read_text().count(named) == 1


@pytest.mark.parametrize("many", [2, 12])
def test_one_context_of_few_is_held_out(many):
    contexts = [text for text in map("in paris {}".format, range(20)) if place(text) >= HELD_OUT][:many]
    rows = [Row(f"where {n}", contexts[n % many], "", ["paris"]) for n in range(3 * many)]
    training, held = split(rows)
    assert len(held) == 3 and len({row.context for row in held}) == 1
    assert place(held[0].context) == min(place(row.context) for row in rows)
    assert sorted(row.question for row in training + held) == sorted(row.question for row in rows)
    assert split(rows[::-1])[1] == held[::-1]


def test_rows_of_one_context_are_an_error(base, tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"question": "where", "context": "in paris", "answer": "paris"}))
    with pytest.raises(InputError, match="All rows have the same context"):
        make([path], tmp_path / "out", base=base, say=quiet)


def test_example_of_the_help_works(rqa, tmp_path, monkeypatch):
    from rqa_train.reader.command import reader

    command = reader.epilog.removeprefix("Example: rqa ").split()
    assert command[:3] == ["train", "reader", "examples/training.jsonl"]
    out = tmp_path / "my-reader"
    monkeypatch.chdir(Path(__file__).parents[5])
    ended = rqa(*command[:-1], out)
    assert ended.code == 0, ended.err
    assert ended.out == f'[reader.embedded]\nmodel = "{out}/model"\n'
    assert "%|" not in ended.err
    assert "too few to calibrate" in ended.err
    assert "calibrated as in the initial model" in (out / "model" / "MODEL_CARD.md").read_text(encoding="utf-8")
    ours, before = (Engine(folder, 1).settings for folder in (out / "model", PACKAGED))
    assert replace(ours, identity="") == replace(before, identity="")


def test_answer_tokens_are_marked_and_questions_are_not_truncated(base):
    tokenizer = load_tokenizer(str(base / "tokenizer.json"), 16)
    row = Row("who was ada", "born in paris . paris", "lovelace", ["paris"])
    (example,) = encode([row], tokenizer)
    words = [tokenizer.id_to_token(n) for n in example.ids]
    assert words[:5] == "[CLS] who was ada [SEP]".split()
    assert [words[n] for n in example.starts] == ["paris", "paris"]
    assert encode([Row("who", "river " * 50 + "paris", "", ["paris"])], tokenizer) == []
    (null,) = encode([Row("who", "river")], tokenizer)
    assert (null.starts, null.ends, null.answerable) == ([0], [0], False)


@pytest.mark.parametrize(
    ("text", "answer", "right"),
    [
        ("the paris of parisriver . paris", "paris", ["paris", "paris"]),
        ("born in parisriver", "paris", ["parisriver"]),  # not a whole word
        ("born . the river", ".", ["."]),
    ],
)
def test_answers_match_whole_words_first(tmp_path, text, answer, right):
    row = Row("who", text, "", [answer])
    words = Tokenizer(models.WordLevel({word: n for n, word in enumerate(["[UNK]", *set(row.context.split()), "who"])}))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    (example,) = encode([row], words)
    assert [words.id_to_token(example.ids[n]) for n in example.starts] == right


def test_unusable_rows_are_reported_and_not_counted(base, rows, tmp_path):
    past = [Row("where", "river " * 50 + f"{n} in paris", "", ["paris"]) for n in range(300)]
    learnt = split(list(load_rows(rows)))[0]
    rows.write_text("\n".join(json.dumps({"answers": [], **msgspec.to_builtins(row)}) for row in [*learnt, *past]))
    said = []
    figures = make([rows], tmp_path / "out", base=base, epochs=0.05, batch=16, length=48, say=said.append)
    assert figures["rows"] == len(learnt)
    assert figures["difference"] > 0
    assert any(line.startswith(f"skipped {len(split(past)[0])} rows: {len(split(past)[0])} with") for line in said)


def test_answer_may_end_with_characters_that_the_tokenizer_drops(base):
    tokenizer = load_tokenizer(str(base / "tokenizer.json"), 16)
    text = "in paris\u0301 ."  # the accent is a character of its own
    (example,) = encode([Row("where", text, "", ["paris\u0301"], 3)], tokenizer)
    assert [tokenizer.id_to_token(example.ids[n]) for n in example.ends] == ["paris"]
    assert encode([Row("where", "river " * 12 + text, "", ["paris\u0301 ."], 75)], tokenizer) == []
    said = []
    assert encode([Row("where", "in \u0301", "", ["\u0301"], 3)], tokenizer, said.append) == []
    assert "1 without its tokens" in said[0]


def test_sentence_targets_exclude_words_of_the_question(base):
    tokenizer = load_tokenizer(str(base / "tokenizer.json"), 32)
    text = "river . ada was born in london ."
    (example,) = encode([Row("where was ada born", text, within=(8, len(text)))], tokenizer)
    assert [tokenizer.id_to_token(example.ids[n]) for n in example.starts] == ["london"]


def test_other_or_incomplete_base_is_unpacked_again(tmp_path):
    packed, folder = write_model(tmp_path / "packed"), tmp_path / "base"
    base_folder(packed, folder, quiet)
    (folder / "source.txt").unlink()  # written last: so a kill leaves it
    (folder / "heads.npz").unlink()
    (folder / "config.json").write_text("{")
    assert json.loads((base_folder(packed, folder, quiet) / "config.json").read_text())["hidden_size"] == 16
    assert (folder / "heads.npz").exists()
    other = write_model(tmp_path / "other")
    np.savez(other / "heads.npz", weight=np.zeros((4, 16), np.float32), bias=np.zeros(4, np.float32))
    save_settings(other, uncalibrated(48, 8))
    assert not SpanReader(base_folder(other, folder, quiet)).span.weight.any()


def test_base_without_config_is_an_error(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"no config\.json"):
        base_folder(tmp_path / "empty", tmp_path / "base", quiet)


@pytest.mark.parametrize("family", ["T5", "DistilBert"])
def test_unsupported_base_is_an_error_before_training(base, rows, tmp_path, family):
    import transformers

    getattr(transformers, f"{family}Config")().save_pretrained(base)
    with pytest.raises(InputError, match=f"unsupported type {family.lower()}"):
        make([rows], tmp_path / "out", base=base, length=48, say=quiet)


def test_windows_fit_the_base(rows, base, tmp_path):
    from transformers import BertConfig, BertModel

    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
    BertModel(BertConfig(vocab_size=len(WORDS), max_position_embeddings=64, **sizes)).save_pretrained(base)
    make([rows], tmp_path / "out", base=base, epochs=0.05, batch=16, length=48, say=quiet)
    assert Engine(tmp_path / "out" / "model", 1).settings.length == 64
    with pytest.raises(InputError, match="reads at most 64 tokens, but --length is 65"):
        make([rows], tmp_path / "long", base=base, length=65, say=quiet)


def test_trained_heads_are_loaded(base):
    model = SpanReader(base)
    rng = np.random.default_rng(3)
    weight, bias = rng.normal(size=(4, 16)).astype(np.float32), rng.normal(size=4).astype(np.float32)
    np.savez(base / "heads.npz", weight=weight, bias=bias)
    again = SpanReader(base)
    assert not np.allclose(model.span.weight.detach(), weight[:2])
    assert np.allclose(again.span.weight.detach(), weight[:2])
    assert np.allclose(again.passage.bias.detach(), bias[2:])


def test_embedder_keeps_the_vectors(base, rows, tmp_path):
    settings = uncalibrated(48, 8)
    convert(SpanReader(base), base / "tokenizer.json", tmp_path / "embedder", settings)
    before = Engine(tmp_path / "embedder", 1)
    examples = list(load_rows(rows))[:256]
    plan = Plan(batch=16, length=48, rate=5e-3, epochs=4)

    def moved(embedder):
        out = tmp_path / ("with" if embedder else "without")
        model, _ = train(examples, base, base / "tokenizer.json", out, plan, embedder=embedder, say=quiet)
        convert(model, base / "tokenizer.json", out / "model", settings)
        texts = [row.context for row in examples[:40]]
        return float(1 - (Engine(out / "model", 1).embed(texts) * before.embed(texts)).sum(1).mean())

    assert moved(before) < 0.3 * moved(None)


def test_torch_embedder_equals_the_engine(base, tmp_path):
    settings = uncalibrated(16, 8)
    convert(SpanReader(base), base / "tokenizer.json", tmp_path / "engine", settings, quantization="float32")
    texts = ["ada was born in london", "river", "river " * 40 + "paris", ""]
    ours = InTorch(SpanReader(base).eval(), base / "tokenizer.json", settings).embed(texts)
    theirs = Engine(tmp_path / "engine", 1).embed(texts)
    assert np.allclose(ours, theirs, atol=1e-4)


@pytest.fixture
def mpnet(base, tmp_path):
    """A tiny encoder of another family with other ids and special tokens."""
    from transformers import MPNetConfig, MPNetModel

    tokenizer = json.loads((base / "tokenizer.json").read_text())
    names = {"[CLS]": "<s>", "[SEP]": "</s>", "[PAD]": "<pad>", "[UNK]": "<unk>"}
    words = sorted(tokenizer["model"]["vocab"], reverse=True)
    order = ["<s>", "<pad>", "</s>", "<unk>", *(word for word in words if word not in names)]
    ids = {word: n for n, word in enumerate(order)}
    tokenizer["model"] |= {"vocab": ids, "unk_token": "<unk>"}
    tokenizer["added_tokens"], tokenizer["post_processor"] = [], None
    torch.manual_seed(3)
    folder = tmp_path / "all-tiny"
    MPNetModel(
        MPNetConfig(
            vocab_size=len(ids), hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
            max_position_embeddings=80,
        )
    ).save_pretrained(folder)  # fmt: skip
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    return folder


def test_ids_are_translated_for_another_vocabulary_order(base, mpnet):
    from tokenizers import Tokenizer

    ours, theirs = (Tokenizer.from_file(str(folder / "tokenizer.json")) for folder in (base, mpnet))
    table = SpanReader(mpnet, base / "tokenizer.json").translation
    ids = ours.encode("london in 1815", add_special_tokens=False).ids
    assert table[ids].tolist() == theirs.encode("london in 1815", add_special_tokens=False).ids
    marks = [ours.token_to_id(word) for word in ("[CLS]", "[PAD]", "[SEP]", "[UNK]")]
    assert table[marks].tolist() == [0, 1, 2, 3]
    assert SpanReader(base, base / "tokenizer.json").translation is None


def test_encoder_with_other_words_cannot_be_a_teacher(base, mpnet):
    tokenizer = json.loads((mpnet / "tokenizer.json").read_text())
    del tokenizer["model"]["vocab"]["london"]
    (mpnet / "tokenizer.json").write_text(json.dumps(tokenizer))
    with pytest.raises(InputError, match="lacks the reader's token 'london'"):
        SpanReader(mpnet, base / "tokenizer.json")


def test_teacher_scores_are_learnt_from_unlabelled_rows(base, rows, tmp_path):
    examples = list(load_rows(rows))[:400]
    tokenizer = base / "tokenizer.json"
    plan = Plan(batch=16, length=48, rate=5e-3, epochs=4)
    teacher, _ = train(examples, base, tokenizer, tmp_path / "teacher", plan, say=quiet)
    unlabelled = [replace(row, answers=[], start=None, unlabelled=True) for row in examples]
    taught, _ = train(unlabelled, base, tokenizer, tmp_path / "taught", plan, teachers=[teacher], say=quiet)
    settings = uncalibrated(48, 8)
    knows = measure(InTorch(teacher.eval(), tokenizer, settings), examples[:60], settings)
    learnt = measure(InTorch(taught.eval(), tokenizer, settings), examples[:60], settings)
    assert knows["F1"] > 90
    assert learnt["F1"] > knows["F1"] - 5


def test_encoder_that_the_engine_cannot_run_becomes_a_teacher(base, mpnet, rows, tmp_path, monkeypatch):
    monkeypatch.setattr("rqa_train.reader.make.PACKAGED", base)  # whose words the teacher must have
    make([rows], tmp_path / "big", base=mpnet, epochs=0.2, batch=16, length=48, command="rqa big", say=quiet)
    assert not (tmp_path / "big" / "model").exists()
    left = tmp_path / "big" / "torch"
    assert "the encoder in all-tiny" in (left / "NOTICE").read_text()

    plan = {"epochs": 0.2, "batch": 16, "length": 48, "command": "rqa small"}
    make([rows], tmp_path / "small", base=base, teachers=[left], **plan, say=quiet)
    card = (tmp_path / "small" / "model" / "MODEL_CARD.md").read_text()
    assert "taught 0.75" in card
    assert "A model whose scores it learnt was made by\n\n    rqa big" in card
    assert "the encoder in all-tiny" in (tmp_path / "small" / "model" / "NOTICE").read_text()
