"""Operators made of others, taken apart by a function of the target's while AOTAutograd traces."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from torch._C import DispatchKey

_KEY = DispatchKey.CompositeImplicitAutograd


@contextlib.contextmanager
def taken_apart(operator: Any, by: Callable[..., Any]) -> Iterator[None]:
    """Inside, where Python dispatches, ``by`` is called in place of what torch makes the operator of."""
    before = operator.py_kernels.get(_KEY)
    operator.py_kernels[_KEY] = by
    operator._dispatch_cache.clear()
    try:
        yield
    finally:
        if before is None:
            del operator.py_kernels[_KEY]
        else:
            operator.py_kernels[_KEY] = before
        operator._dispatch_cache.clear()


def as_torch_does(operator: Any, *args: Any, **kwargs: Any) -> Any:
    """The operator as torch makes it of others, whatever is put in its place."""
    return operator._op_dk(_KEY, *args, **kwargs)
