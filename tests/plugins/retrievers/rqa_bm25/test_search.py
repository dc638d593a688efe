"""Results for queries, from a small index."""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from standins.reading import FORMATS

from robust_qa import ConfigError, MissingError, RqaError
from robust_qa.testing import assert_conforms
from rqa_bm25 import Bm25, Language
from rqa_bm25.analysis import LANGUAGES

ROWS = [
    {"id": "panda", "title": "Giant panda", "text": "It eats bamboo; the ratio of leaves to stems is 3:1."},
    {"id": "lion", "title": "Lion", "text": "Lions hunt in prides and eat meat."},
    {"id": "cafe", "title": "Café", "text": "A café serves coffee. Beyoncé's favourite is in Houston."},
    {"id": "tokyo", "title": "東京", "text": "東京は日本の首都です。"},
    {"id": "moscow", "title": "Москва", "text": "Москва — столица России."},
    {"id": "hindi", "title": "दिल्ली", "text": "दिल्ली भारत की राजधानी है।"},
    {"id": "thai", "title": "กรุงเทพ", "text": "กรุงเทพเป็นเมืองหลวงของประเทศไทย"},
]


def indexed(folder: Path, rows: list[dict[str, Any]], **options: Any) -> Bm25:
    folder.mkdir(exist_ok=True)
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    retriever = Bm25(Bm25.Options(index=folder / "index", **options), formats=FORMATS)
    retriever.index([folder / "rows.jsonl"])
    return retriever


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Bm25:
    return indexed(tmp_path_factory.mktemp("shelf"), ROWS)


def ids(retriever: Bm25, query: str, k: int = 10) -> list[str]:
    return [passage.id for passage in retriever.retrieve(query, k)]


def test_it_conforms_to_the_contract(shelf):
    assert_conforms("retriever", shelf, query="What does the giant panda eat?")


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("What is the 3:1 ratio? AND (a OR", "panda"),
        ('title:lion^5 +"hunting prides"~2 -NOT [a TO', "lion"),
        ("Beyonce", "cafe"),
        ("cafe\u0301", "cafe"),  # the accent as a character of its own
        ("日本の首都は？", "tokyo"),
        ("เมืองหลวง", "thai"),
    ],
)
def test_only_the_words_of_a_query_matter(shelf, query, found):
    assert ids(shelf, query)[0] == found


@pytest.mark.parametrize("query", ["", "?! (...)", "\ud800", "zzz qqq"])
def test_a_query_without_a_known_word_finds_nothing(shelf, query):
    assert shelf.retrieve(query, 5) == []


@given(st.text(st.characters(exclude_categories=())), st.integers(-1, 20))
@settings(max_examples=200, deadline=None)
def test_no_query_raises(shelf, query, k):
    assert len(shelf.retrieve(query, k)) <= max(k, 0)


def test_a_query_of_ten_thousand_words_is_answered_from_its_rarest(shelf):
    query = " ".join(f"unknown{n}" for n in range(10_000)) + " bamboo"
    assert ids(shelf, query) == ["panda"]
    assert ids(shelf, "lion " * 10_000) == ["lion"]


def test_a_word_in_the_title_weighs_more_than_one_in_the_text(tmp_path):
    rows = [
        {"id": "text", "title": "Animals of Asia", "text": "Some say that a panda sleeps."},
        {"id": "title", "title": "Panda of Asia", "text": "Some say that an animal sleeps."},
    ]
    assert ids(indexed(tmp_path / "a", rows), "panda") == ["title", "text"]


def test_scores_are_bm25(tmp_path):
    texts = ["a b b c", "b d", "e f g h i j"]
    retriever = indexed(tmp_path / "a", [{"text": text} for text in texts], language="none")
    passages = retriever.retrieve("b", 5)
    average = sum(len(text.split()) for text in texts) / 4  # the table of the files counts as an empty passage
    idf = math.log(1 + (4 - 2 + 0.5) / (2 + 0.5))
    for passage in passages:
        words = passage.text.split()
        frequency = words.count("b")
        expected = idf * 2.2 * frequency / (frequency + 1.2 * (1 - 0.75 + 0.75 * len(words) / average))
        assert passage.score == pytest.approx(expected, rel=1e-5)
    assert len(passages) == 2


