"""One module's text as top-level statements: which names each binds and uses, and what a set of them needs.

Everything is decided from the syntax tree. Two links go beyond plain names: a custom operator is needed by
`torch.ops.<namespace>.<name>` and not by its Python name, and a statement that acts on something included
(`operator.register_fake(...)`, `Net.scale = 2`, `torch.set_flush_denormal(True)`) belongs to it.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import CodeType

from workloads.names import Definition, acted_on_by, bound_by, names_in, root


def is_ours(module: str) -> bool:
    """Whether a module is part of `workloads`, which a stand-alone text can't import."""
    return module.split(".")[0] == "workloads"


@dataclass(frozen=True)
class Statement:
    """One top-level statement, an import split into one a name. `acts_on`: names it changes when it runs."""

    text: str
    binds: frozenset[str]
    uses: frozenset[str]
    annotates: frozenset[str] = frozenset()
    acts_on: frozenset[str] = frozenset()
    operators: frozenset[str] = frozenset()
    imports: str | None = None
    node: ast.stmt | None = None


@dataclass
class Closure:
    """The text of all that is needed, in order, as (text, names it binds), and which names of ours it uses."""

    chunks: list[tuple[str, frozenset[str]]] = field(default_factory=list)
    statements: frozenset[int] = frozenset()
    uses_ours: set[str] = field(default_factory=set)


