"""Training steps: the forward graph, the loss, and the backward graph that is traced with it."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from workloads.registry import Bucket, Target, workload

WIDTH = 64
WORDS = 96
HEADS = 4


class MlpLoss(nn.Module):
    """A two-layer perceptron and its loss, so that what is compiled ends in the scalar that training needs."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        return F.mse_loss(self.layers(x), wanted)


class BlockLoss(nn.Module):
    """A transformer block written out: norm, attention, norm, feed-forward, both with residuals."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)])
        self.mix = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)
        self.feed = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        batch, seq, _ = x.shape
        parts = self.mix(self.norms[0](x)).view(batch, seq, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(parts[0], parts[1], parts[2], is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, seq, WIDTH))
        x = x + self.feed(self.norms[1](x))
        return F.mse_loss(x, wanted)


class CheckpointedLoss(nn.Module):
    """Two blocks whose activations are computed again in the backward rather than kept."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Linear(WIDTH, 3 * WIDTH), nn.SiLU(), nn.Linear(3 * WIDTH, WIDTH))
            for _ in range(2)
        )

    def forward(self, x: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = x + checkpoint(block, x, use_reentrant=False)
        return F.mse_loss(x, wanted)


class TiedLoss(nn.Module):
    """A language model's head that shares its weight with the table of words."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.middle = nn.Linear(WIDTH, WIDTH)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        hidden = torch.tanh(self.middle(self.words(ids[:, :-1])))
        logits = F.linear(hidden, self.words.weight)
        return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())


class AccumulatedLoss(nn.Module):
    """Several small batches whose losses are added before one backward."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(WIDTH, WIDTH)

    def forward(self, parts: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        losses = [F.smooth_l1_loss(self.layer(part), goal) for part, goal in zip(parts, wanted, strict=True)]
        return torch.stack(losses).mean()


class HalfLoss(nn.Module):
    """Mixed precision as autocast does it: products in bfloat16, the loss in float32."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.ReLU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, x: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        with torch.autocast(x.device.type, dtype=torch.bfloat16):
            found = self.layers(x)
        return F.mse_loss(found.float(), wanted)


class AdamWStep(nn.Module):
    """The optimizer's step by itself: given gradients, the parameters afterwards."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(WIDTH, WIDTH)
        self.optimizer = torch.optim.AdamW(self.layer.parameters(), lr=1e-2)

    def forward(self, weight: torch.Tensor, bias: torch.Tensor) -> tuple[torch.Tensor, ...]:
        self.layer.weight.grad, self.layer.bias.grad = weight, bias
        self.optimizer.step()
        return tuple(parameter.detach().clone() for parameter in self.layer.parameters())


def inputs(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    shape = (bucket["batch"], WIDTH)
    return (torch.randn(shape, device=target.device), torch.randn(shape, device=target.device)), {}


def sequences(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    shape = (2, bucket["seq"], WIDTH)
    return (torch.randn(shape, device=target.device), torch.randn(shape, device=target.device)), {}


def tokens(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.randint(WORDS, (3, bucket["seq"]), device=target.device),), {}


def small_batches(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    shape = (bucket["parts"], 10, WIDTH)
    return (torch.randn(shape, device=target.device), torch.randn(shape, device=target.device)), {}


def gradients(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.randn(WIDTH, WIDTH, device=target.device), torch.randn(WIDTH, device=target.device)), {}


@workload(
    "training.mlp_step",
    stands_for="one training step of a feed-forward block: forward, loss and the compiled backward",
    inputs=inputs,
    buckets=[{"batch": 32}, {"batch": 128}, {"batch": 77}],
    training=True,
    tags=("standard", "training", "dynamic"),
)
def build(target: Target) -> nn.Module:
    return MlpLoss().to(target.device).train()


@workload(
    "training.transformer_block",
    stands_for="one training step of a transformer block: attention's backward, and what is kept for it",
    inputs=sequences,
    buckets=[{"seq": 24}, {"seq": 60}, {"seq": 140}, Bucket.of({"seq": 2048}, requires="gpu")],
    training=True,
    tags=("standard", "training", "dynamic"),
)
def build_transformer_block(target: Target) -> nn.Module:
    return BlockLoss().to(target.device).train()


@workload(
    "training.checkpointed",
    stands_for="activation checkpointing: what is computed twice rather than kept",
    inputs=inputs,
    buckets=[{"batch": 28}, {"batch": 100}, {"batch": 50}],
    training=True,
    tags=("standard", "training", "dynamic"),
)
def build_checkpointed(target: Target) -> nn.Module:
    return CheckpointedLoss().to(target.device).train()


@workload(
    "training.tied_weights",
    stands_for="a small language model whose head shares its weight with the table of words: one gradient for both",
    inputs=tokens,
    buckets=[{"seq": 20}, {"seq": 50}, {"seq": 33}],
    training=True,
    tags=("standard", "training", "dynamic"),
)
def build_tied_weights(target: Target) -> nn.Module:
    return TiedLoss().to(target.device).train()


@workload(
    "training.accumulated",
    stands_for="gradients accumulated over small batches: a loop over the first dimension, unrolled",
    inputs=small_batches,
    buckets=[{"parts": 2}, {"parts": 4}],
    training=True,
    tags=("training",),
)
def build_accumulated(target: Target) -> nn.Module:
    return AccumulatedLoss().to(target.device).train()


@workload(
    "training.autocast",
    stands_for="mixed precision by autocast: where tensors are narrowed and widened, forward and backward",
    inputs=inputs,
    buckets=[{"batch": 36}, {"batch": 120}, {"batch": 70}],
    training=True,
    tags=("standard", "training", "dynamic"),
)
def build_autocast(target: Target) -> nn.Module:
    return HalfLoss().to(target.device).train()


@workload(
    "training.adamw_step",
    stands_for="the optimizer's step, compiled: many small updates of parameters and state in one kernel",
    inputs=gradients,
    buckets=[{}],
    tags=("standard",),
)
def build_adamw_step(target: Target) -> nn.Module:
    return AdamWStep().to(target.device).train()
