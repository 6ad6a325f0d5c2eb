"""Which attention the dispatcher of a card would take: the rules of torch's own selection, for dense tensors.

Source: ``aten/src/ATen/native/transformers/cuda/sdp_utils.cpp`` of torch 2.12 to 2.14, as its CUDA 13 wheels are
built (with flash and memory-efficient attention, and a cuDNN later than 9.15). What the versions decide differently
and no source here tells is not guessed: it raises Unsupported.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import torch

from evaluator.worker.errors import Unsupported
from evaluator.worker.targets.codegen.attention_order import Backend, is_on, order_of
from evaluator.worker.targets.codegen.card import Card

_HALVES: Final = (torch.float16, torch.bfloat16)
# Since then memory-efficient attention takes fewer heads of keys, and one shared by all is found (torch#191085).
_SHARED_HEADS: Final = (2, 14)
_CUDNN_LARGEST: Final = 65535
# The capabilities that flash and memory-efficient attention were built for.
_FUSED: Final = ((8, 0), (12, 1))
_EFFICIENT_FROM: Final = (5, 0)
# Here flash attention has no backward for some large heads.
_SMALL_SHARED: Final = (((8, 6), (8, 9)), ((12, 0), (12, 1)))


@dataclass(frozen=True)
class Call:
    """One call of ``scaled_dot_product_attention``; the tensors may be without data.

    ``grad``: whether the grad mode is on and an input needs a gradient.
    """

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor
    mask: torch.Tensor | None
    dropout: float
    causal: bool
    grouped: bool
    grad: bool

    @property
    def head(self) -> Any:
        return self.query.size(-1)


@dataclass(frozen=True)
class Choice:
    """The backend, and in a few words why it and none before it."""

    backend: Backend
    why: str


def choose(call: Call, card: Card) -> Choice:
    """The backend that the card's dispatcher takes. Raises Unsupported where that can't be known, or none does."""
    passed: list[str] = []
    refusing = {"cudnn": _not_cudnn, "flash": _not_flash, "efficient": _not_efficient}
    for backend in order_of(card):
        if not is_on(backend):
            passed.append(f"no {backend}: the program has it off")
            continue
        why = (
            None
            if backend == "math"
            else _not_fused(call) or _not_heads(call, backend) or refusing[backend](call, card)
        )
        if why is None:
            return Choice(backend, "; ".join(passed) or "the first that is asked, and it takes it")
        passed.append(f"no {backend}: {why}")
    raise Unsupported(f"the card has no attention for a call, and raises: {'; '.join(passed)}")


def _known(condition: Any) -> bool:
    """Whether a condition on sizes holds for certain; one on symbols that may or may not hold does not."""
    if isinstance(condition, bool):
        return condition
    from torch.fx.experimental.symbolic_shapes import guard_or_false

    return bool(guard_or_false(condition))


def _not_fused(call: Call) -> str | None:
    tensors = (call.query, call.key, call.value)
    if any(tensor.dim() != 4 for tensor in tensors):
        return "the inputs do not have four dimensions"
    if len({tensor.dtype for tensor in tensors}) > 1:
        return "the inputs differ in dtype"
    if any(not _known(size != 0) for size in (call.query.size(-2), call.key.size(-2), call.value.size(-2))):
        return "a sequence may be empty"
    last = [tensor.stride(-1) for tensor in tensors]
    if call.mask is not None and call.mask.dim() > 0:
        last.append(call.mask.stride(-1))
    if any(not _known(stride == 1) for stride in last):
        return "the last dimension is not contiguous"
    return None


def _not_heads(call: Call, backend: Backend) -> str | None:
    batches = [tensor.size(0) for tensor in (call.query, call.key, call.value)]
    heads = [tensor.size(1) for tensor in (call.query, call.key, call.value)]
    if any(not _known(batch == batches[0]) for batch in batches):
        return "the inputs differ in batch size"
    if call.grouped:
        if backend == "efficient" and _version() < _SHARED_HEADS and not _known(heads[0] == heads[1]):
            return "heads of keys are shared by queries"
        if not _known(heads[1] == heads[2]) or not _known(heads[0] % heads[1] == 0):
            return "the heads do not divide into groups"
        return None
    if shares_one_head(call.query, call.key, call.value):
        return None
    if any(not _known(count == heads[0]) for count in heads):
        return "the inputs differ in heads and grouping is off"
    return None


def shares_one_head(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> bool:
    """Whether all heads of the queries share one of the keys in a torch that takes it without being told so."""
    one = _known(key.size(1) == 1) and _known(value.size(1) == 1)
    return one and not _known(query.size(1) == 1) and _version() >= _SHARED_HEADS


def _between(card: Card, low: tuple[int, int], high: tuple[int, int]) -> bool:
    return low <= card.capability <= high


def _not_flash(call: Call, card: Card) -> str | None:
    if call.mask is not None:
        return "there is a mask"
    sizes = (call.key.size(-1), call.value.size(-1))
    if any(not _known(size == call.head) for size in sizes) or not _known(call.head <= 256):
        return "heads of different or too large size"
    if not _between(card, *_FUSED):
        return "not built for this card"
    if call.query.dtype not in _HALVES:
        return f"{_short(call.query.dtype)} is not half precision"
    if call.causal and not _known(call.query.size(-2) == call.key.size(-2)):
        return "causal, and the sequences differ in length"
    small = any(_between(card, *span) for span in _SMALL_SHARED)
    without_dropout = call.dropout == 0.0 and _known(call.head > 224)
    if call.grad and small and not (_known(call.head <= 192) or without_dropout):
        return "no backward for heads of this size on this card"
    return None


def _not_efficient(call: Call, card: Card) -> str | None:
    if not _between(card, _EFFICIENT_FROM, _FUSED[1]):
        return "not built for this card"
    if call.query.dtype not in (*_HALVES, torch.float32):
        return f"{_short(call.query.dtype)} is not taken"
    alignment = 8 if call.query.dtype in _HALVES else 4
    sizes = (call.head, call.value.size(-1))
    if not _known(call.key.size(-1) == call.head) or any(not _known(size % alignment == 0) for size in sizes):
        return f"heads of a size that {alignment} does not divide"
    return None


def _not_cudnn(call: Call, card: Card) -> str | None:
    if call.query.dtype not in _HALVES:
        return f"{_short(call.query.dtype)} is not half precision"
    if call.dropout * 16 != int(call.dropout * 16):
        return "a dropout that is no sixteenth"
    if not _known(call.query.size(0) <= _CUDNN_LARGEST) or not _known(call.query.size(1) <= _CUDNN_LARGEST):
        return "too many batches or heads"
    sizes = (call.head, call.value.size(-1))
    if any(not _known(size % 8 == 0) for size in sizes):
        return "heads of a size that 8 does not divide"
    if any(not _known(size <= 128) for size in sizes):
        return _large_heads(sizes)
    if not _known(call.key.size(-2) != 1):
        return "one key"
    if call.dropout != 0.0 and not _known(call.query.size(-2) != 1):
        return "one query with dropout"
    if (
        torch.are_deterministic_algorithms_enabled()
        and not torch.is_deterministic_algorithms_warn_only_enabled()
    ):
        return "it is not deterministic"
    return None


def _large_heads(sizes: tuple[Any, Any]) -> str | None:
    if sizes == (192, 128):
        return None
    if _version() < (2, 13):
        return "heads larger than 128"
    raise Unsupported(
        f"attention with heads of {sizes[0]}: whether cuDNN takes it depends on the cuDNN that torch was built with"
    )


def _version() -> tuple[int, int]:
    major, minor = torch.__version__.split(".")[:2]
    return int(major), int(minor)


def hides_with_a_number() -> bool:
    """Whether cuDNN's boolean masks become -65504 where they hide, and not minus infinity (torch#177868)."""
    return _version() < (2, 12)


def _short(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
