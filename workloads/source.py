"""The stand-alone text of a workload: its functions and, from their modules, all that they use by name.

Names are followed through the syntax tree, so the text depends on what is used and not on what else stands in
the file, and it is the same under every Python version. Registering decorators are left out. What can't be
followed (a closure, a method of an object, a use of `workloads` itself) raises NotStandalone.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Mapping
from functools import partial
from types import FunctionType
from typing import Any, Final

from workloads.syntax import ModuleText, is_ours

LITERALS: Final = (bool, int, float, str, bytes)


class NotStandalone(Exception):
    """Why the text of these functions can't run without the file they stand in."""


def standalone_source(parts: Mapping[str, object], home: str) -> str:
    """Python text that defines each name of `parts` as that function, class or `functools.partial` of them.

    `home` is the module that registered them. Functions of it and of `workloads` itself are included as text;
    those of any other module are imported from there. Raises NotStandalone.
    """
    collector = _Collector(home)
    expressions = {name: collector.expression(part) for name, part in parts.items()}
    return collector.render(expressions)


class _Collector:
    """What has to be in the text so far."""

    def __init__(self, home: str) -> None:
        self.home = home
        self.modules: dict[str, ModuleText] = {}
        self.wanted: dict[str, set[int]] = {}
        self.defined: dict[str, set[int]] = {}
        self.imports: set[str] = set()

    def expression(self, part: object) -> str:
        """The expression that stands for the part, after including what it needs."""
        if part is None or isinstance(part, LITERALS):
            return repr(part)
        if isinstance(part, partial):
            self.imports.add("import functools")
            arguments = [self.expression(item) for item in (part.func, *part.args)]
            arguments += [f"{key}={self.expression(item)}" for key, item in part.keywords.items()]
            return f"functools.partial({', '.join(arguments)})"
        if isinstance(part, type):
            return self._named(part.__module__, part.__qualname__, None)
        function = inspect.unwrap(part) if callable(part) else part
        if not isinstance(function, FunctionType):
            raise NotStandalone(
                f"{_shown(part)} is a {type(part).__name__}, not a function, a class or a partial of one"
            )
        if function.__code__.co_freevars:
            names = ", ".join(function.__code__.co_freevars)
            raise NotStandalone(f"{function.__qualname__} uses {names} of the function it was made in")
        if function.__name__ == "<lambda>":
            return self._lambda(function)
        return self._named(function.__module__, function.__qualname__, function.__code__.co_firstlineno)

    def _named(self, module: str, qualname: str, line: int | None) -> str:
        if module != self.home and not is_ours(module):
            if "." in qualname:
                raise NotStandalone(f"{module}.{qualname} can't be imported by that name")
            self.imports.add(f"from {module} import {qualname}")
            return qualname
        statement = self._module(module).definition(qualname, line)
        if statement is None:
            raise NotStandalone(f"{qualname} is not defined at the top of {module}")
        self.wanted.setdefault(module, set()).add(statement)
        self.defined.setdefault(module, set()).add(statement)
        return qualname

    def _lambda(self, function: FunctionType) -> str:
        module = self._module(function.__module__)
        found = module.lambda_of(function.__code__)
        if found is None:
            raise NotStandalone(
                f"the lambda at {function.__module__}:{function.__code__.co_firstlineno} was not found"
            )
        self.wanted.setdefault(function.__module__, set()).update(module.users_of(found))
        return f"({module.segment(found)})"

    def _module(self, name: str) -> ModuleText:
        if name not in self.modules:
            file = getattr(sys.modules.get(name), "__file__", None)
            if file is None:
                raise NotStandalone(f"{name} has no file")
            self.modules[name] = ModuleText.read(file, getattr(sys.modules[name], "__package__", None) or "")
        return self.modules[name]

    def render(self, expressions: Mapping[str, str]) -> str:
        """The whole text; NotStandalone where it would need `workloads` or two things under one name."""
        chunks: list[str] = []
        bound: dict[str, str] = {}
        future: set[str] = set()
        for name in sorted(self.wanted, key=lambda module: (module == self.home, module)):
            module = self.modules[name]
            closure = module.closure(self.wanted[name])
            if closure.uses_ours:
                raise NotStandalone(f"it uses {', '.join(sorted(closure.uses_ours))} of workloads itself")
            if any(module.redefined(index, closure.statements) for index in self.defined.get(name, ())):
                raise NotStandalone(f"a function of {name} is defined again under the same name")
            if name == self.home:
                future.update(module.future)
            before = set(chunks)
            for text, names in closure.chunks:
                if text in before:
                    continue
                clash = sorted(n for n in names if bound.get(n, name) != name)
                if clash:
                    raise NotStandalone(f"{clash[0]} means different things in {bound[clash[0]]} and {name}")
                bound.update(dict.fromkeys(names, name))
                chunks.append(text)
        for name, expression in expressions.items():
            if name in bound and expression != name:
                raise NotStandalone(f"another function is called {name}: give it another name")
        tail = [f"{name} = {expression}" for name, expression in expressions.items() if name != expression]
        head = [f"from __future__ import {', '.join(sorted(future))}"] if future else []
        return _join([*head, *sorted(self.imports - set(chunks)), *chunks, *tail])


def _join(chunks: list[str]) -> str:
    """The chunks one after the other, with two blank lines around functions and classes."""
    text = ""
    before: str | None = None
    for chunk in chunks:
        if before is not None:
            text += "\n\n\n" if _is_block(before) or _is_block(chunk) else "\n"
        text += chunk
        before = chunk
    return text + "\n"


def _is_block(chunk: str) -> bool:
    node = ast.parse(chunk).body[0]
    return isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))


def _shown(part: Any) -> str:
    return str(getattr(part, "__qualname__", type(part).__name__))
