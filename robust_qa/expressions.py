"""Retriever expressions such as `web@rr@5 & wiki@5 @cp`: parse them into a tree and print them.

The notation follows the Ensemble of Retrievers (Li et al. 2024, Section 2.1). Grammar, tightest binding first:

    atom        NAME | NAME ( expression ) | ( expression )
    term        atom, then any of these, applied from left to right:
                @rr  (rerank),  @K  (the first K),  @chunkN  (parts of N words),  @cutN  (the first N words of each)
    joined      term & term & ...
    expression  joined, then  @cp  (compress into one passage)
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

MOST = 10_000  # the largest K and the largest N
CANDIDATES = 40  # minimum number of passages to rerank
_NAME = r"[A-Za-z][\w-]*"


@dataclass(frozen=True, slots=True)
class Source:
    """A name: a retriever, a named expression, or one of BUILT_IN."""

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
    """The passages, reranked by the evaluator."""

    inner: Tree

    def __str__(self) -> str:
        return f"{_operand(self.inner)}@rr"


@dataclass(frozen=True, slots=True)
class Chunked:
    """Each passage cut into passages of about `words` words."""

    inner: Tree
    words: int

    def __str__(self) -> str:
        return f"{_operand(self.inner)}@chunk{self.words}"


@dataclass(frozen=True, slots=True)
class Shortened:
    """The first `words` words of each passage, title included."""

    inner: Tree
    words: int

    def __str__(self) -> str:
        return f"{_operand(self.inner)}@cut{self.words}"


@dataclass(frozen=True, slots=True)
class Joined:
    """The passages of all parts in order, deduplicated."""

    parts: tuple[Tree, ...]

    def __str__(self) -> str:
        return " & ".join(map(_operand, self.parts))


@dataclass(frozen=True, slots=True)
class Compressed:
    """All passages compressed into one by the reader."""

    inner: Tree

    def __str__(self) -> str:
        return f"{self.inner} @cp"


@dataclass(frozen=True, slots=True)
class Applied:
    """The passages as corrected by the strategy `name`: `crag(wiki@10)`."""

    name: str
    inner: Tree

    def __str__(self) -> str:
        return f"{self.name}({self.inner})"


Tree: TypeAlias = Source | Top | Reranked | Chunked | Shortened | Joined | Compressed | Applied


def _operand(tree: Tree) -> str:
    return f"({tree})" if isinstance(tree, Joined | Compressed) else str(tree)


# -- parsing


def parse_expression(text: str) -> Tree:
    """Parse an expression. `str` of the tree is its canonical spelling.

    Raises ExpressionError, which shows the position of the error.
    """
    return _Parser(text).parse()


class _Parser:
    """A recursive descent parser with one method per grammar rule. `_at` is the next position."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def parse(self) -> Tree:
        tree = self._expression()
        if self._at < len(self._text):
            self._fail("Expected @ or &")
        return tree

    def _expression(self) -> Tree:
        self._space()
        terms = [self._term()]
        while self._take(r"&"):
            terms.append(self._term())
        tree = terms[0] if len(terms) == 1 else Joined(tuple(terms))
        while self._take(r"@\s*cp\b"):
            tree = Compressed(tree)
        if isinstance(tree, Compressed) and self._sees(r"[@&]"):
            self._fail("@cp must come last. Use parentheses, for example (wiki@10 @cp) & web@2")
        return tree

    def _term(self) -> Tree:
        tree = self._atom()
        while not self._sees(r"@\s*cp\b") and self._take(r"@"):
            if self._take(r"rr\b"):
                tree = Reranked(tree)
            elif self._take(r"chunk(?=\s*[0-9])"):
                tree = Chunked(tree, self._number("words"))
            elif self._take(r"cut(?=\s*[0-9])"):
                tree = Shortened(tree, self._number("words"))
            elif self._sees(r"[0-9]"):
                tree = Top(tree, self._number("passages"))
            else:
                self._fail("Expected a number of passages, rr, cp, or chunk or cut with a number of words after @")
        return tree

    def _number(self, of: str) -> int:
        start = self._at
        digits = self._take(r"[0-9]{1,9}")
        if not 1 <= int(digits) <= MOST:
            self._fail(f"The number of {of} must be 1 to {MOST}", start)
        return int(digits)

    def _atom(self) -> Tree:
        start = self._at
        name = self._take(_NAME)
        parenthesis = self._at
        if not self._take(r"\("):
            if not name:
                self._fail("Expected a retriever's name or (")
            return Source(name)
        if name in BUILT_IN:
            self._fail(f"{name} takes no parentheses. Only strategies that correct passages do", start)
        inner = self._expression()
        if not self._take(r"\)"):
            if self._at < len(self._text):
                self._fail("Expected @, & or )")
            self._fail("This ( is not closed", parenthesis)
        return Applied(name, inner) if name else inner

    def _sees(self, pattern: str) -> re.Match[str] | None:
        return re.compile(pattern, re.IGNORECASE).match(self._text, self._at)

    def _take(self, pattern: str) -> str:
        """Return the text that matches at the current position, or "". Move past it and the following space."""
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
            hint="See `rqa help expressions` for the notation.",
        )


