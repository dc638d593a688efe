"""Rewrite the sources of LaTeX, Org and RTF documents into a form that the library xberg reads completely."""

from __future__ import annotations

import re

from rqa_files import without_escapes

_COMMENT = re.compile(r"^[ \t]*%.*\n|(?<!\\)%.*", re.M)
_VERBATIM = re.compile(r"(\\begin\{(verbatim|lstlisting|minted)\}.*?\\end\{\2\})", re.S)
_WRAPPED = re.compile(r"(?<=\S)[ \t]*\n[ \t]*(?=\S)")
_MACRO = re.compile(
    r"\\(?:(?:re)?newcommand\*?\s*\{?|def\s*)\\(?P<name>[a-zA-Z]+)\}?\s*\{(?P<text>(?:[^{}]|\{[^{}]*\})*)\}"
)
_QUANTITY = re.compile(
    r"\\(?:qty|SI|unit|si|num)(?:\[[^\[\]\n]*\])?(?:\{(?P<first>[^{}\n]*)\})(?:\{(?P<unit>[^{}\n]*)\})?"
)
_UNIT = re.compile(r"\\([a-zA-Z]+)")
_UNITS = {
    name: symbol
    for pair in """kilo=k mega=M giga=G milli=m centi=c deci=d hecto=h micro=µ nano=n per=/ squared=² cubed=³ square=
        metre=m meter=m gram=g kilogram=kg second=s minute=min hour=h day=d litre=l liter=l tonne=t watt=W volt=V
        ampere=A hertz=Hz newton=N pascal=Pa joule=J kelvin=K celsius=°C degreeCelsius=°C degree=° percent=% ohm=Ω
        mole=mol""".split()
    for name, _, symbol in [pair.partition("=")]
}
_REFERENCE = re.compile(
    r"\\(?:(?P<label>label)|(?P<cited>[a-zA-Z]{0,20}cite[a-zA-Z]{0,20})|(?:eq|page|auto|[cC])?ref)\*?(?:\[[^\[\]\n]*\])*+\{([^{}\n]*)\}"
)
_RULE = re.compile(
    r"\\(?:(?:top|mid|bottom|h)(?:rule|line)|(?:cmidrule|cline)(?:\([^()\n]*\))?\{[^{}\n]*\}|noalign\{\}"
    r"|end(?:first)?head|end(?:last)?foot)(?![a-z])"
)
_OWN_LINE = re.compile(  # what xberg finds only at the beginning of a line
    r"\\begin\{(?:tabular[x*]?|longtable)\}(?:\[[^\[\]\n]*\])?(?:\{(?:[^{}\n]|\{[^{}\n]*\})*\}){1,2}"
    r"|\\(?:begin|end)\{[a-zA-Z]+\*?\}(?:\[[^\[\]\n]*\])?|\\(?:part|chapter|(?:sub){0,2}section)\*?\{[^{}\n]{1,200}\}|\\caption\{[^{}\n]*\}"
)
_ENTRY = re.compile(  # a heading of Org with its dates and its drawer
    r"^(?P<stars>\*+) (?:(?:TODO|DONE) )?(?P<title>[^ \t\n]*+(?:[ \t]++[^ \t\n]++)*?)(?:[ \t]++:[\w@:]+:)?[ \t]*+\n"
    r"(?P<fields>(?:[ \t]*(?:(?:DEADLINE|CLOSED|SCHEDULED):.*|:[\w-]+:.*)\n(?:[ \t]*- .*\n)*)+)",
    re.M,
)
_LINK = re.compile(r"\[\[(?:mailto:(?P<address>[^\[\]\n]+)|[^\[\]\n]+)\](?:\[(?P<text>[^\[\]\n]+)\])?\]")
_FIELD = re.compile(r"\b(DEADLINE|CLOSED|SCHEDULED): *[<\[]([^<>\[\]\n]*)[>\]]|^[ \t]*:([\w-]+):[ \t]+(\S.*)", re.M)


_RTF_STYLE = re.compile(rb"\{\\s(\d{1,4})(?=[\\ ])[^{}]{1,2000} (?:heading ([1-9])|(title));\}", re.I)
_RTF_STYLED = re.compile(rb"\\s(\d{1,4})(?!\d)")


def plain_latex(text: str) -> str:
    """Return a LaTeX source without comments, with its own macros, quantities, letters and references written out."""
    text = _COMMENT.sub("", text)
    for macro in reversed([*_MACRO.finditer(text)]):
        use = re.compile(rf"\\{macro['name']}(?![a-zA-Z])(?:\{{\}}|\\(?=\s))?")
        written = macro["text"].replace("\\", "\\\\")
        text = text[: macro.start()] + use.sub(written, text[macro.end() :])
    text = _QUANTITY.sub(lambda found: " ".join(map(_measured, filter(None, found.groups()))), text)
    text = _REFERENCE.sub(lambda found: "" if found["label"] else f"[{found[3]}]" if found["cited"] else found[3], text)
    before, _, body = text.rpartition("\\begin{document}")
    parts = _VERBATIM.split(body)  # before, environment, its name, between, ...
    parts[::3] = [_WRAPPED.sub(" ", part) for part in parts[::3]]
    body = "".join(part for number, part in enumerate(parts) if number % 3 < 2)
    body = _RULE.sub("", body).replace("\\\\", "\\\\\n").replace("\\item", "\n\\item")
    body = _OWN_LINE.sub("\n\\g<0>\n", body)
    body = body.replace("\\end{document}", "")
    return without_escapes(f"{before}\\begin{{document}}\n{body}\n\\end{{document}}\n")


def _measured(text: str) -> str:
    return _UNIT.sub(lambda found: _UNITS.get(found[1], found[1]), text)


def plain_org(text: str) -> str:
    """Return an Org source in which the dates and properties of a heading are a row "Entry: title; OWNER: name".

    A link is its text.
    """

    def row(entry: re.Match[str]) -> str:
        pairs = [
            (a or b, value) for a, value, b, other in _FIELD.findall(entry["fields"]) for value in [value or other]
        ]
        fields = "; ".join(
            f"{name.capitalize()}: {value.strip()}" for name, value in [("Entry", entry["title"]), *pairs]
        )
        return f"{entry['stars']} {entry['title']}\n\n{fields}\n\n" if pairs else entry[0]

    return _ENTRY.sub(row, _LINK.sub(_linked, text))


def _linked(link: re.Match[str]) -> str:
    text, address = link["text"], link["address"]
    return f"{text} ({address})" if text and address else text or address or link[0]


def headed_rtf(content: bytes) -> bytes:
    """Return an RTF document in which the paragraphs of heading styles state their level, as xberg expects it."""
    styles = [*_RTF_STYLE.finditer(content)]
    levels = {style[1]: int(style[2] or 1) - 1 for style in styles}
    end = styles[-1].end() if styles else 0

    def leveled(styled: re.Match[bytes]) -> bytes:
        level = levels.get(styled[1])
        return styled[0] if level is None else styled[0] + b"\\outlinelevel%d" % level

    return content[:end] + _RTF_STYLED.sub(leveled, content[end:]) if levels else content
