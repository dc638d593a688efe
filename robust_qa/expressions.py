"""Retriever expressions: `web@rr@5 & wiki@5 @cp`, parsed into a tree of plain data and printed back.

The notation is that of the Ensemble of Retrievers (Li et al. 2024, Section 2.1). From the tightest to the loosest::

    atom        NAME | NAME ( expression ) | ( expression )
    term        atom, then any of  @rr  (rerank)  and  @K  (the first K), applied from left to right
    joined      term & term & ...
    expression  joined, then  @cp  (compress into one passage)

What the names stand for, and how a tree is evaluated, is in pool.py.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from .errors import ConfigError, ExpressionError
from .types import Passage

MEMORY = "pk"  # parametric knowledge: a passage that the reader writes
NOTHING = "none"  # retrieval-free
GIVEN = "given"  # the question's own passages
GIVEN_PARTS: Mapping[str, Callable[[Sequence[Passage]], Sequence[Passage]]] = {
    GIVEN: lambda own: own,
    f"{GIVEN}-first": lambda own: own[: (len(own) + 1) // 2],
    f"{GIVEN}-last": lambda own: own[(len(own) + 1) // 2 :],
    f"{GIVEN}-odd": lambda own: own[::2],
    f"{GIVEN}-even": lambda own: own[1::2],
}
BUILT_IN = frozenset({MEMORY, NOTHING, *GIVEN_PARTS})

MOST = 10_000  # passages that one number may ask for
CANDIDATES = 40  # passages that are reranked, at least
_NAME = r"[A-Za-z][\w-]*"
_LONGEST = 2_000  # characters of an expression
_DEEPEST = 40  # @ and parentheses in an expression, which may all be in one another
_MOST_NAMED = 100  # named expressions that one expression may come to hold, and how many of them in one another:
_DEEPEST_NAMED = 5


@dataclass(frozen=True, slots=True)
class Source:
    """What a name stands for: a retriever, a named expression, or one of BUILT_IN."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Top:
    """The first `k` passages."""

    inner: Tree
    k: int

    def __str__(self) -> str:
        return f"{_operand(self.inner)}@{self.k}"


@dataclass(frozen=True, slots=True)
class Reranked:
    """The same passages in the evaluator's order."""

    inner: Tree

    def __str__(self) -> str:
        return f"{_operand(self.inner)}@rr"


@dataclass(frozen=True, slots=True)
class Joined:
    """The passages of each part after those of the one before, equal ones once."""

    parts: tuple[Tree, ...]

    def __str__(self) -> str:
        return " & ".join(map(_operand, self.parts))


@dataclass(frozen=True, slots=True)
class Compressed:
    """One passage, written by the reader out of all of them."""

    inner: Tree

    def __str__(self) -> str:
        return f"{self.inner} @cp"


@dataclass(frozen=True, slots=True)
class Applied:
    """What the strategy `name` makes of the passages: `crag(wiki@10)`."""

    name: str
    inner: Tree

    def __str__(self) -> str:
        return f"{self.name}({self.inner})"


Tree: TypeAlias = Source | Top | Reranked | Joined | Compressed | Applied


def _operand(tree: Tree) -> str:
    return f"({tree})" if isinstance(tree, Joined | Compressed) else str(tree)


# -- reading


def parse_expression(text: str) -> Tree:
    """The tree of an expression; `str` of it is the canonical spelling, which parses to the same tree.

    ExpressionError shows where it goes wrong.
    """
    return _Parser(text).parse()


