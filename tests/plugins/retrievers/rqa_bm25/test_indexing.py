"""Updates of the index when files change."""

from __future__ import annotations

import errno
import gzip
import os
import signal
import stat
from contextlib import suppress
from pathlib import Path

import pytest
from standins.reading import FORMATS

from robust_qa import ConfigError, IndexReport, InputError, MissingError
from robust_qa.config.environment import cache_dir
from rqa_bm25 import Bm25


def sources(retriever, query: str = "panda") -> set[str]:
    return {Path(passage.source).name for passage in retriever.retrieve(query, 100)}


def counts(report: IndexReport) -> tuple[int, int, int, int]:
    return report.added, report.changed, report.removed, report.unchanged


# -- what is read


def test_the_command_fails_if_no_file_can_be_read(rqa, tmp_path):
    (tmp_path / "new.png").write_bytes(b"\x89PNG\0\0")
    (tmp_path / "README").write_text("The harbour opened in 1884.")
    ended = rqa("index", tmp_path / "new.png")
    assert ended.code == 2
    assert f"skipped {tmp_path / 'new.png'}: it is neither text nor a supported format" in ended.err
    assert rqa("index", tmp_path / "new.png", tmp_path / "README").code == 0
    assert rqa("index", tmp_path / "new.png", tmp_path / "README").code == 0  # nor has it changed


@pytest.fixture
def unreadable(docs) -> set[str]:
    """Create a folder with one good file, and return the expected reasons for skipping the others."""

    (docs / "good.txt").write_text("The harbour opened in 1884.")
    (docs / "nines.html").write_text("<p>The harbour opened in &#" + "9" * 5000 + ";</p>")
    with (docs / "sparse.html").open("wb") as file:
        file.truncate(3_000_000_000)
    (docs / "long.csv").write_text("text\nThe harbour opened in 1700.\n" + "x" * 1_000_001 + "\n")
    (docs / "deep.rst").write_text("".join("  " * i + "- a\n\n" for i in range(600)))
    (docs / "vast.html").write_text("<a" + " x" * 5_000_000 + ">")
    return {
        f"skipped {docs}/nines.html: reading it failed with ValueError: Exceeds the limit",
        f"skipped {docs}/sparse.html: it has 3,000.0 MB, more than 200 MB, the limit of the option `file_megabytes`",
        f"skipped {docs}/long.csv: line 3 has more than 1,000,000 characters",
        f"skipped {docs}/deep.rst: reading it failed with RecursionError: maximum recursion depth",
        f"skipped {docs}/vast.html: reading it needs too much memory",
    }


def test_unreadable_files_are_skipped_with_a_reason(rqa, docs, unreadable):
    for counted in ("1 added", "1 unchanged"):
        ended = rqa("index", docs)
        assert (ended.code, "1 passages" in ended.err, counted in ended.err) == (0, True, True)
        assert {line for line in unreadable if line not in ended.err} == set()
        assert "\x1b" not in ended.err


def test_a_new_index_is_private_and_a_readable_one_is_reported(rqa, docs, tmp_path):
    (docs / "a.txt").write_text("panda")
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(0o755)
    before = os.umask(0o022)
    try:
        private, shared = (rqa("index", "-O", f"retriever.bm25.index={tmp_path / it}", docs) for it in ("new", "open"))
        made_for_ask = rqa("ask", "--docs", docs, "-s", "rag", "--reader", "lexical", "panda?")
    finally:
        os.umask(before)
    assert (private.code, shared.code, made_for_ask.code) == (0, 0, 0)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o700 and "chmod" not in private.err
    assert stat.S_IMODE((tmp_path / "open").stat().st_mode) == 0o755
    assert shared.err.count(f"`chmod 700 {tmp_path / 'open'}`") == 1
    folders = [folder for folder in (cache_dir() / "docs").glob("*") if folder.is_dir()]
    assert [stat.S_IMODE(folder.stat().st_mode) for folder in (cache_dir() / "docs", *folders)] == [0o700] * 2


def test_folders_are_read_recursively_without_hidden_and_binary_files(docs, bm25):
    for name in ("a.txt", "sub/deep/b.MD", "README", "notes.todo", "panda.c", ".hidden.txt", ".git/c.txt"):
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_text(f"The panda of {name}.")
    (docs / "d.jpeg").write_bytes(b"panda\0")
    retriever = bm25()
    assert counts(retriever.index([docs])) == (5, 0, 0, 0)
    assert sources(retriever) == {"a.txt", "b.MD", "README", "notes.todo", "panda.c"}


