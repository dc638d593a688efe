from __future__ import annotations

import pytest

from rqa_files import Excerpt

GUIDE = """=====
Guide
=====

.. _start:

Start
-----

Run the server with ``serve`` (see :ref:`the options <options>`):

.. code-block:: console

    $ serve
      ready

.. warning::

   Not for *production*.

Options
-------

The options are:

* ``-p``: the port,
  as a number

  #. of four digits
* ``-v``

.. versionadded:: 2.0
   The option ``-v``.

+------+---------+
| Port | Use     |
+======+=========+
| 80   | plain   |
+------+---------+
"""

HEADED = """
=====  =====  =====
   Cost        Day
------------  -----
 low   high
=====  =====  =====
1      2      Mon
=====  =====  =====
"""

LINES = """Top
===

- a
- b

.. note::

   c

term
  d

::

  e

==  ==
A   B
==  ==
1   2
3   4
==  ==
"""


def test_passages_follow_the_structure_of_a_guide(passages):
    assert passages("a.rst", GUIDE, words=20) == [
        Excerpt(
            "Guide > Start",
            "Run the server with serve (see the options):\n$ serve\n  ready\n\nWarning: Not for production.",
            10,
        ),
        Excerpt(
            "Guide > Options",
            "The options are:\n- -p: the port, as a number\n  1. of four digits\n- -v\n\n"
            "Added in version 2.0: The option -v.\n\nPort: 80; Use: plain",
            24,
        ),
    ]


@pytest.mark.parametrize(
    ("rst", "shown"),
    [
        ("*a* **b** ``*c*`` `d`_ |e| f_ \\*g", "a b *c* d e f *g"),
        ("`text <https://a.example>`__ and :func:`~a.b.c` of :pep:`8` [1]_", "text and c of PEP 8"),
        (".. comment\n   more\n\na\n\n.. image:: b.png\n\n.. [1] A note.", "a\n\n[1] A note."),
        ("Code::\n\n    a = 1\n\n      b\n\nend", "Code:\na = 1\n\n  b\n\nend"),
        ("term\n    Its *meaning*.", "term: Its meaning."),
        (".. py:data:: DEBUG\n\n    Shows errors.\n\n    Default: off", "DEBUG: Shows errors.\n  Default: off"),
        (":Author: Ada\n:Status: Draft", "Author: Ada\nStatus: Draft"),
        ("PEP: 1\nAuthor: Ada\n", "PEP: 1\nAuthor: Ada"),
        ("===  ===\nA    B\n===  ===\n1    2\n3    4\n===  ===", "A: 1; B: 2\nA: 3; B: 4"),
        (".. list-table::\n\n   * - A\n     - B\n   * - 1\n     - 2", "A: 1; B: 2"),
        (">>> 1 + 1\n2", ">>> 1 + 1\n2"),
        (".. |x| replace:: Skerry\n\nAt |x|.", "At Skerry."),
        ("See :command:`cmake -D <cmake <opt>>` or :samp:`a {b}`.", "See cmake -D or a {b}."),
        (".. tab-item:: Linux\n   :sync: x\n\n   Run it.", "Tab-item: Linux\n\nRun it."),
        (".. code-block:: sh\n   :linenos:\n\n   ls", "ls"),
        (".. include:: b.rst\n\n.. raw:: html\n   :file: b.rst\n\na", "a"),
        ("QUIET\n  .. versionadded:: 3.3\n\n  Shows nothing.", "QUIET: Shows nothing.\n  Added in version 3.3"),
        ("-a, --all  Shows\n           all.\n--top=N    The first.", "-a, --all: Shows all.\n--top=N: The first."),
        (".. csv-table:: Ferries\n   :header: A,B\n\n   1,2", "Ferries\nA: 1; B: 2"),
        (".. csv-table::\n   :file: b.rst\n\na", ".. csv-table::\n   :file: b.rst\n\na"),
        ("+---+---+\n| A | B |\n+===+===+\n| 1 | 2 |\n|   +---+\n|   | 3 |\n+---+---+", "A: 1; B: 2\nA: 1; B: 3"),
        (HEADED, "Cost low: 1; Cost high: 2; Day: Mon"),
        (
            "+---+---+\n| A | B |\n+---+---+\n| 1 | 2\n+---+---+\n",
            "+---+---+\n| A | B |\n+---+---+\n| 1 | 2\n+---+---+",
        ),
        ("a * b and c*d, __init__ and snake_case_", "a * b and c*d, __init__ and snake_case"),
    ],
)
def test_markup_is_not_shown(text, rst, shown):
    assert text("a.rst", rst) == shown


def test_headings_have_levels_by_their_first_use(document):
    content = "===\nTop\n===\n\nOne\n---\ntext\n\n::\n\n    Code\n    ====\n\nDeep\n~~~~\n\nC#\n---\n"
    headings = [block for block in document("a.rst", content).blocks if block.kind == "heading"]
    assert [(heading.level, heading.text) for heading in headings] == [(1, "Top"), (2, "One"), (3, "Deep"), (2, "C#")]


def test_blocks_have_their_lines(document):
    found = [(block.text, block.line) for block in document("a.rst", LINES).blocks]
    assert found[:4] == [("Top", 1), ("- a", 4), ("- b", 5), ("Note: c", 7)]
    assert found[4:] == [("term: d", 11), ("e", 16), ("A: 1; B: 2", 21), ("A: 3; B: 4", 22)]


def test_a_line_of_stars_between_parts_is_no_list_without_end(text):
    assert text("a.rst", f"a\n\n{'* ' * 35}\n\nb") == "a\n\nb"
