"""Names that have no space: URLs, paths, options, variables, files, addresses, versions, functions.

The model's tokens divide them, and it marks parts.
"""

from __future__ import annotations

import re

_LONGEST = 200  # characters; what is longer is no name
_UNSPACED = r"[^\s()\[\]{}<>\"“”‘’'`*|,;=]"
# Usual ends of files and hosts. Those that are common words are not among them: a stop before such a one ends a
# sentence, and the space behind it is missing, as in "born in London.it was".
_SUFFIX = (
    r"\.(?:com|org|net|edu|gov|io|dev|ai|uk|eu|de|fr|ru|jp|cn|br|ca|ch|au|nl|pl"
    r"|html?|xml|css|php|txt|md|rst|tex|pdf|docx?|xlsx?|pptx?|od[tsp]|csv|tsv"
    r"|jsonl?|ya?ml|toml|ini|cfg|conf|env|log|lock|sql|sqlite|db|png|jpe?g|gif|svg|webp|mp[34]|wav|zip|tar|t?gz|bz2|xz"
    r"|deb|rpm|iso|exe|dll|jar|whl|[cm]?js|jsx|tsx?|py|ipynb|rb|rs|java|kt|cs|[ch]|[ch]pp|lua|sh|bat|ps1|bak|tmp)(?!\w)"
)
# Of a name that may be followed by a sentence: up to a stop and a word that does not go on.
_JOINED = rf"(?!(?!{_SUFFIX})\.[^\W\d_]+(?!\w|\(|[./@+-]\w)){_UNSPACED}"
_NAME = re.compile(
    rf"""(?<!{_UNSPACED})(?:
      \w+://(?:\([^\s()]*\)|[^\s()\[\]<>\"“”‘’`])+  # a URL
    | (?= [~.]{{0,2}}/[\w.]                          # what tells at its beginning that it is a path,
        | --?(?:[a-z]|[A-Z]\b)                       # an option,
        | \.[a-z] | \$[A-Za-z_] | (?:{_JOINED})*?\w_\w  # a hidden file, a variable,
        | (?!{_UNSPACED}*?{_SUFFIX})[^\W\d_]{{3,}}(?:\.[^\W\d_]\w+){{2}}  # or a module in modules
      )(?:{_UNSPACED}|\(\))+
    | (?= (?:{_JOINED})*?                            # what tells later that it is a file, a host, an address,
          (?:\w{{2}}{_SUFFIX} | \w@\w | \w\(\) | \d\.\d+\.\d)  # a function or a version
      )(?:(?<=@)[\w-]+\.\w+|{_JOINED}|\(\))+
    )(?<![.:!?,;])""",
    re.VERBOSE,
)


def undivided(text: str, start: int, end: int) -> tuple[int, int]:
    """`start` and `end`, moved to the ends of the names that they stand in."""
    first, last = start, end
    while start - first < _LONGEST and first > 0 and not text[first - 1].isspace():
        first -= 1
    while last - end < _LONGEST and last < len(text) and not text[last].isspace():
        last += 1
    for name in _NAME.finditer(text, first, last):
        if len(name[0]) < _LONGEST:
            start = name.start() if name.start() < start < name.end() else start
            end = name.end() if name.start() < end < name.end() else end
    return start, end