def test_a_file_named_that_cannot_be_read_is_reported(docs, bm25):
    (docs / "a.jpeg").write_bytes(b"\xff\xd8\xff\xe0\0")
    (docs / "b.txt").write_bytes(b"\0\1")
    (docs / "c.txt").write_text("")
    (docs / "d.txt").symlink_to("nowhere")
    os.mkfifo(docs / "e.txt")
    names = ["a.jpeg", "b.txt", "c.txt", "d.txt", "e.txt"]
    report = bm25().index([docs / name for name in names])
    whys = {Path(path).name: why for path, why in report.skipped}
    assert set(whys) == set(names)
    assert "neither text nor a supported format" in whys["a.jpeg"]
    assert "neither text nor a supported format" in whys["b.txt"]
    assert "no text" in whys["c.txt"]
    assert "neither a file nor a folder" in whys["d.txt"] == whys["e.txt"]


def test_bad_rows_are_reported_up_to_a_limit(docs, bm25):
    (docs / "a.jsonl").write_text('{"text": "panda"}\n' + "bad\n" * 100)
    report = bm25().index([docs])
    assert report.passages == 1
    assert len(report.skipped) == 21
    assert report.skipped[-1] == (str(docs / "a.jsonl"), "80 more rows like these")


def test_circular_links_are_followed_once(docs, bm25):
    (docs / "sub").mkdir()
    (docs / "sub" / "a.txt").write_text("panda")
    (docs / "sub" / "up").symlink_to(docs)
    (docs / "self").symlink_to("self")
    assert counts(bm25().index([docs])) == (1, 0, 0, 0)


def test_a_link_that_leads_out_of_the_folder_is_left_out_and_reported(docs, bm25, tmp_path):
    private = tmp_path / "private"
    private.mkdir()
    (private / "diary.txt").write_text("A panda wrote this.")
    (docs / "notes.txt").symlink_to(private / "diary.txt")
    (docs / "more").symlink_to(private)
    retriever = bm25()
    reasons = dict(retriever.index([docs]).skipped)
    assert reasons[str(docs / "notes.txt")] == reasons[str(docs / "more")]
    assert "it links to a file outside the folder" in reasons[str(docs / "more")]
    with pytest.raises(MissingError, match="is empty"):
        sources(retriever)
    retriever.index([docs / "notes.txt"])
    assert len(sources(retriever)) == 1


def test_a_link_counts_as_what_it_leads_to(docs, bm25):
    for name in (".git/config", "index/rqa-index.json", "index/b.txt", "a.txt", "sub/c.txt"):
        (docs / name).parent.mkdir(exist_ok=True)
        (docs / name).write_text(f"The panda of {name}.")
    hidden = {
        "notes.txt": ".git/config",
        "chain.txt": "notes.txt",
        "manual": ".git",
        "sub/deep": "../.git",
        "sub/b.txt": "../index/b.txt",
        "old": "index",
    }
    for link, target in {**hidden, "seen.txt": "a.txt", "again": "sub"}.items():
        (docs / link).symlink_to(target)
    report = bm25().index([docs])
    reason = "it links to a hidden file or an index; to read it, name it"
    assert dict(report.skipped) == {str(docs / link): reason for link in hidden}
    assert {passage.source for passage in bm25().retrieve("panda", 100)} == {str(docs / "a.txt"), f"{docs}/sub/c.txt"}


def test_a_file_with_several_names_is_read_once(docs, bm25, tmp_path, monkeypatch):
    (docs / "a.txt").write_text("panda")
    (docs / "b.txt").symlink_to("a.txt")
    (tmp_path / "link").symlink_to(docs)
    retriever = bm25()
    retriever.index([tmp_path / "link"])
    assert [passage.source for passage in retriever.retrieve("panda", 10)] == [str(docs / "a.txt")]
    assert counts(retriever.index([docs])) == (0, 0, 0, 1)
    assert counts(retriever.index([docs / "b.txt", tmp_path / "link" / "a.txt"])) == (0, 0, 0, 1)
    monkeypatch.chdir(docs)
    assert counts(retriever.index([Path()])) == (0, 0, 0, 1)
    (docs / "a.txt").write_text("koala")
    assert counts(retriever.index([docs])) == (0, 1, 0, 0)
    assert sources(retriever) == set()


def test_rows_of_passage_length_stay_whole_and_longer_ones_are_cut(docs, bm25):
    short = "panda " * 120
    long = " ".join(f"The panda of zoo {n} eats." for n in range(50))
    (docs / "a.jsonl").write_text(f'{{"id": "s", "text": "{short}"}}\n{{"id": "l", "text": "{long}"}}\n')
    retriever = bm25()
    retriever.index([docs])
    assert {passage.id for passage in retriever.retrieve("panda", 10)} == {"s", "l#1", "l#2", "l#3"}


