"""Work on several streams of a GPU: what makes one wait for another, and who keeps memory until it is done with.

They need CUDA, and are unsupported without. What they build has `streams`, the side streams it works on. None of them has
run on a GPU yet; tests record what they submit and look whether it is ordered.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from workloads.registry import Target, workload

SIZE, WIDTH, ROWS = 256, 64, 48
EXPECTED = (1.0, 2.0, 5.0, 10.0, 17.0, 26.0, 37.0, 50.0)


def record_streams(stream: torch.cuda.Stream, *tensors: torch.Tensor) -> None:
    """Have the allocator keep the memory of ``tensors`` until the work that ``stream`` was given so far is done."""
    for one in tensors:
        one.record_stream(stream)


# Before 2.12 AOTAutograd refuses it in a graph (the operator is said to return an alias), so that the graph breaks there.
IN_GRAPHS = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 12)
used_on = record_streams if IN_GRAPHS else torch.compiler.disable(record_streams)


class Handover(nn.Module):
    """y = x squared on one stream, z = y + 1 on another one that waits for an event; y goes as soon as it is used."""

    def __init__(self) -> None:
        super().__init__()
        self.producer, self.consumer = torch.cuda.Stream(), torch.cuda.Stream()
        self.streams = (self.producer, self.consumer)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        current = torch.cuda.current_stream()
        self.producer.wait_stream(current)
        with torch.cuda.stream(self.producer):
            y = x * x
        squared = self.producer.record_event()
        self.consumer.wait_event(squared)
        with torch.cuda.stream(self.consumer):
            z = y + 1
        # y's block belongs to the producer: without this it may be given away while the consumer reads it.
        used_on(self.consumer, y)
        del y
        current.wait_stream(self.consumer)
        used_on(current, z)
        return z


class HandoverKept(nn.Module):
    """The same without telling the allocator: y is kept until the host has seen that the consumer is done."""

    def __init__(self) -> None:
        super().__init__()
        self.producer, self.consumer = torch.cuda.Stream(), torch.cuda.Stream()
        self.streams = (self.producer, self.consumer)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.producer.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self.producer):
            y = x * x
        self.consumer.wait_event(self.producer.record_event())
        with torch.cuda.stream(self.consumer):
            z = y + 1
        self.consumer.record_event().synchronize()
        del y
        return z


class SideProduct(nn.Module):
    """A product on a side stream with events both ways, beside the same one on the caller's stream."""

    def __init__(self) -> None:
        super().__init__()
        self.side = torch.cuda.Stream()
        self.streams = (self.side,)

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        current = torch.cuda.current_stream()
        self.side.wait_event(current.record_event())
        with torch.cuda.stream(self.side):
            aside = a @ b
        done = self.side.record_event()
        here = a @ b
        current.wait_event(done)
        used_on(current, aside)
        return aside, here


class Loader(nn.Module):
    """Rows come through a pinned buffer on a stream of their own while an independent product runs, and the result goes
    back through another one."""

    def __init__(self, target: Target) -> None:
        super().__init__()
        self.device, pinned = target.device, target.name == "cuda"
        self.weight = torch.randn(WIDTH, WIDTH, device=target.device)
        self.staging = torch.empty(ROWS, WIDTH, pin_memory=pinned)
        self.landing = torch.empty(ROWS, WIDTH, pin_memory=pinned)
        self.copying = torch.cuda.Stream()
        self.copied, self.landed = torch.cuda.Event(), torch.cuda.Event()
        self.streams = (self.copying,)

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        current = torch.cuda.current_stream()
        self.staging.copy_(rows)
        with torch.cuda.stream(self.copying):
            batch = torch.empty(ROWS, WIDTH, device=self.device)
            batch.copy_(self.staging, non_blocking=True)
        self.copied.record(self.copying)
        independent = self.weight @ self.weight
        current.wait_event(self.copied)
        used_on(current, batch)
        self.landing.copy_(batch @ independent, non_blocking=True)
        self.landed.record(current)
        # Until here the copy may still read the buffer; the products go on meanwhile.
        self.copied.synchronize()
        self.staging.zero_()
        self.landed.synchronize()
        return self.landing.clone()


class Reduced(nn.Module):
    """A backward pass whose gradients another stream sums up once it has waited for them."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(WIDTH, 2 * WIDTH), nn.GELU(), nn.Linear(2 * WIDTH, WIDTH))
        self.reducer = torch.cuda.Stream()
        self.streams = (self.reducer,)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        loss = self.net(x).square().mean()
        gradients = torch.autograd.grad(loss, list(self.net.parameters()))
        current = torch.cuda.current_stream()
        # backward() returning says nothing of the device: it is this wait that makes the gradients whole.
        self.reducer.wait_stream(current)
        with torch.cuda.stream(self.reducer):
            norm = torch.stack([one.square().sum() for one in gradients]).sum().sqrt()
        used_on(self.reducer, *gradients)
        current.wait_stream(self.reducer)
        used_on(current, norm)
        return loss.detach(), norm


def counted(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.arange(float(len(EXPECTED)), device=target.device),), {}


def squares_and_one(args: tuple[Any, ...], kwargs: dict[str, Any], output: torch.Tensor) -> None:
    assert output.tolist() == list(EXPECTED)


def square_matrices(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return tuple(torch.randn(SIZE, SIZE, device=target.device) for _ in range(2)), {}


def both_equal(
    args: tuple[Any, ...], kwargs: dict[str, Any], output: tuple[torch.Tensor, torch.Tensor]
) -> None:
    assert torch.equal(*output)


def host_rows(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.randn(ROWS, WIDTH),), {}


def device_rows(bucket: dict[str, Any], target: Target) -> tuple[tuple[Any, ...], dict[str, Any]]:
    return (torch.randn(ROWS, WIDTH, device=target.device),), {}


@workload(
    "streams.handover",
    inputs=counted,
    buckets=[{}],
    requires="cuda",
    tags=["streams"],
    check=squares_and_one,
)
def handover(target: Target) -> nn.Module:
    """A producer and a consumer on streams of their own, with an event between them and record_stream."""
    return Handover().to(target.device)


@workload(
    "streams.handover_kept",
    inputs=counted,
    buckets=[{}],
    requires="cuda",
    tags=["streams"],
    check=squares_and_one,
)
def handover_kept(target: Target) -> nn.Module:
    """The same without record_stream: what is handed over is kept until the host knows that it was used."""
    return HandoverKept().to(target.device)


@workload(
    "streams.side_product",
    inputs=square_matrices,
    buckets=[{}],
    requires="cuda",
    tags=["streams"],
    check=both_equal,
    precision="ieee",
)
def side_product(target: Target) -> nn.Module:
    """A library call on a side stream, with events both ways."""
    return SideProduct().to(target.device)


@workload("streams.pinned_copies", inputs=host_rows, buckets=[{}], requires="cuda", tags=["streams"])
def pinned_copies(target: Target) -> nn.Module:
    """A data loader's copies through pinned memory, beside independent work."""
    return Loader(target)


@workload(
    "streams.gradients_aside", inputs=device_rows, buckets=[{}], requires="cuda", tags=["streams"], grad=True
)
def gradients_aside(target: Target) -> nn.Module:
    """A backward pass whose gradients are reduced on another stream, as data-parallel training does."""
    return Reduced().to(target.device)
