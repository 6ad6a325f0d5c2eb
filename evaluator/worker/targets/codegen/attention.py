"""Attention as the card would run it, put in while AOTAutograd traces: its dispatcher's operator, not the CPU's.

``scaled_dot_product_attention`` is taken apart by the device of its inputs, which here is the CPU. While a graph is
traced it is taken apart by the card's rules instead, to the very operators (with their own backward) that
a CUDA build has; what runs on the CPU in their place is in ``host``.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator
from typing import Any, Final

import torch

from evaluator.worker.targets.codegen import internals
from evaluator.worker.targets.codegen.attention_rules import (
    Call,
    Choice,
    choose,
    hides_with_a_number,
    shares_one_head,
)
from evaluator.worker.targets.codegen.card import Card
from evaluator.worker.targets.codegen.dispatching import taken_apart

_ATTENTION: Final = "torch.ops.aten:scaled_dot_product_attention.default"
# A mask of memory-efficient attention is padded to this many columns.
_MASK_ALIGNMENT: Final = 16
_FLASH_ALIGNMENT: Final = 8


@contextlib.contextmanager
def of_card(card: Card, note: Callable[[Choice], None]) -> Iterator[None]:
    """Inside, attention is traced as the card's dispatcher decides; ``note`` hears each decision."""

    def attention(*args: Any, **kwargs: Any) -> torch.Tensor:
        return _attention(card, note, *args, **kwargs)

    with taken_apart(internals.get(_ATTENTION), attention):
        yield


def _attention(
    card: Card,
    note: Callable[[Choice], None],
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    needs = any(tensor.requires_grad for tensor in (query, key, value))
    grad = torch.is_grad_enabled() and needs
    chosen = choose(Call(query, key, value, attn_mask, dropout_p, is_causal, enable_gqa, grad), card)
    note(chosen)
    mask = _additive(attn_mask, query.dtype, -65504.0 if _finite(chosen) else -math.inf)
    match chosen.backend:
        case "cudnn":
            operator = internals.get("torch.ops.aten:_scaled_dot_product_cudnn_attention.default")
            out = operator(query, key, value, mask, grad, dropout_p, is_causal, False, scale=scale)[0]
        case "flash":
            out = _flash(query, key, value, dropout_p, is_causal, scale)
        case "efficient":
            operator = internals.get("torch.ops.aten:_scaled_dot_product_efficient_attention.default")
            bias = None if mask is None else _padded_mask(mask, query, key)
            if shares_one_head(query, key, value):
                key, value = (tensor.expand(-1, query.size(1), -1, -1) for tensor in (key, value))
            out = operator(query, key, value, bias, grad, dropout_p, is_causal, scale=scale)[0]
        case "math":
            operator = internals.get("torch.ops.aten:_scaled_dot_product_attention_math.default")
            out = operator(
                query, key, value, mask, dropout_p, is_causal, None, scale=scale, enable_gqa=enable_gqa
            )[0]
    result: torch.Tensor = out
    return result


def _finite(chosen: Choice) -> bool:
    return chosen.backend == "cudnn" and hides_with_a_number()


def _flash(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    dropout: float,
    causal: bool,
    scale: float | None,
) -> torch.Tensor:
    head = query.size(-1)
    lacking = -head % _FLASH_ALIGNMENT
    if lacking:
        query, key, value = (torch.nn.functional.pad(tensor, (0, lacking)) for tensor in (query, key, value))
    operator = internals.get("torch.ops.aten:_scaled_dot_product_flash_attention.default")
    out: torch.Tensor = operator(
        query, key, value, dropout, causal, False, scale=1 / math.sqrt(head) if scale is None else scale
    )[0]
    return out[..., :head] if lacking else out


def _additive(mask: torch.Tensor | None, dtype: torch.dtype, hidden: float) -> torch.Tensor | None:
    if mask is None or mask.dtype != torch.bool:
        return mask
    shown = torch.scalar_tensor(0.0, dtype=dtype, device=mask.device)
    return torch.where(mask.logical_not(), hidden, shown)


def _padded_mask(mask: torch.Tensor, query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
    columns = mask.size(-1)
    lacking = -columns % _MASK_ALIGNMENT
    if lacking:
        mask = torch.nn.functional.pad(mask, (0, lacking))[..., :columns]
    return mask.expand(query.size(0), query.size(1), query.size(2), key.size(2))
