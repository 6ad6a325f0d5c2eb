"""Attention, which the compiler leaves to the fused operator or decomposes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from workloads.registry import Bucket, Target, workload

# No length equals the head width, or `dynamic=True` would take the two sizes for one and compile again.
BATCH, HEADS, HEAD_WIDTH = 2, 4, 64
SHARED = 2
WINDOW = 20
BLOCK = 8


def causal_attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(query, key, value, is_causal=True)


def grouped_attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(query, key, value, is_causal=True, enable_gqa=True)


def padded_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, lengths: torch.Tensor
) -> torch.Tensor:
    places = torch.arange(key.shape[2], device=key.device)
    keep = places[None, :] < lengths[:, None]
    return F.scaled_dot_product_attention(query, key, value, attn_mask=keep[:, None, None, :])


def sliding_attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    places = torch.arange(query.shape[2], device=query.device)
    back = places[:, None] - places[None, :]
    return F.scaled_dot_product_attention(query, key, value, attn_mask=(back >= 0) & (back < WINDOW))


def written_out(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    scores = query @ key.transpose(-2, -1) / math.sqrt(HEAD_WIDTH)
    return torch.softmax(scores.float(), dim=-1).to(value.dtype) @ value


def biased_attention(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, slopes: torch.Tensor
) -> torch.Tensor:
    places = torch.arange(key.shape[2], device=key.device, dtype=query.dtype)
    bias = -(places[:, None] - places[None, :]).abs() * slopes[:, None, None]
    return F.scaled_dot_product_attention(query, key, value, attn_mask=bias)


def paged_attention(
    query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, table: torch.Tensor
) -> torch.Tensor:
    # (batch, blocks, heads, places of a block, width) -> (batch, heads, places, width)
    found = [pages[table].transpose(1, 2).flatten(2, 3) for pages in (keys, values)]
    return F.scaled_dot_product_attention(query, found[0], found[1])


def near_past(batch: Any, head: Any, query: Any, key: Any) -> Any:
    return (query >= key) & (query - key < WINDOW)


def flexible_window(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    places = query.shape[2]
    mask = create_block_mask(near_past, None, None, places, places, device=query.device)
    return flex_attention(query, key, value, block_mask=mask)


def flexible_bias(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, slopes: torch.Tensor
) -> torch.Tensor:
    def biased(score: Any, batch: Any, head: Any, place: Any, other: Any) -> Any:
        return score - slopes[head] * (place - other).abs()

    return flex_attention(query, key, value, score_mod=biased)


class Rotary(nn.Module):
    """Queries and keys turned by their places before attention, as Llama does it."""

    def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        half = HEAD_WIDTH // 2
        places = torch.arange(query.shape[2], device=query.device, dtype=query.dtype)
        rates = 10000.0 ** (-torch.arange(half, device=query.device, dtype=query.dtype) / half)
        angles = torch.cat([places[:, None] * rates] * 2, dim=-1)
        turned = []
        for x in (query, key):
            swapped = torch.cat([-x[..., half:], x[..., :half]], dim=-1)
            turned.append(x * angles.cos() + swapped * angles.sin())
        return F.scaled_dot_product_attention(turned[0], turned[1], value, is_causal=True)


def inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    shape = (BATCH, HEADS, bucket["seq"], HEAD_WIDTH)
    return tuple(torch.randn(shape, device=target.device) for _ in range(3)), {}


def grouped_inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    heads = (HEADS, SHARED, SHARED)
    shapes = [(BATCH, count, bucket["seq"], HEAD_WIDTH) for count in heads]
    return tuple(torch.randn(shape, device=target.device) for shape in shapes), {}


def padded_inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    shape = (BATCH, HEADS, bucket["seq"], HEAD_WIDTH)
    lengths = torch.tensor([bucket["seq"], bucket["seq"] // 2], device=target.device)
    return (*(torch.randn(shape, device=target.device) for _ in range(3)), lengths), {}


def biased_inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    shape = (BATCH, HEADS, bucket["seq"], HEAD_WIDTH)
    slopes = torch.tensor([0.5, 0.25, 0.125, 0.0625], device=target.device)
    return (*(torch.randn(shape, device=target.device) for _ in range(3)), slopes), {}


def paged_inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    blocks, device = bucket["blocks"], target.device
    pages = (BATCH * blocks + 3, HEADS, BLOCK, HEAD_WIDTH)
    query = torch.randn(BATCH, HEADS, 1, HEAD_WIDTH, device=device)
    table = torch.randperm(pages[0], device=device)[: BATCH * blocks].view(BATCH, blocks)
    return (query, torch.randn(pages, device=device), torch.randn(pages, device=device), table), {}


@workload(
    "attention.sdpa",
    stands_for="causal attention through scaled_dot_product_attention: which kernel a version picks, by length",
    inputs=inputs,
    buckets=[{"seq": 32}, {"seq": 128}, {"seq": 512}, Bucket.of({"seq": 4096}, requires="gpu")],
    tags=("standard", "dynamic"),
)
def build(target: Target) -> Callable[..., Any]:
    return causal_attention


@workload(
    "attention.grouped_query",
    stands_for="fewer heads of keys than of queries: whether the shared heads are written out",
    inputs=grouped_inputs,
    buckets=[{"seq": 24}, {"seq": 100}, {"seq": 300}, Bucket.of({"seq": 4096}, requires="gpu")],
    tags=("standard", "dynamic"),
)
def build_grouped_query(target: Target) -> Callable[..., Any]:
    return grouped_attention


@workload(
    "attention.padded",
    stands_for="a batch of sequences of different length: a mask made inside the compiled code",
    inputs=padded_inputs,
    buckets=[{"seq": 40}, {"seq": 150}, {"seq": 210}],
    tags=("standard", "dynamic"),
)
def build_padded(target: Target) -> Callable[..., Any]:
    return padded_attention


@workload(
    "attention.sliding_window",
    stands_for="attention to the near past only, by a mask of distances",
    inputs=inputs,
    buckets=[{"seq": 30}, {"seq": 120}, {"seq": 250}],
    tags=("dynamic",),
)
def build_sliding_window(target: Target) -> Callable[..., Any]:
    return sliding_attention


@workload(
    "attention.written_out",
    stands_for="attention as products and a softmax, as older code has it: whether a pattern is found in it",
    inputs=inputs,
    buckets=[{"seq": 28}, {"seq": 90}, {"seq": 200}],
    tags=("standard", "dynamic"),
)
def build_written_out(target: Target) -> Callable[..., Any]:
    return written_out


@workload(
    "attention.distance_bias",
    stands_for="a bias that grows with distance and differs by head, computed and added to the scores",
    inputs=biased_inputs,
    buckets=[{"seq": 36}, {"seq": 110}, {"seq": 230}],
    tags=("dynamic",),
)
def build_distance_bias(target: Target) -> Callable[..., Any]:
    return biased_attention


@workload(
    "attention.rotary",
    stands_for="rotary positions before attention: sines, cosines and halves that change places",
    inputs=inputs,
    buckets=[{"seq": 26}, {"seq": 80}, {"seq": 250}, Bucket.of({"seq": 4096}, requires="gpu")],
    tags=("standard", "dynamic"),
)
def build_rotary(target: Target) -> nn.Module:
    return Rotary().to(target.device).eval()


@workload(
    "attention.paged",
    stands_for="one step of a server's decoder: keys and values gathered from pages by a table",
    inputs=paged_inputs,
    buckets=[{"blocks": 3}, {"blocks": 12}, {"blocks": 5}],
    tags=("standard", "dynamic"),
)
def build_paged(target: Target) -> Callable[..., Any]:
    return paged_attention


@workload(
    "attention.flex_window",
    stands_for="attention to the near past by a mask said as a function, which leaves out whole blocks",
    inputs=inputs,
    buckets=[{"seq": 48}, {"seq": 130}, {"seq": 310}, Bucket.of({"seq": 4096}, requires="gpu")],
    tags=("standard", "dynamic"),
)
def build_flex_window(target: Target) -> Callable[..., Any]:
    return flexible_window


@workload(
    "attention.flex_bias",
    stands_for="a bias of each score said as a function that reads a tensor, compiled into the attention's loop",
    inputs=biased_inputs,
    buckets=[{"seq": 46}, {"seq": 132}, {"seq": 270}],
    tags=("dynamic",),
)
def build_flex_bias(target: Target) -> Callable[..., Any]:
    return flexible_bias