def test_equal_texts_are_returned_once(tmp_path):
    rows = [{"id": str(n), "text": "The panda\neats  bamboo."} for n in range(300)]
    rows += [{"id": "other", "text": "A panda may well eat some other things than bamboo."}]
    assert len(set(ids(indexed(tmp_path / "a", rows), "panda bamboo"))) == 2


def test_equal_texts_with_other_titles_are_all_returned(tmp_path):
    rows = [{"id": name, "title": name, "text": "Its keeper is Ada Quill."} for name in ("North", "South")]
    rows.append({"id": "again", "title": "South", "text": "Its keeper is Ada Quill."})
    assert sorted(ids(indexed(tmp_path / "a", rows), "Which have the keeper Ada Quill?")) == ["North", "South"]


@pytest.mark.parametrize("mark", ["\n", "\u200b", "\U000e0041"])
def test_a_copy_that_looks_the_same_is_a_duplicate(tmp_path, mark):
    rows = [{"id": str(n), "text": f"The lamp is{' ' + mark * n} lit at dusk."} for n in range(6)]
    assert len(ids(indexed(tmp_path / "a", rows), "lamp", 5)) == 1


BRIDGE = "The bridge of Harlow is painted green. It carries trams and cars, and it has two towers and four arches."


def test_near_copies_are_one_passage_that_names_the_others(tmp_path):
    for n in range(12):
        (tmp_path / f"copy{n}.md").write_text(f"# Bridge\n\n{BRIDGE} Printed copy {n}.\n")
    (tmp_path / "history.md").write_text("# History\n\nThe crossing at Harlow was designed by Clara Voss.\n")
    retriever = Bm25(Bm25.Options(index=tmp_path / "index"), formats=FORMATS)
    retriever.index([tmp_path])
    found = {passage.title: passage for passage in retriever.retrieve("Who designed the bridge of Harlow?", 10)}
    assert found.keys() == {"Bridge", "History"}
    assert found["Bridge"].place.endswith("and 8 more")


def test_versions_that_differ_in_what_is_asked_both_stay(tmp_path):
    rows = [{"id": fee, "title": "Bridge", "text": f"{BRIDGE} The toll is {fee} crowns."} for fee in ("20", "35")]
    retriever = indexed(tmp_path / "a", rows)
    assert sorted(ids(retriever, "How much is the toll of the bridge?")) == ["20", "35"]
    assert len(ids(retriever, "Which colour is the bridge?")) == 1


def test_each_document_is_stemmed_in_its_own_language(tmp_path):
    rows = [
        {"id": "de", "text": "Am Abend schlafen die Katzen auf der warmen Mauer neben dem alten Haus."},
        {"id": "fr", "text": "Les lettres furent envoyées par le gardien du phare aux habitants de la ville."},
        {"id": "en", "text": "The keepers of the lighthouse were sailing to the island in the morning."},
    ]
    retriever = indexed(tmp_path / "a", rows)
    for query, expected in {
        "Katze": "de",
        "lettre envoyée": "fr",
        "lettre envoyee": "fr",
        "keeper sails": "en",
    }.items():
        assert ids(retriever, query) == [expected]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("مَنْ بَنَى الْمَنَارَةَ فِي عَامِ ١٩١٠؟", "من بنى المنارة"),
        ("Ο φάρος του νησιού χτίστηκε από τον Λίνο.", "φαρος"),
        ("הַמִּגְדַּלּוֹר נִבְנָה בִּשְׁנַת 1910.", "המגדלור נבנה"),
        ("ﾄｳｷｮｳの灯台", "トウキョウ"),
    ],
)
def test_points_accents_and_widths_are_optional_in_a_query(tmp_path, text, query):
    rows = [{"text": text}, {"text": "The lighthouse of Skerry was built by Ada Quill."}]
    (passage,) = indexed(tmp_path / "a", rows).retrieve(query, 5)
    assert passage.text == text


@pytest.mark.parametrize(
    ("language", "text", "query"),
    [
        ("fr", "Elle fut fondée en 1860.", "Qui a fondé le phare ?"),
        ("fr", "Elle fut fondée en 1860.", "fonde"),
        ("es", "Ada Quill escribió la carta.", "escribir"),
        ("pt", "As fundações do farol.", "fundação"),
        ("tr", "İzmir'de bir fener var.", "izmir"),
        ("en", "She sent her résumés.", "resumes"),
        ("en", "세종대왕이 1443년에 한글을 만들었다.", "한글"),
        ("none", "서울은 큰 도시이다.", "서울의"),
    ],
)
def test_a_word_is_found_in_its_other_forms_with_and_without_accents(tmp_path, language, text, query):
    (passage,) = indexed(tmp_path / "a", [{"text": text}], language=language).retrieve(query, 1)
    assert passage.text == text