@pytest.mark.parametrize(
    ("name", "begin", "heading"),
    [
        ("coast.md", "# Lights\n\n", "## {}\n\n"),
        ("coast.md", "", "## {}\n\n"),
        ("coast.html", "<title>Lights</title>", "<h2>{}</h2>"),
    ],
)
def test_a_section_is_found_by_its_heading_and_titled_by_it(docs, bm25, name, begin, heading):
    body = "It was built by {} in that year. " + "The stairs are steep, and dogs are kept on a lead. " * 8 + "\n\n"
    towers = {"Skerry Point": "Ada Quill", "Cold Haven": "Cora Finch", "Marrow Sound": "Dov Marsh"}
    text = "".join(heading.format(place) + body.format(builder) for place, builder in towers.items())
    (docs / name).write_text(begin + text)
    retriever = bm25()
    retriever.index([docs])
    for place, builder in towers.items():
        (passage,) = retriever.retrieve(f"Who built the tower at {place}?", 1)
        assert builder in passage.text
        assert passage.title == (f"Lights > {place}" if begin else f"coast > {place}")


def test_a_folder_of_real_formats_is_found_by_its_structure(docs, bm25):
    (docs / "handbook.md").write_text(
        "# Handbook\n\n## Contracts\n\n### Who signs\n\n1. Reviewer: Legal\n2. Signer: Ada Quill\n\n"
        "### Limits\n\n| Kind | Limit |\n| - | - |\n| Vendor | 5,000 |\n" + "\nThe rest is about the sea. " * 40
    )
    page = b".TH TOLL 1\n.SH OPTIONS\n.TP\n.B \\-\\-night\nAllows leaving at night.\n"
    (docs / "toll.1.gz").write_bytes(gzip.compress(page))
    (docs / "LICENSE").write_text("The keepers may copy it.")
    (docs / "harbour.py").write_text("def moor(boat):\n    return boat.tie()\n")
    (docs / "photo.png").write_bytes(b"\x89PNG\0")
    retriever = bm25(words=20)
    report = retriever.index([docs])
    assert (report.added, len(report.skipped)) == (4, 1)
    found = {
        query: (passage.title, passage.text)
        for query in ("who signs contracts", "vendor limit", "option night", "copy", "moor")
        for passage in retriever.retrieve(query, 1)
    }
    assert found == {
        "who signs contracts": ("Handbook > Contracts > Who signs", "1. Reviewer: Legal\n2. Signer: Ada Quill"),
        "vendor limit": found["vendor limit"],
        "option night": ("toll(1) > OPTIONS", "--night: Allows leaving at night."),
        "copy": ("LICENSE", "The keepers may copy it."),
        "moor": ("harbour.py", "def moor(boat):\n    return boat.tie()"),
    }
    assert found["vendor limit"][0] == "Handbook > Contracts > Limits"
    assert found["vendor limit"][1].startswith("Kind: Vendor; Limit: 5,000\n\nThe rest")


# -- what is read again


def test_only_what_changed_is_read_again(docs, bm25):
    (docs / "same.txt").write_text("panda one")
    (docs / "changes.txt").write_text("panda two")
    (docs / "goes.txt").write_text("panda three")
    retriever = bm25()
    assert counts(retriever.index([docs])) == (3, 0, 0, 0)
    (docs / "changes.txt").write_text("koala two")
    (docs / "goes.txt").unlink()
    (docs / "new.txt").write_text("panda four")
    report = retriever.index([docs])
    assert counts(report) == (1, 1, 1, 1)
    assert report.passages == 3
    assert sources(retriever) == {"same.txt", "new.txt"}
    assert sources(retriever, "koala") == {"changes.txt"}


def test_a_change_that_keeps_size_and_time_is_seen(docs, bm25):
    (docs / "a.txt").write_text("panda")
    os.utime(docs / "a.txt", (1, 1))
    bm25().index([docs])
    (docs / "a.txt").write_text("koala")
    os.utime(docs / "a.txt", (1, 1))
    assert counts(bm25().index([docs])) == (0, 1, 0, 0)


def test_new_options_for_cutting_cause_files_to_be_read_again(docs, bm25):
    (docs / "a.txt").write_text("The panda eats. " * 100)
    bm25().index([docs])
    assert counts(bm25(words=50).index([docs])) == (0, 1, 0, 0)
    assert counts(bm25(words=50).index([docs])) == (0, 0, 0, 1)


