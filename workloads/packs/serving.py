"""What a server does: one request from the host to the host, and decoding between requests that come and go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from workloads.registry import Target, workload

WIDTH, WORDS, MOST_REQUESTS, SHOWN = 64, 500, 8, 3


def record_streams(stream: torch.cuda.Stream, *tensors: torch.Tensor) -> None:
    """Have the allocator keep the memory of ``tensors`` until the work that ``stream`` was given so far is done."""
    for one in tensors:
        one.record_stream(stream)


# Before 2.12 AOTAutograd refuses it in a graph (the operator is said to return an alias), so that the graph breaks there.
IN_GRAPHS = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 12)
used_on = record_streams if IN_GRAPHS else torch.compiler.disable(record_streams)


class Ranking(nn.Module):
    """How well each candidate fits what a user did last."""

    def __init__(self) -> None:
        super().__init__()
        self.items = nn.Embedding(WORDS, WIDTH)
        self.user = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.ReLU(), nn.Linear(2 * WIDTH, WIDTH))

    def forward(self, history: torch.Tensor, candidates: torch.Tensor) -> torch.Tensor:
        user = self.user(self.items(history).mean(dim=0))
        return torch.sigmoid(self.items(candidates) @ user)


def visit(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    drawn = (torch.randint(WORDS, (bucket[name],)) for name in ("history", "candidates"))
    return tuple(one.to(target.device) for one in drawn), {}


def best(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], target: Target) -> list[int]:
    """What the user is shown: the places of the best candidates, as numbers on the host."""
    scores = fn(*(one.to(target.device) for one in args))
    return list(scores.topk(SHOWN).indices.tolist())


@workload(
    "serving.ranking",
    inputs=visit,
    buckets=[
        {"history": 20, "candidates": 100},
        {"history": 20, "candidates": 400},
        {"history": 100, "candidates": 400},
    ],
    request=best,
    tags=["standard", "dynamic"],
)
def ranking(target: Target) -> nn.Module:
    """A recommender scores candidates for one user: lookups, a small network and a product, served request by request; a
    change is the price of a request, in which the host's part is the larger one."""
    return Ranking().to(target.device)


class Serving(nn.Module):
    """One step of a server that batches continuously: each request has a cache of its own length, which grows by a token;
    requests come and go from step to step. What was chosen goes to the host on a stream of its own, while the step goes on."""

    def __init__(self, target: Target) -> None:
        super().__init__()
        self.qkv, self.head = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WORDS)
        self.landing = torch.empty(MOST_REQUESTS, dtype=torch.int64, pin_memory=target.name == "cuda")
        self.sending = torch.cuda.Stream()
        self.sent = torch.cuda.Event()
        self.streams = (self.sending,)

    def forward(
        self, tokens: torch.Tensor, keys: list[torch.Tensor], values: list[torch.Tensor]
    ) -> tuple[torch.Tensor, list[torch.Tensor], list[torch.Tensor]]:
        query, key, value = self.qkv(tokens).chunk(3, dim=-1)
        # A longer cache is a new one: the old ones end with this step, each in a block of its own size.
        keys = [torch.cat([old, new[None]]) for old, new in zip(keys, key, strict=True)]
        values = [torch.cat([old, new[None]]) for old, new in zip(values, value, strict=True)]
        seen = [
            torch.softmax(k @ q / WIDTH**0.5, dim=0) @ v for q, k, v in zip(query, keys, values, strict=True)
        ]
        chosen = self.head(torch.stack(seen)).argmax(dim=-1)
        self.sending.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.sending):
            self.landing[: len(chosen)].copy_(chosen, non_blocking=True)
        used_on(self.sending, chosen)
        self.sent.record(self.sending)
        # Something for the device to do meanwhile: what the next step begins with.
        ahead = torch.stack([k.mean(dim=0) for k in keys])
        self.sent.synchronize()
        return ahead, [*keys, *values], [self.landing[: len(chosen)].clone()]


def requests(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    lengths = [bucket["longest"] - 3 * place for place in range(bucket["requests"])]
    caches = [[torch.randn(n, WIDTH, device=target.device) for n in lengths] for _ in range(2)]
    return (torch.randn(len(lengths), WIDTH, device=target.device), *caches), {}


@workload(
    "serving.continuous_batching",
    inputs=requests,
    buckets=[
        {"requests": 1, "longest": 9},
        {"requests": 3, "longest": 14},
        {"requests": 2, "longest": 15},
        {"requests": 4, "longest": 16},
    ],
    requires="cuda",
    tags=["streams"],
)
def continuous_batching(target: Target) -> nn.Module:
    """A server's decoding steps, between which requests come and go: lists of tensors whose sizes change each time."""
    return Serving(target).to(target.device)