@pytest.mark.parametrize("mark", ["\u00ad\n", "\u2010\n  ", "\u200b"])
def test_invisible_characters_do_not_split_words(tmp_path, mark):
    retriever = indexed(tmp_path / "a", [{"text": f"The har{mark}bourmaster, Ada{mark} Quill."}])
    (passage,) = retriever.retrieve("Who is the harbourmaster?", 1)
    assert passage.text.startswith("The harbourmaster, Ada")
    assert len(retriever.retrieve(f"har{mark}bourmaster", 1)) == 1


def test_every_language_of_the_options_can_be_indexed(tmp_path):
    assert set(get_args(Language)) == {"auto", *LANGUAGES}
    for language in LANGUAGES:
        assert ids(indexed(tmp_path / language, ROWS[:1], language=language), "bamboo") == ["panda"]


def test_an_index_is_read_in_its_own_language_whatever_the_options_say(tmp_path):
    indexed(tmp_path / "a", [{"id": "de", "text": "Die Katzen schlafen."}], language="de")
    english = Bm25(Bm25.Options(index=tmp_path / "a" / "index", language="en"), formats=FORMATS)
    assert ids(english, "Katze") == ["de"]


def test_many_threads_may_search_at_once(shelf):
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: tuple(ids(shelf, "giant panda")), range(200)))
    assert set(found) == {("panda",)}


# -- no index, or none of ours


def test_a_missing_index_names_the_command_that_creates_one(tmp_path):
    retriever = Bm25(Bm25.Options(index=tmp_path / "none"), formats=FORMATS)
    for call in (lambda: retriever.retrieve("a", 1), retriever.fingerprint):
        with pytest.raises(MissingError) as caught:
            call()
        assert "rqa index PATH" in caught.value.hint
    assert not (tmp_path / "none").exists()


def test_an_empty_index_is_an_error(tmp_path):
    with pytest.raises(MissingError, match="empty"):
        indexed(tmp_path / "a", []).fingerprint()


def test_a_foreign_folder_is_not_searched(tmp_path):
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(ConfigError, match="not an index"):
        Bm25(Bm25.Options(index=tmp_path), formats=FORMATS).retrieve("a", 1)


def test_an_index_of_another_format_is_refused(tmp_path):
    retriever = indexed(tmp_path / "a", ROWS)
    (tmp_path / "a" / "index" / "rqa-index.json").write_text('{"format": 99, "language": "en"}')
    with pytest.raises(ConfigError, match="format 99"):
        Bm25(retriever.Options(index=tmp_path / "a" / "index"), formats=FORMATS).retrieve("a", 1)


@pytest.mark.parametrize("damage", ["rqa-index.json", "tantivy/meta.json", "tantivy/*.term", "tantivy/*.store"])
def test_a_damaged_index_has_a_hint(tmp_path, damage):
    indexed(tmp_path / "a", ROWS)
    (file,) = (tmp_path / "a" / "index").glob(damage)
    file.write_bytes(file.read_bytes()[:10])
    with pytest.raises(RqaError) as caught:
        Bm25(Bm25.Options(index=tmp_path / "a" / "index"), formats=FORMATS).retrieve("panda", 1)
    assert "remove the folder and run `rqa index PATH...` again" in caught.value.hint


def test_a_panic_of_the_engine_has_a_hint(tmp_path):
    indexed(tmp_path / "a", ROWS)
    (file,) = (tmp_path / "a" / "index" / "tantivy").glob("*.term")
    content = file.read_bytes()
    end = content.rindex(b'{"version"')  # what follows is checked
    file.write_bytes(content[: end - 8] + b"\xff" * 8 + content[end:])
    with pytest.raises(RqaError) as caught:
        Bm25(Bm25.Options(index=tmp_path / "a" / "index"), formats=FORMATS).retrieve("panda", 1)
    assert "remove the folder and run `rqa index PATH...` again" in caught.value.hint


@pytest.mark.parametrize("options", [{"words": 9}, {"writer_memory": 14}])
def test_options_out_of_range_are_refused(options):
    with pytest.raises(msgspec.ValidationError, match=next(iter(options))):
        msgspec.convert(options, Bm25.Options)


# -- by whom
