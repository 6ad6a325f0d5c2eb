"""Matrix products, which the compiler hands to a library unless autotuning finds a template faster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from workloads.registry import Bucket, Target, workload

SIZE = 1024
TILE = 8
WIDTH, INNER, RANK = 128, 352, 8


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    # The call makes its own result, as a model's does. With `out=` the compiler would add a copy into the
    # given buffer that eager doesn't have, and the two would no longer be the same work.
    return torch.mm(a, b)


def narrow_product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return F.relu(a @ b)


def pairwise(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.softmax(torch.bmm(a, b.transpose(1, 2)), dim=-1)


def contraction(x: torch.Tensor, core: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.einsum("bi,ijk,bj->bk", x, core, y)


class WeightOnly(nn.Module):
    """A linear layer whose weight is kept in int8 with a scale for each output."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 128, (INNER, WIDTH), dtype=torch.int8))
        self.register_buffer("scale", torch.rand(INNER) / 127)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.linear(x, self.weight.to(x.dtype)) * self.scale


class Adapted(nn.Module):
    """A frozen linear layer and the low-rank product that adapts it."""

    def __init__(self) -> None:
        super().__init__()
        self.base = nn.Linear(WIDTH, INNER)
        self.down = nn.Linear(WIDTH, RANK, bias=False)
        self.up = nn.Linear(RANK, INNER, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base(x) + 2.0 * self.up(self.down(x))


class Gated(nn.Module):
    """The feed-forward of today's decoders: two products of one input, a gate, and a third product."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(WIDTH, INNER, bias=False)
        self.up = nn.Linear(WIDTH, INNER, bias=False)
        self.down = nn.Linear(INNER, WIDTH, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


def inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    shape = (SIZE, SIZE)
    return (torch.randn(shape, device=target.device), torch.randn(shape, device=target.device)), {}


def squares(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    shape = (bucket["size"], bucket["size"])
    # Sums of thousands of products stay near one.
    scale = bucket["size"] ** -0.25
    a, b = (torch.randn(shape, device=target.device) * scale for _ in range(2))
    return (a.to(torch.bfloat16), b.to(torch.bfloat16)), {}


def rows_of(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.randn(bucket["rows"], WIDTH, device=target.device),), {}


def half_rows(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.randn(bucket["rows"], WIDTH, device=target.device).to(torch.bfloat16),), {}


def batches(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    shape = (bucket["batch"], 40, 48)
    return (torch.randn(shape, device=target.device), torch.randn(shape, device=target.device)), {}


def three(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    rows, device = bucket["rows"], target.device
    sizes = ((rows, 24), (24, 28, 20), (rows, 28))
    return tuple(torch.randn(size, device=device) for size in sizes), {}


def check_tile(args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
    """The first 8 x 8 tile against the same product in float64; AssertionError where it is off."""
    a, b = args
    exact = a[:TILE].double() @ b[:, :TILE].double()
    torch.testing.assert_close(output[:TILE, :TILE].double(), exact, rtol=1e-4, atol=1e-3)


@workload(
    "matmul.fp32_ieee_1024",
    stands_for="a plain float32 product at full precision: the library call underneath every linear layer",
    inputs=inputs,
    buckets=[{}],
    check=check_tile,
    repeats=50,
    precision="ieee",
    tags=("standard",),
)
def build(target: Target) -> Callable[..., Any]:
    return product


@workload(
    "matmul.square_bf16",
    stands_for="a product that fills a GPU, with its activation: a library call, or a template with the activation in it",
    inputs=squares,
    buckets=[{"size": 2048}, {"size": 4096}, {"size": 8192}],
    requires="gpu",
    tags=("gpu",),
)
def build_square_bf16(target: Target) -> Callable[..., Any]:
    return narrow_product


@workload(
    "matmul.gated_feed_forward",
    stands_for="the feed-forward block of decoders: three products, of which two share their input, and a gate",
    inputs=rows_of,
    buckets=[{"rows": 1}, {"rows": 24}, {"rows": 160}, Bucket.of({"rows": 32768}, requires="gpu")],
    tags=("standard", "dynamic"),
)
def build_gated_feed_forward(target: Target) -> nn.Module:
    return Gated().to(target.device).eval()


@workload(
    "matmul.linear_gelu_bf16",
    stands_for="a linear layer in bfloat16 with its activation, which a library may fuse",
    inputs=half_rows,
    buckets=[{"rows": 24}, {"rows": 200}, {"rows": 72}],
    tags=("standard", "dynamic"),
)
def build_linear_gelu_bf16(target: Target) -> nn.Module:
    layers = nn.Sequential(nn.Linear(WIDTH, INNER), nn.GELU())
    return layers.to(device=target.device, dtype=torch.bfloat16).eval()


@workload(
    "matmul.int8_weight_only",
    stands_for="a weight kept in eight bits, widened on the way into the product: whether the wide copy is written",
    inputs=rows_of,
    buckets=[{"rows": 16}, {"rows": 144}, {"rows": 60}],
    tags=("standard", "dynamic"),
)
def build_int8_weight_only(target: Target) -> nn.Module:
    return WeightOnly().to(target.device).eval()


@workload(
    "matmul.low_rank_adapter",
    stands_for="a fine-tuned layer served with its adapter beside it: a large product and two thin ones",
    inputs=rows_of,
    buckets=[{"rows": 20}, {"rows": 180}, {"rows": 60}],
    tags=("dynamic",),
)
def build_low_rank_adapter(target: Target) -> nn.Module:
    return Adapted().to(target.device).eval()


@workload(
    "matmul.batched_scores",
    stands_for="batched products of small matrices with a softmax over them",
    inputs=batches,
    buckets=[{"batch": 4}, {"batch": 18}, {"batch": 7}],
    tags=("dynamic",),
)
def build_batched_scores(target: Target) -> Callable[..., Any]:
    return pairwise


@workload(
    "matmul.einsum",
    stands_for="a contraction of three tensors said as einsum: the order of products is the library's",
    inputs=three,
    buckets=[{"rows": 12}, {"rows": 130}, {"rows": 50}],
    tags=("dynamic",),
)
def build_einsum(target: Target) -> Callable[..., Any]:
    return contraction