class _Parser:
    """Recursive descent: a method for each rule of the grammar, `_at` being the next character."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._wraps = 0
        if len(text) > _LONGEST:
            self._at = _LONGEST
            self._fail(f"A retriever expression has at most {_LONGEST} characters")

    def parse(self) -> Tree:
        tree = self._expression()
        if self._at < len(self._text):
            self._fail("What can follow here is @ or &")
        return tree

    def _expression(self) -> Tree:
        self._space()
        terms = [self._term()]
        while self._take(r"&"):
            terms.append(self._term())
        tree = terms[0] if len(terms) == 1 else Joined(tuple(terms))
        while self._take(r"@\s*cp\b"):
            self._wrap()
            tree = Compressed(tree)
        if isinstance(tree, Compressed) and self._sees(r"[@&]"):
            self._fail("@cp binds loosest: put what it compresses in parentheses, as in (wiki@10 @cp) & web@2")
        return tree

    def _term(self) -> Tree:
        tree = self._atom()
        while not self._sees(r"@\s*cp\b") and self._take(r"@"):
            self._wrap()
            start = self._at
            if self._take(r"rr\b"):
                tree = Reranked(tree)
            elif digits := self._take(r"[0-9]{1,9}"):
                if not 1 <= int(digits) <= MOST:
                    self._fail(f"A number of passages is 1 to {MOST}", start)
                tree = Top(tree, int(digits))
            else:
                self._fail("After @ comes a number of passages, rr or cp")
        return tree

    def _atom(self) -> Tree:
        start = self._at
        name = self._take(_NAME)
        opened = self._at
        if not self._take(r"\("):
            if not name:
                self._fail("Here a retriever's name or ( is wanted")
            return Source(name)
        if name in BUILT_IN:
            self._fail(f"{name} stands alone; a strategy that corrects passages can have some in parentheses", start)
        self._wrap()
        inner = self._expression()
        if not self._take(r"\)"):
            if self._at < len(self._text):
                self._fail("What can follow here is @, & or )")
            self._fail("This ( is not closed", opened)
        return Applied(name, inner) if name else inner

    def _wrap(self) -> None:
        self._wraps += 1
        if self._wraps > _DEEPEST:
            self._fail(f"A retriever expression has at most {_DEEPEST} operators and parentheses")

    def _sees(self, pattern: str) -> re.Match[str] | None:
        return re.compile(pattern, re.IGNORECASE).match(self._text, self._at)

    def _take(self, pattern: str) -> str:
        """The text that matches here, and past it and the space behind it; empty when nothing does."""
        match = self._sees(pattern)
        if match is None:
            return ""
        self._at = match.end()
        self._space()
        return match.group()

    def _space(self) -> None:
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1

    def _fail(self, reason: str, at: int | None = None) -> NoReturn:
        at = self._at if at is None else at
        first = max(0, at - 60)
        shown = "".join(c if c.isprintable() else " " for c in self._text[first : at + 40])
        raise ExpressionError(
            f"{reason}:\n  {shown}\n  {' ' * (at - first)}^",
            hint="`rqa help expressions` has the notation.",
        )


def is_free_name(text: str) -> bool:
    """Whether `text` can name something in expressions."""
    return re.fullmatch(_NAME, text) is not None and text not in BUILT_IN


# -- working on trees


def nodes(tree: Tree) -> Iterator[Tree]:
    """The tree and all that stands in it, from the left."""
    yield tree
    if not isinstance(tree, Source):
        for inner in tree.parts if isinstance(tree, Joined) else (tree.inner,):
            yield from nodes(inner)


def sources(tree: Tree) -> list[str]:
    """The names that stand in it for passages, from the left, each once."""
    return list(dict.fromkeys(node.name for node in nodes(tree) if isinstance(node, Source)))


def names_given(tree: Tree) -> bool:
    """Whether passages that the question brings have a part in it."""
    return not GIVEN_PARTS.keys().isdisjoint(sources(tree))


def expanded(tree: Tree, named: Mapping[str, Tree]) -> Tree:
    """`tree` with the expressions that the configuration names in place of their names. ConfigError: in a circle."""
    budget = iter(range(_MOST_NAMED))

    def expand(tree: Tree, within: tuple[str, ...]) -> Tree:
        if not isinstance(tree, Source):
            return _rebuilt(tree, lambda inner: expand(inner, within))
        if tree.name not in named:
            return tree
        if tree.name in within:
            raise ConfigError(f"The expressions {' -> '.join((*within, tree.name))} go in a circle.")
        if len(within) == _DEEPEST_NAMED or next(budget, None) is None:
            raise ConfigError(f"The expression {(*within, tree.name)[0]!r} holds too many others.")
        return expand(named[tree.name], (*within, tree.name))

    return expand(tree, ())


def sized(tree: Tree, k: int, *, given_k: int | None = None, wanted: int | None = None) -> Tree:
    """`tree` with a number at every retriever's name: what is `wanted` around it, else the default `k`.

    Under `@rr@K` a name without a number gives CANDIDATES, or 4 K where that is more: `web@rr@5` is the beginning
    of `web@rr@10`, as in the paper (Appendix C.1). Of a question's own passages all are taken, or the first
    `given_k` where nothing else says how many.
    """
    match tree:
        case Source(name):
            if name not in BUILT_IN:
                return Top(tree, wanted or k)
            return Top(tree, given_k) if name in GIVEN_PARTS and given_k and not wanted else tree
        case Top(inner, most):
            candidates = max(4 * most, CANDIDATES) if isinstance(inner, Reranked) else most
            inner = sized(inner, k, wanted=candidates)
            return inner if isinstance(inner, Top) and inner.k <= most else Top(inner, most)
        case Compressed() | Applied():
            return _rebuilt(tree, lambda inner: sized(inner, k, given_k=given_k))
        case _:
            return _rebuilt(tree, lambda inner: sized(inner, k, given_k=given_k, wanted=wanted))


def _rebuilt(tree: Tree, change: Callable[[Tree], Tree]) -> Tree:
    """`tree` with each of its operands changed."""
    match tree:
        case Source():
            return tree
        case Joined(parts):
            return Joined(tuple(map(change, parts)))
        case _:
            return dataclasses.replace(tree, inner=change(tree.inner))
