"""Which names a piece of syntax binds and uses, decided without running it and alike under every Python version."""

from __future__ import annotations

import ast
import copy
import re
import symtable
from typing import Final

OPERATOR_NAME: Final = re.compile(r"\w+::\w+")
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def bound_by(node: ast.stmt) -> set[str]:
    """The names a top-level statement binds in its module, also within an `if`, `try`, `with` or loop."""
    if isinstance(node, Definition):
        return {node.name}
    bound: set[str] = set()
    todo: list[ast.AST] = [node]
    while todo:
        part = todo.pop()
        if isinstance(part, Definition):
            bound.add(part.name)
            continue
        if isinstance(part, (ast.Import, ast.ImportFrom)):
            bound.update(alias.asname or alias.name.split(".")[0] for alias in part.names)
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            bound.add(part.id)
        if not isinstance(part, (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            todo.extend(ast.iter_child_nodes(part))
    return bound


def acted_on_by(node: ast.AST) -> set[str]:
    """The names whose objects a statement changes: `a` for `a.b(c)`, for `a.b = c` and for `a[b] = c`.

    Also within an `if`, `try`, `with` or loop, but not where the file asks whether it is run as a script.
    """
    if isinstance(node, ast.If) and any(
        isinstance(n, ast.Name) and n.id == "__name__" for n in ast.walk(node.test)
    ):
        return set()
    if isinstance(node, ast.Expr):
        return set(root(node.value))
    if isinstance(node, (ast.Assign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return {name for target in targets if not isinstance(target, ast.Name) for name in root(target)}
    inner = [part for part in ast.iter_child_nodes(node) if isinstance(part, (ast.stmt, ast.excepthandler))]
    if isinstance(node, Definition):
        return set()
    return {name for part in inner for name in acted_on_by(part)}


def names_in(node: ast.AST) -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Module-level names the node's code uses, those its annotations use, and custom operators it names."""
    annotates: set[str] = set()
    operators: set[str] = set()
    for part in ast.walk(node):
        for annotation in (getattr(part, "annotation", None), getattr(part, "returns", None)):
            if isinstance(annotation, ast.AST):
                annotates.update(name.id for name in ast.walk(annotation) if isinstance(name, ast.Name))
        if (
            isinstance(part, ast.Constant)
            and isinstance(part.value, str)
            and OPERATOR_NAME.fullmatch(part.value)
        ):
            operators.add(part.value)
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Attribute):
            space = part.value
            if isinstance(space.value, ast.Attribute) and space.value.attr == "ops":
                operators.add(f"{space.attr}::{part.attr}")
    bare = ast.unparse(ast.fix_missing_locations(_WithoutAnnotations().visit(copy.deepcopy(node))))
    table = symtable.symtable(bare, "<statement>", "exec")
    return frozenset(_globals_of(table)), frozenset(annotates), frozenset(operators)


class _WithoutAnnotations(ast.NodeTransformer):
    """Drops annotations, so that what is left is what runs."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is None:
            return ast.Pass()
        return self.generic_visit(ast.Assign([node.target], node.value))


def _globals_of(table: symtable.SymbolTable) -> set[str]:
    at_top = table.get_type() == "module"
    found = {
        symbol.get_name()
        for symbol in table.get_symbols()
        if symbol.is_referenced() and (at_top or symbol.is_global())
    }
    for child in table.get_children():
        found |= _globals_of(child)
    return found


def root(node: ast.expr) -> frozenset[str]:
    """The name a chain of calls, attributes and indices starts from: `a` for `a.b(c)[0]`."""
    while True:
        if isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, (ast.Attribute, ast.Subscript)):
            node = node.value
        else:
            return frozenset({node.id}) if isinstance(node, ast.Name) else frozenset()
