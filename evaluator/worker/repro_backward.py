"""How a reproduction script begins a backward, as the probes do. It stands in the script above `evaluator.worker.repro`,
by the same rules."""

from __future__ import annotations

import torch


def repro_backward(leaves: list[torch.Tensor], seed: int) -> None:
    """Backward from the scalar losses, or else from every float output with seeded cotangents of eighths."""
    roots = repro_roots(leaves)
    torch.autograd.backward(roots, repro_cotangents(roots, seed) or None)


def repro_roots(leaves: list[torch.Tensor]) -> list[torch.Tensor]:
    """Where backward begins: the scalar losses, or else every output that needs a gradient."""
    roots = [leaf for leaf in leaves if leaf.requires_grad]
    return [leaf for leaf in roots if leaf.dim() == 0 and not leaf.is_complex()] or roots


def repro_cotangents(roots: list[torch.Tensor], seed: int) -> list[torch.Tensor]:
    """A seeded cotangent of eighths for each root; none where the roots are scalar losses, which need none."""
    if all(leaf.dim() == 0 and not leaf.is_complex() for leaf in roots):
        return []
    cotangents = []
    for index, leaf in enumerate(roots):
        generator = torch.Generator().manual_seed(seed + index)
        shape = (*leaf.shape, 2) if leaf.is_complex() else tuple(leaf.shape)
        steps = torch.randint(1, 9, shape, generator=generator, dtype=torch.float64)
        drawn = steps * (torch.randint(0, 2, shape, generator=generator, dtype=torch.float64) * 2 - 1) / 8
        drawn = torch.view_as_complex(drawn) if leaf.is_complex() else drawn
        cotangents.append(drawn.to(device=leaf.device, dtype=leaf.dtype))
    return cotangents
