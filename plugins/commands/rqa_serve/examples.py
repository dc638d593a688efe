"""Questions to begin with, made from sentences of the indexed documents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from robust_qa import Question
from robust_qa.kit import sentences, single_line

if TYPE_CHECKING:
    from robust_qa.answering import Session

_NAME = r"(?!(?:This|That|It|He|She)\b)(?:The )?[A-Z][\w’'-]+(?: (?:of (?:the )?)?[A-Z][\w’'-]+){0,4}"
_FORMS = (
    (re.compile(rf"({_NAME}) (was|were) (\w+ed|built|made) in \d{{4}}\b"), "When {1} {0} {2}?"),
    (re.compile(r"The ([a-z]+ )?(\w+(?:er|or|ist|ant|man)) (is|was) [A-Z]\w+ [A-Z]\w+"), "Who {2} the {0}{1}?"),
    (re.compile(rf"((?:The {_NAME})|(?:{_NAME} of {_NAME})) (is|was) the [a-z]"), "What {1} {0}?"),
)
_SHOWN = 3


async def examples(session: Session) -> list[str]:
    """Return up to three questions that indexed sentences answer, as far as rules can tell. Often there are none."""
    toolbox = session.toolbox_for(Question("Who was the first, and when was it built?"))
    found = [each for passage in await toolbox.retrieve(toolbox.question.text) for each in _asked(passage.text)]
    return [*dict.fromkeys(found)][:_SHOWN]


def _asked(text: str) -> Iterator[str]:
    for start, end in sentences(text):
        found = ((pattern.match(text, start, end), form) for pattern, form in _FORMS)
        yield from [single_line(form.format(*(each or "" for each in one.groups()))) for one, form in found if one][:1]