def test_nothing_is_committed_when_nothing_changed(docs, bm25):
    (docs / "a.txt").write_text("panda")
    retriever = bm25()
    retriever.index([docs])
    before = retriever.fingerprint()
    retriever.index([docs])
    assert retriever.fingerprint() == before
    (docs / "b.txt").write_text("panda")
    retriever.index([docs])
    assert retriever.fingerprint() != before


# -- what stays and what leaves


def test_deleted_files_are_removed_only_under_the_given_paths(docs, bm25):
    for name in ("a", "b"):
        (docs / name).mkdir()
        (docs / name / f"{name}.txt").write_text(f"panda {name}")
    bm25().index([docs])
    (docs / "a" / "a.txt").unlink()
    (docs / "b" / "b.txt").unlink()
    assert counts(bm25().index([docs / "a"])) == (0, 0, 1, 0)
    assert sources(bm25()) == {"b.txt"}


def test_a_file_that_is_no_longer_read_is_removed(docs, bm25, tmp_path):
    (tmp_path / "private.txt").write_text("bear")
    for name in ("a.txt", "sub/b.txt", "c.txt"):
        (docs / name).parent.mkdir(exist_ok=True)
        (docs / name).write_text(f"panda {name}")
    retriever = bm25()
    retriever.index([docs])
    (docs / "a.txt").unlink()
    (docs / "a.txt").symlink_to(tmp_path / "private.txt")
    (docs / "sub" / "rqa-index.json").write_text("{}")
    assert counts(retriever.index([docs])) == (0, 0, 2, 1)
    assert sources(retriever) == {"c.txt"}


def test_a_named_hidden_file_stays_until_it_is_deleted(docs, bm25):
    (docs / ".hidden").mkdir()
    (docs / ".hidden" / "a.txt").write_text("panda")
    retriever = bm25()
    retriever.index([docs / ".hidden"])
    retriever.index([docs])
    assert sources(retriever) == {"a.txt"}
    (docs / ".hidden" / "a.txt").unlink()
    assert counts(retriever.index([docs])) == (0, 0, 1, 0)


def test_files_in_an_unreadable_folder_stay(docs, bm25, monkeypatch):
    for name in ("a.txt", "sub/b.txt", "sub/deep/c.txt"):
        (docs / name).parent.mkdir(exist_ok=True)
        (docs / name).write_text(f"panda {name}")
    retriever = bm25()
    retriever.index([docs])
    scandir, stat = os.scandir, os.stat

    def closed_folder(path):
        if Path(path).name == "sub":
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return scandir(path)

    def closed_file(path, **more):
        if Path(path).name == "a.txt":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return stat(path, **more)

    monkeypatch.setattr(os, "scandir", closed_folder)
    monkeypatch.setattr(os, "stat", closed_file)
    report = retriever.index([docs])
    assert counts(report) == (0, 0, 0, 0)
    assert dict(report.skipped[:2]) == dict.fromkeys(
        [str(docs / "a.txt"), str(docs / "sub")], "it cannot be opened: Permission denied"
    )
    kept = "not to be opened now, so the old passages stay in the index and still answer"
    assert report.skipped[2:] == (("3 indexed files", kept),)
    assert sources(retriever) == {"a.txt", "b.txt", "c.txt"}


def test_an_unknown_path_is_an_error_before_anything_changes(docs, bm25, tmp_path):
    (docs / "a.txt").write_text("panda")
    with pytest.raises(InputError, match=r"nowhere"):
        bm25().index([docs, docs / "nowhere"])
    assert not (tmp_path / "index").exists()
    bm25().index([docs])
    with pytest.raises(InputError, match=r"nowhere"):
        bm25().index([docs / "nowhere"])


def test_a_file_that_becomes_unreadable_is_removed_and_reported(docs, bm25):
    (docs / "a.txt").write_text("panda")
    (docs / "b.txt").write_text("panda bear")
    bm25().index([docs])
    (docs / "a.txt").write_bytes(b"\0")
    report = bm25().index([docs])
    assert counts(report) == (0, 0, 1, 1)
    assert report.skipped == ((str(docs / "a.txt"), "it is neither text nor a supported format"),)


