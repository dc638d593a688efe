"""Elements of XML that hold values are rows, and other text is paragraphs below the title of their element."""

from pathlib import Path

import pytest
from standins.reading import read

from robust_qa.cli import piped

ROOMS = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE rooms>
<rooms xmlns:x="urn:x">
  <room id="A12">
    <name>Aspen</name>
    <seats>12</seats>
  </room>
  <room id="B7"><name>Birch</name><seats>40</seats><x:rent currency="EUR">85</x:rent></room>
</rooms>
"""
GUIDE = """<guide xmlns="http://docbook.example/ns"><section xml:id="s1"><title>Doors</title>
<para>The <b>east</b> door opens at 7.</para>
<list><entry><term>-q</term><item><para>Be quiet.</para></item></entry></list></section></guide>
"""
ENTITIES = '<!DOCTYPE a [<!ENTITY b "many"><!ENTITY c "&b;&b;">]>\n<a>&c;&c;</a>\n'


def shown(tmp_path: Path, content: str) -> list[tuple[str, str, int]]:
    (tmp_path / "a.xml").write_text(content, encoding="utf-8")
    (document,) = read(tmp_path / "a.xml", lambda where, why: None)
    return [(block.kind, block.text, block.line) for block in document.blocks]


def test_an_element_of_values_is_a_row_with_its_line(tmp_path: Path) -> None:
    assert shown(tmp_path, ROOMS) == [
        ("heading", "rooms", 3),
        ("row", "id: A12; name: Aspen; seats: 12", 4),
        ("row", "id: B7; name: Birch; seats: 40; rent: 85; rent currency: EUR", 8),
    ]


def test_text_stays_in_its_order_below_the_title(tmp_path: Path) -> None:
    kinds, texts, lines = zip(*shown(tmp_path, GUIDE), strict=True)
    assert texts == ("Doors", "The east door opens at 7.", "term: -q", "Be quiet.")
    assert kinds[:2] == ("heading", "paragraph") and lines == (1, 2, 3, 3)


@pytest.mark.parametrize("content", [ENTITIES, "<a><b>The door opens at 7.</a>\n", "<a>" * 200 + "</a>" * 200])
def test_what_defines_entities_or_is_no_xml_is_read_as_code(tmp_path: Path, content: str) -> None:
    assert {kind for kind, _, _ in shown(tmp_path, content)} == {"code"}


def test_a_page_is_read_as_html(tmp_path: Path) -> None:
    page = '<html xmlns="http://www.w3.org/1999/xhtml"><body><h1>Doors</h1><p>Open at 7.</p></body></html>'
    assert [text for _, text, _ in shown(tmp_path, page)] == ["Doors", "Open at 7."]


def test_piped_xml_is_told_by_its_declaration() -> None:
    assert piped._suffix(ROOMS, ROOMS.encode()) == ".xml"
