from __future__ import annotations

import gzip

import pytest

from rqa_files import Excerpt

MAN = r""".\" Copyright
.TH TOLL 1 2024-01-01 "1.0" "User Commands"
.SH NAME
toll \- collect the fees
.SH OPTIONS
The options are:
.TP
\fB\-\-fee\fR=\fIN\fR, \fB\-f\fR
The fee
in euro.
.sp
Default: 5.
.TP
.BR \-h ", " \-\-help
Show help.
.SH EXAMPLES
.IP \(bu 2
Ask
.BR grep (1).
.PP
Run it:
.nf
toll \-f 3
  done
.fi
"""

MDOC = r""".Dd January 1, 2024
.Dt TOLL 1
.Os
.Sh NAME
.Nm toll
.Nd collect the fees
.Sh SYNOPSIS
.Nm
.Op Fl hv
.Op Ar
.Sh DESCRIPTION
The options are:
.Bl -tag -width Ds
.It Fl f Ar fee , Fl Fl fee Ns = Ns Ar fee
The
.Dq fee
in euro, see
.Xr grep 1 .
.It Fl h
Show help.
.El
"""

ASCIIDOC = r""".TH GIT 1
.SH OPTIONS
.PP
\-a, \-\-all
.RS 4
Stage all files.
.RE
.PP
\-p
.RS 4
Choose.
.RE
"""


def test_passages_follow_the_structure_of_a_man_page(passages):
    assert passages("toll.1", MAN, words=16) == [
        Excerpt("toll(1) > NAME", "toll - collect the fees", 4),
        Excerpt(
            "toll(1) > OPTIONS",
            "The options are:\n--fee=N, -f: The fee in euro.\n  Default: 5.\n-h, --help: Show help.",
            6,
        ),
        Excerpt("toll(1) > EXAMPLES", "- Ask grep(1).\n\nRun it:\ntoll -f 3\n  done", 18),
    ]


def test_passages_follow_the_structure_of_an_mdoc_page(passages):
    assert [(passage.title, passage.text) for passage in passages("toll.8", MDOC, words=14)] == [
        ("toll(1) > NAME", "toll — collect the fees"),
        ("toll(1) > SYNOPSIS", "toll [-hv] [file ...]"),
        (
            "toll(1) > DESCRIPTION",
            "The options are:\n-f fee, --fee=fee: The “fee” in euro, see grep(1).\n-h: Show help.",
        ),
    ]


def test_options_of_a_page_from_asciidoc_are_entries(blocks):
    assert blocks("git.1", ASCIIDOC)[1:] == [("option", "-a, --all: Stage all files."), ("option", "-p: Choose.")]


def test_a_compressed_page_is_read(document):
    assert document("toll.1.gz", gzip.compress(MAN.encode())).title == "toll(1)"


def test_a_page_may_define_macros_before_its_title(document):
    assert document("toll.1", f".de FN\n\\fI\\|\\\\$1\\|\\fP\n..\n{MAN}").title == "toll(1)"


@pytest.mark.parametrize("text", ["1. one\n.TH", ".hidden is a file\n"])
def test_a_text_with_the_suffix_of_a_section_is_no_page(document, text):
    assert document("notes.9", text).text.startswith(text.strip().partition("\n")[0])


@pytest.mark.parametrize("closing", [".\\}", "'br\\}"])
def test_text_for_typesetters_is_skipped(blocks, closing):
    page = f".TH TOLL 1\n.SH NAME\ntoll\n.if t \\{{\\\n.if \\n(x \\{{\nhidden\n.\\}}\nhidden\n{closing}\nshown\n"
    assert [text for _, text in blocks("toll.1", page)] == ["NAME", "toll shown"]
