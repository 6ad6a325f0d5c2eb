"""``torch.compile`` for a card that is not there: what a probe calls."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import torch

from evaluator.worker.errors import Unsupported
from evaluator.worker.targets.codegen import (
    asked,
    attention,
    decompositions,
    differs,
    internals,
    norms,
    recurrent,
    user_kernels,
)
from evaluator.worker.targets.codegen.attention_rules import Choice
from evaluator.worker.targets.codegen.card import Card
from evaluator.worker.targets.codegen.device import driver_of
from evaluator.worker.targets.codegen.retarget import Generated, inner_compiler, settings

# A mode is a set of options; this one changes nothing.
_PLAIN_MODES: Final = (None, "default")


@dataclass
class Codegen:
    """Compiles for one card and remembers what was decided on the way.

    ``generated``: the kernels, in order; ``attention``: which attention each call became, and why; ``notes``: what
    is here and would not be on the card; ``not_run``: kernels of the workload's own that were not executed, with why, all
    since it was made.
    """

    card: Card
    generated: list[Generated] = field(default_factory=list)
    attention: list[Choice] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    not_run: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, figures: Mapping[str, Any]) -> Codegen:
        """For a card's figures. Raises Unsupported where this torch lacks what the target leans on."""
        reason = internals.unsupported()
        if reason is not None:
            raise Unsupported(reason)
        return cls(Card(figures))

    def compile(self, built: Any, options: Mapping[str, Any]) -> Any:
        """``torch.compile`` with the options of a variant, whose backend generates for the card.

        Raises Unsupported for a backend that generates no code, and a mode that needs the card itself.
        """
        given = dict(options)
        backend = given.pop("backend", "inductor")
        if backend != "inductor":
            raise Unsupported(f"the backend {backend!r} generates no code for a card")
        mode = given.pop("mode", None)
        if mode not in _PLAIN_MODES:
            raise Unsupported(f"the mode {mode!r} records or times on the card itself")
        own = given.pop("options", None)
        return torch.compile(built, backend=self._backend(own), **given)

    @contextlib.contextmanager
    def walking(self) -> Iterator[None]:
        """The context in which compiled callables are called."""
        with user_kernels.recognised(), driver_of(self.card):
            yield

    def _left_out(self, kernel: str, why: str) -> None:
        self.not_run[kernel] = why
        self.notes.append(
            f"the Triton kernel {kernel} was not executed ({why}): what it writes stays as it was, so what the program "
            "decides by its values is not certain"
        )

    def _backend(self, own: Mapping[str, Any] | None) -> Callable[..., Any]:
        inner = inner_compiler(self.card, self.generated.append, self._left_out)

        def backend(graph_module: Any, example_inputs: Any) -> Any:
            asked.refuse(own or {})
            self.notes += differs.notes(graph_module)
            # Patterns registered while the card seems to be there would be traced on it.
            internals.get("torch._inductor.fx_passes.post_grad:lazy_init")()
            internals.get("torch._inductor.fx_passes.joint_graph:lazy_init")(torch.device("cpu"))
            compile_fx = internals.get("torch._inductor.compile_fx:compile_fx")
            uncached = internals.get("torch._functorch.config:patch")
            with (
                settings(),
                uncached(enable_autograd_cache=False),
                attention.of_card(self.card, self.attention.append),
                norms.of_card(),
                recurrent.refused(),
                decompositions.of_card(),
            ):
                return compile_fx(
                    graph_module, example_inputs, inner_compile=inner, config_patches=dict(own or {})
                )

        return backend
