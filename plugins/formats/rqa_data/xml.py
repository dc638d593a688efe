"""Read XML: elements that hold only values are rows, other text is paragraphs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from rqa_files import Block, Blocks, Document, File, Report, Unreadable, read_code_file, read_html

_SHORT = 100  # words of an element that is shown as one row
_DEEPEST = 6  # levels of headings
_NESTED = 100  # elements inside each other
_VALUE = 12  # words of a text that is shown with the name of its element
_NAMES = ("title", "name", "id")  # children and attributes that name an element


@dataclass
class _Element:
    name: str
    attributes: dict[str, str]
    line: int
    children: list[_Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)  # all that it contains
    is_mixed: bool = False  # has text beside its children

    @property
    def text(self) -> str:
        return " ".join("".join(self.texts).split())


def read_xml(file: File, report: Report) -> Iterator[Document]:
    """Yield the document of an XML file. What is not well formed, or defines entities, is read as source code."""
    try:
        root = _parsed(file.text())
    except (expat.ExpatError, Unreadable):
        yield from read_code_file(file)
        return
    if root.name == "html":
        yield file.document(*read_html(file.text(page=True)))
    else:
        yield file.document("", _blocks(root))


def _parsed(text: str) -> _Element:
    above: list[_Element] = [_Element("", {}, 0)]
    parser = expat.ParserCreate(encoding="utf-8")
    parser.buffer_text = True

    def start(name: str, attributes: dict[str, str]) -> None:
        if len(above) > _NESTED:
            raise Unreadable("its elements are too deep")
        own = {key: value for key, value in attributes.items() if ":" not in key and key != "xmlns"}
        made = _Element(_plain(name), own, parser.CurrentLineNumber)
        above[-1].children.append(made)
        above.append(made)

    def end(name: str) -> None:
        ended = above.pop()
        above[-1].texts += [" ", *ended.texts, " "] if ended.children else ended.texts

    def data(text: str) -> None:
        above[-1].texts.append(text)
        above[-1].is_mixed |= bool(text.strip())

    def entity(*_: object) -> None:
        raise Unreadable("it defines entities")  # which could multiply

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.CharacterDataHandler, parser.EntityDeclHandler = data, entity
    parser.Parse(text.encode("utf-8", "replace"), True)
    return above[0].children[0]


def _blocks(root: _Element) -> list[Block]:
    blocks = Blocks()
    _add(blocks, root, 1)
    return blocks.found


def _add(blocks: Blocks, element: _Element, level: int) -> None:
    pairs = _pairs(element)
    if pairs and sum(len(value.split()) for _, value in pairs) <= _SHORT:
        blocks.row([name for name, _ in pairs], [value for _, value in pairs], element.line)
        return
    if not element.children or element.is_mixed:
        blocks.paragraph(element.text, element.line)
        return
    named = element.attributes | {child.name: child.text for child in element.children if not child.children}
    title = next((named[name] for name in _NAMES if named.get(name)), "")
    if title or any(map(_pairs, element.children)):  # other elements only hold text together
        blocks.heading(min(level, _DEEPEST), title or element.name, element.line)
    for name, value in element.attributes.items():
        if value != title:
            blocks.option(name, value, element.line)
    counts = Counter(child.name for child in element.children)
    for child in element.children:
        if child.children or child.attributes:
            _add(blocks, child, level + 1)
        elif child.text != title:
            is_alone = counts[child.name] == 1 and len(element.children) > 1  # with its name, among others
            is_value = is_alone and len(child.text.split()) <= _VALUE
            blocks.option(child.name if is_value else "", child.text, child.line)


def _pairs(element: _Element) -> list[tuple[str, str]]:
    """Return the values of an element by name, at least two, if they are all that it has."""
    if element.is_mixed or any(child.children for child in element.children):
        return []
    if len({child.name for child in element.children}) < len(element.children):
        return []
    found = [*element.attributes.items()]
    for child in element.children:
        found.append((child.name, child.text))
        found += ((f"{child.name} {name}", value) for name, value in child.attributes.items())
    pairs = [(name, value) for name, value in found if value]
    return pairs if len(pairs) > 1 else []


def _plain(name: str) -> str:
    """Return a name without its namespace."""
    return name.rpartition(":")[2]
