"""The ten stages, in the order in which they run: number -> (name, seconds, function)."""

from __future__ import annotations

from collections.abc import Callable

from tests.gpu import cells, clocks, compiling, devices, forking, streams
from tests.gpu.harness import Stage

STAGES: dict[int, tuple[str, float, Callable[[Stage], None]]] = {
    1: ("the fork server", 65, forking.fork_server),
    2: ("like against like", 40, clocks.like_against_like),
    3: ("kernels: observed, and generated for a card that is not there", 80, compiling.kernels),
    4: ("work on streams", 60, streams.ordered_work),
    5: ("cold compile, default threads against one", 50, compiling.cold_threads),
    6: ("A against A", 85, cells.equal_sides),
    7: ("CUDA graphs", 45, cells.graphs),
    8: ("IEEE against TF32 under Inductor", 25, devices.precision),
    9: ("a device assert and an out-of-memory", 55, devices.failures),
    10: ("embedding bag and memory", 80, cells.embedding_bag),
}