class ModuleText:
    """A module's source, cut into statements."""

    def __init__(self, source: str, package: str) -> None:
        self.source = source
        self.package = package
        self.tree = ast.parse(source)
        self.future: list[str] = []
        self.ours = self._names_of_ours()
        self.statements: list[Statement] = []
        for index, node in enumerate(self.tree.body):
            self.statements.extend(self._cut(node, index))

    @classmethod
    def read(cls, file: str, package: str) -> ModuleText:
        """The module in that file; relative imports are made absolute with `package`."""
        return cls(Path(file).read_text(encoding="utf-8"), package)

    @cached_property
    def _binders(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for index, statement in enumerate(self.statements):
            for name in statement.binds:
                found.setdefault(name, []).append(index)
        return found

    def definition(self, name: str, line: int | None) -> int | None:
        """The statement that defines the function or class `name`; `line` tells redefinitions apart."""
        found = None
        for index in self._binders.get(name, []):
            node = self.statements[index].node
            if isinstance(node, Definition):
                first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
                if line in (None, first):
                    found = index
        return found

    def lambda_of(self, code: CodeType) -> ast.Lambda | None:
        """The lambda expression that was compiled to this code, by its position; None if there is none."""
        spans = [p for p in code.co_positions() if p[0] and p[1] and p[2] is not None and p[3]]
        fitting = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, ast.Lambda)
            and node.lineno == code.co_firstlineno
            and any(_within(span, node.body) for span in spans)
        ]
        return min(fitting, key=lambda node: len(self.segment(node)), default=None)

    def redefined(self, index: int, among: frozenset[int]) -> bool:
        """Whether one of these statements binds, after this one, the name that this one defines."""
        return any(
            later > index and self.statements[later].binds & self.statements[index].binds for later in among
        )

    def users_of(self, node: ast.expr) -> set[int]:
        """The statements that bind what the expression uses."""
        uses, annotates, operators = names_in(node)
        return self.closure_start(uses | annotates | operators)

    def segment(self, node: ast.AST) -> str:
        """The text of one node."""
        return ast.get_source_segment(self.source, node) or ""

    def closure_start(self, names: Iterable[str]) -> set[int]:
        """The statements that bind any of the names, or define an operator of that name."""
        found: set[int] = set()
        for name in names:
            found.update(self._binders.get(name, []))
            if "::" in name:
                found.update(i for i, statement in enumerate(self.statements) if name in statement.operators)
        return found

    def closure(self, start: Iterable[int]) -> Closure:
        """Everything these statements need, directly or not."""
        wanted: set[int] = set()
        names: set[str] = set()
        todo = set(start)
        while todo:
            wanted |= todo
            for index in todo:
                statement = self.statements[index]
                names |= statement.uses | statement.annotates | statement.operators
            todo = (self.closure_start(names) | self._acting_on(wanted)) - wanted
        closure = Closure(statements=frozenset(wanted))
        used = {name for index in wanted for name in self.statements[index].uses}
        for index in sorted(wanted):
            statement = self.statements[index]
            if statement.imports is not None and is_ours(statement.imports):
                # Types of ours named in annotations; nothing runs with them.
                name = min(statement.binds)
                closure.chunks.append(
                    (f"{name} = object  # a type of the evaluator's, only named here", statement.binds)
                )
                closure.uses_ours |= statement.binds & used
            else:
                closure.chunks.append((statement.text, statement.binds))
        return closure

    def _acting_on(self, wanted: set[int]) -> set[int]:
        bound = {name for index in wanted for name in self.statements[index].binds}
        return {i for i, s in enumerate(self.statements) if s.acts_on & bound and not s.uses & self.ours}

    def _cut(self, node: ast.stmt, index: int) -> Iterator[Statement]:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            self.future.extend(alias.name for alias in node.names)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from self._cut_import(node)
        elif not (index == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            yield self._cut_other(node)

    def _cut_import(self, node: ast.Import | ast.ImportFrom) -> Iterator[Statement]:
        for alias in node.names:
            tail = f" as {alias.asname}" if alias.asname else ""
            bound = frozenset({alias.asname or alias.name.split(".")[0]})
            if isinstance(node, ast.Import):
                yield Statement(f"import {alias.name}{tail}", bound, frozenset(), imports=alias.name)
            else:
                module = self._absolute(node)
                yield Statement(
                    f"from {module} import {alias.name}{tail}", bound, frozenset(), imports=module
                )

    def _cut_other(self, node: ast.stmt) -> Statement:
        acts_on: set[str] = set()
        if isinstance(node, Definition):
            kept = [d for d in node.decorator_list if not root(d) & self.ours]
            text = "".join(f"@{self.segment(decorator)}\n" for decorator in kept) + self.segment(node)
            node_kept = copy.copy(node)
            node_kept.decorator_list = kept
            uses, annotates, operators = names_in(node_kept)
            acts_on = {name for decorator in kept for name in root(decorator)} - self._imported
        else:
            text = self.segment(node)
            uses, annotates, operators = names_in(node)
            acts_on = acted_on_by(node)
        return Statement(
            text, frozenset(bound_by(node)), uses, annotates, frozenset(acts_on), operators, node=node
        )

    @cached_property
    def _imported(self) -> set[str]:
        return {
            alias.asname or alias.name.split(".")[0]
            for node in self.tree.body
            if isinstance(node, (ast.Import, ast.ImportFrom))
            for alias in node.names
        }

    def _names_of_ours(self) -> frozenset[str]:
        """Names that lead to `workloads`: imported from it, or defined with the help of such a name."""
        ours: set[str] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom) and is_ours(self._absolute(node)):
                ours.update(alias.asname or alias.name for alias in node.names)
            elif isinstance(node, ast.Import):
                ours.update(a.asname or a.name.split(".")[0] for a in node.names if is_ours(a.name))
        while True:
            more: set[str] = set()
            for statement in self.tree.body:
                if isinstance(statement, (ast.FunctionDef, ast.Assign)):
                    bare = copy.copy(statement)
                    if isinstance(bare, ast.FunctionDef):
                        bare.decorator_list = []
                    if names_in(bare)[0] & ours:
                        more.update(bound_by(statement))
            if more <= ours:
                return frozenset(ours)
            ours |= more

    def _absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parents = self.package.split(".")[: len(self.package.split(".")) - node.level + 1]
        return ".".join([*parents, *([node.module] if node.module else [])])


def _within(span: tuple[int | None, int | None, int | None, int | None], node: ast.expr) -> bool:
    start, end, column, end_column = span
    return (start, column) >= (node.lineno, node.col_offset) and (end, end_column) <= (
        node.end_lineno,
        node.end_col_offset,
    )
