"""Attention as the CPU has it, or written out, in place of the operators that only a card has: the same values, and
the same gradients."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, Final

import torch

Outputs = tuple[Any, ...]


def _laid_out(tensor: torch.Tensor, order: tuple[int, ...] | None) -> torch.Tensor:
    """The tensor with its memory in the order that the graph was traced with: later views rely on it."""
    if order is None or len(order) != tensor.dim():
        return tensor
    back = sorted(range(len(order)), key=lambda axis: order[axis])
    return tensor.permute(order).contiguous().permute(back)


def _all_laid_out(tensors: Iterable[torch.Tensor | None], layouts: Iterable[Any]) -> Outputs:
    pairs = zip(tensors, layouts, strict=False)
    return tuple(None if tensor is None else _laid_out(tensor, order) for tensor, order in pairs)


def _forward(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    bias: torch.Tensor | None,
    dropout: float,
    causal: bool,
    scale: float | None,
    seed: int,
) -> torch.Tensor:
    """Attention in float32 at least; ``seed`` decides what dropout hides, so backward hides the same."""
    wide = torch.float64 if query.dtype == torch.float64 else torch.float32
    groups = query.size(1) // key.size(1)
    if groups > 1:
        key, value = (tensor.repeat_interleave(groups, dim=1) for tensor in (key, value))
    if bias is None and not dropout and _cpu_takes(query, key, value):
        # Written out it takes a matrix of all scores, and eight times as long.
        fused = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
        given = (tensor.to(wide) for tensor in (query, key, value))
        out: torch.Tensor = fused(*given, 0.0, causal, scale=scale)[0]
        return out.to(query.dtype)
    scores = query.to(wide) @ key.to(wide).transpose(-1, -2)
    scores = scores * (1 / math.sqrt(query.size(-1)) if scale is None else scale)
    if bias is not None:
        scores = scores + bias
    if causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
        scores = scores.masked_fill(~seen, -math.inf)
    weights = torch.softmax(scores, dim=-1).nan_to_num(0.0)
    if dropout:
        drawn = torch.rand(weights.shape, generator=torch.Generator().manual_seed(seed))
        weights = weights * (drawn >= dropout) / (1 - dropout)
    return (weights @ value.to(wide)).to(query.dtype)


def _cpu_takes(*given: torch.Tensor) -> bool:
    """Whether the CPU's own fused operator is made for these."""
    heads = {tensor.size(-1) for tensor in given}
    return all(tensor.dim() == 4 and tensor.numel() for tensor in given) and len(heads) == 1


def _backward(
    grad_out: torch.Tensor, query: Any, key: Any, value: Any, bias: Any, *rest: Any
) -> tuple[Any, ...]:
    """Gradients of query, key, value, and of the bias (None without one)."""
    with torch.enable_grad():
        given = [None if one is None else one.detach().requires_grad_() for one in (query, key, value, bias)]
        out = _forward(*given, *rest)  # type: ignore[arg-type]
        wanted = [one for one in given if one is not None]
        found = list(torch.autograd.grad(out, wanted, grad_out.to(out.dtype)))
    return tuple(found) if bias is not None else (*found, None)


def _seed(dropout: float) -> int:
    """Where the generator of the process stands; without dropout it is left alone."""
    return int(torch.randint(2**31, ()).item()) if dropout else 0


def _statistics(query: torch.Tensor) -> torch.Tensor:
    """In place of the sums that a card's backward reads; the one here does not."""
    return torch.zeros(query.shape[:-1], dtype=torch.float32)


def _flash(
    layouts: Any,
    query: Any,
    key: Any,
    value: Any,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    *,
    scale: float | None = None,
) -> Outputs:
    seed = _seed(dropout_p)
    out = _laid_out(_forward(query, key, value, None, dropout_p, is_causal, scale, seed), layouts[0])
    kept = torch.tensor([seed, 0], dtype=torch.uint64)
    lengths = (query.size(-2), key.size(-2))
    return (out, _statistics(query), None, None, *lengths, kept, torch.zeros(()), torch.zeros(0))


def _flash_backward(
    layouts: Any,
    grad_out: Any,
    query: Any,
    key: Any,
    value: Any,
    out: Any,
    logsumexp: Any,
    cum_seq_q: Any,
    cum_seq_k: Any,
    max_q: Any,
    max_k: Any,
    dropout_p: float,
    is_causal: bool,
    philox_seed: Any,
    philox_offset: Any,
    *,
    scale: float | None = None,
) -> Outputs:
    seed = int(philox_seed.flatten()[0].item())
    grads = _backward(grad_out, query, key, value, None, dropout_p, is_causal, scale, seed)
    return _all_laid_out(grads[:3], layouts)


def _efficient(
    layouts: Any,
    query: Any,
    key: Any,
    value: Any,
    attn_bias: Any,
    compute_log_sumexp: bool,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> Outputs:
    seed = _seed(dropout_p)
    out = _laid_out(_forward(query, key, value, attn_bias, dropout_p, is_causal, scale, seed), layouts[0])
    return out, _statistics(query), torch.tensor(seed), torch.tensor(0)


def _efficient_backward(
    layouts: Any,
    grad_out: Any,
    query: Any,
    key: Any,
    value: Any,
    attn_bias: Any,
    out: Any,
    logsumexp: Any,
    philox_seed: Any,
    philox_offset: Any,
    dropout_p: float,
    grad_input_mask: Any,
    is_causal: bool = False,
    *,
    scale: float | None = None,
) -> Outputs:
    seed = int(philox_seed.item())
    grads = _backward(grad_out, query, key, value, attn_bias, dropout_p, is_causal, scale, seed)
    laid_out = _all_laid_out(grads, layouts)
    return tuple(grad if wanted else None for grad, wanted in zip(laid_out, grad_input_mask, strict=False))


def _cudnn(
    layouts: Any,
    query: Any,
    key: Any,
    value: Any,
    attn_bias: Any,
    compute_log_sumexp: bool,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    *,
    scale: float | None = None,
) -> Outputs:
    out, sums, seed, offset = _efficient(
        layouts, query, key, value, attn_bias, compute_log_sumexp, dropout_p, is_causal, scale=scale
    )
    lengths = (query.size(-2), key.size(-2))
    return (out, sums, None, None, *lengths, seed, offset, torch.zeros(0))


def _cudnn_backward(
    layouts: Any,
    grad_out: Any,
    query: Any,
    key: Any,
    value: Any,
    out: Any,
    logsumexp: Any,
    philox_seed: Any,
    philox_offset: Any,
    attn_bias: Any,
    cum_seq_q: Any,
    cum_seq_k: Any,
    max_q: Any,
    max_k: Any,
    dropout_p: float,
    is_causal: bool,
    *,
    scale: float | None = None,
) -> Outputs:
    seed = int(philox_seed.item())
    grads = _backward(grad_out, query, key, value, attn_bias, dropout_p, is_causal, scale, seed)
    return _all_laid_out(grads[:3], layouts)


# By the name that torch gives an operator; each takes the layouts of its outputs, then what the operator takes.
REPLACED: Final[dict[str, Callable[..., Any]]] = {
    "aten::_scaled_dot_product_flash_attention": _flash,
    "aten::_scaled_dot_product_flash_attention_backward": _flash_backward,
    "aten::_scaled_dot_product_efficient_attention": _efficient,
    "aten::_scaled_dot_product_efficient_attention_backward": _efficient_backward,
    "aten::_scaled_dot_product_cudnn_attention": _cudnn,
    "aten::_scaled_dot_product_cudnn_attention_backward": _cudnn_backward,
}