def test_a_partly_readable_file_is_not_indexed(docs, bm25):
    (docs / "a.csv").write_text("text\npanda\n" + "x" * 1_000_001 + "\n")
    (docs / "b.md").write_text("panda")
    report = bm25().index([docs])
    assert (counts(report), report.passages) == ((1, 0, 0, 0), 1)
    assert report.skipped == ((str(docs / "a.csv"), "line 3 has more than 1,000,000 characters"),)
    assert sources(bm25()) == {"b.md"}


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="there is no /proc")
def test_a_file_whose_reader_is_killed_keeps_its_passages_until_it_is_read_again(docs, bm25):
    def kill_reader(done, total, passages):
        tasks = Path("/proc/self/task").glob("*/children")
        for process in {int(each) for children in tasks for each in children.read_text().split()}:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)

    (docs / "a.jsonl").write_text('{"text": "an old panda"}\n{"text": "another old panda"}\n')
    (docs / "b.txt").write_text("panda")
    bm25().index([docs])
    (docs / "a.jsonl").write_text("".join(f'{{"text": "the new panda {n}"}}\n' for n in range(20_000)))
    report = bm25().index([docs], kill_reader)
    assert (counts(report), report.passages, report.unread) == ((0, 0, 0, 1), 3, 1)
    kept = "its reader was killed, probably for lack of memory, so its old passages stay in the index and still answer"
    assert report.skipped == ((str(docs / "a.jsonl"), kept),)
    found = {(passage.text, passage.stale) for passage in bm25().retrieve("panda", 100)}
    assert found == {("an old panda", "changed"), ("another old panda", "changed"), ("panda", "")}
    report = bm25().index([docs])
    assert (counts(report), report.passages, report.skipped) == ((0, 1, 0, 1), 20_001, ())
    assert bm25().retrieve("old", 100) == []


def test_a_file_that_needs_too_much_memory_is_told_with_what_stays(rqa, docs):
    (docs / "a.html").write_text("<p>The harbour opened in 1884.")
    assert rqa("index", docs).code == 0
    (docs / "a.html").write_text("<a" + " x" * 5_000_000 + ">")
    why = "reading it needs too much memory, so its old passages stay in the index and still answer"
    for _ in range(2):
        assert f"skipped {docs}/a.html: {why}" in rqa("index", docs).err
    assert f"1  {docs}/a.html\nskipped  {docs}/a.html: {why}\n" in rqa("index", "--list").out
    asked = rqa("ask", "-s", "rag", "--reader", "lexical", "When did the harbour open?")
    assert "1884" in asked.out and "(changed since" in asked.out


@pytest.mark.skipif(os.geteuid() == 0, reason="root may open everything")
def test_a_file_that_cannot_be_opened_keeps_its_passages(docs, bm25):
    (docs / "a.txt").write_text("panda")
    bm25().index([docs])
    (docs / "a.txt").chmod(0)
    report = bm25().index([docs])
    assert counts(report) == (0, 0, 0, 0)
    assert "cannot be opened" in report.skipped[0][1]
    assert sources(bm25()) == {"a.txt"}


# -- what is left of what was deleted


def test_removed_passages_affect_no_rank_and_are_not_on_disk(docs, bm25, tmp_path):
    (docs / "a.txt").write_text("One zebra and another zebra.")
    (docs / "b.csv").write_text("id,title,url,text\nb,Zoo,https://zoo.example/,A giraffe is tall.\n")
    (docs / "c.txt").write_text("The panda eats bamboo. " * 100)
    fresh = Bm25(Bm25.Options(index=tmp_path / "fresh"), formats=FORMATS)
    fresh.index([docs])
    for n in range(50):
        (docs / f"secret{n}.txt").write_text(f"The zebra keeps the password w{n}xyzzy.")
    retriever = bm25()
    retriever.index([docs])
    for n in range(50):
        (docs / f"secret{n}.txt").unlink()
    assert counts(retriever.index([docs])) == (0, 0, 50, 3)
    query = "zebra giraffe panda"
    assert len(fresh.retrieve(query, 10)) == 3
    assert retriever.retrieve(query, 10) == fresh.retrieve(query, 10)
    assert not any(b"w7xyzzy" in file.read_bytes() for file in (tmp_path / "index").rglob("*") if file.is_file())
    before = retriever.fingerprint()
    assert counts(retriever.index([docs])) == (0, 0, 0, 3)
    assert retriever.fingerprint() == before


# -- where


def test_a_foreign_folder_is_not_changed(docs, bm25, tmp_path):
    (docs / "a.txt").write_text("panda")
    (tmp_path / "index").mkdir()
    (tmp_path / "index" / "letter.txt").write_text("mine")
    with pytest.raises(ConfigError, match="not an index"):
        bm25().index([docs])
    assert [entry.name for entry in (tmp_path / "index").iterdir()] == ["letter.txt"]


def test_an_index_keeps_its_language(docs, bm25):
    (docs / "a.txt").write_text("panda")
    bm25(language="de").index([docs])
    with pytest.raises(ConfigError, match="'de', not 'auto'"):
        bm25().index([docs])