def is_free_name(text: str) -> bool:
    """Return whether `text` is a valid name in expressions and not built in."""
    return re.fullmatch(_NAME, text) is not None and text not in BUILT_IN


# -- working on trees


def nodes(tree: Tree) -> Iterator[Tree]:
    """Return the tree and all its nodes, from the left."""
    yield tree
    if not isinstance(tree, Source):
        for inner in tree.parts if isinstance(tree, Joined) else (tree.inner,):
            yield from nodes(inner)


def sources(tree: Tree) -> list[str]:
    """Return the names of the tree's sources, from the left, without duplicates."""
    return list(dict.fromkeys(node.name for node in nodes(tree) if isinstance(node, Source)))


def names_given(tree: Tree) -> bool:
    """Return whether the tree uses the question's own passages."""
    return not GIVEN_PARTS.keys().isdisjoint(sources(tree))


def expanded(tree: Tree, named: Mapping[str, Tree]) -> Tree:
    """Replace the names of named expressions by the expressions. Raises ConfigError if they form a cycle."""

    def expand(tree: Tree, within: tuple[str, ...]) -> Tree:
        if not isinstance(tree, Source):
            return _rebuilt(tree, lambda inner: expand(inner, within))
        if tree.name not in named:
            return tree
        if tree.name in within:
            raise ConfigError(f"The expressions {' -> '.join((*within, tree.name))} form a cycle.")
        return expand(named[tree.name], (*within, tree.name))

    return expand(tree, ())


def sized(tree: Tree, k: int, *, given_k: int | None = None, wanted: int | None = None) -> Tree:
    """Return `tree` with a number of passages at every retriever's name: `wanted`, or the default `k`.

    Under `@rr@K` a name without a number gets max(CANDIDATES, 4 K), so that `web@rr@5` is the beginning of
    `web@rr@10` as in the paper (Appendix C.1). Under `@chunkN` it gets the default, because a passage has many chunks.
    `given_k` limits the question's own passages; None keeps all.
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
        case Compressed() | Applied() | Chunked():
            return _rebuilt(tree, lambda inner: sized(inner, k, given_k=given_k))
        case _:
            return _rebuilt(tree, lambda inner: sized(inner, k, given_k=given_k, wanted=wanted))


def _rebuilt(tree: Tree, change: Callable[[Tree], Tree]) -> Tree:
    """Return `tree` with `change` applied to each operand."""
    match tree:
        case Source():
            return tree
        case Joined(parts):
            return Joined(tuple(map(change, parts)))
        case _:
            return dataclasses.replace(tree, inner=change(tree.inner))
