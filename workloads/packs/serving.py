"""What a server does between requests that come and go. Needs CUDA, as the streams do that it works on."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from workloads.registry import Target, workload

WIDTH, WORDS, MOST_REQUESTS = 64, 500, 8


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
        chosen.record_stream(self.sending)
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
