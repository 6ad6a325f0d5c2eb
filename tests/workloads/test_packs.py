"""The built-in workloads: they run, their texts run alone, and they are what they say they are."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from evaluator.worker.calling import build as fresh_build
from evaluator.worker.calling import make_inputs as fresh_inputs
from workloads import catalog
from workloads.registry import Bucket, Target, Workload

REPO = Path(__file__).parents[2]
CPU = Target("cpu", "cpu")
# What is sized for a GPU is run where a tensor has a shape and no content.
META = Target("meta", "meta")
# These look into their tensors; the first such bucket is run where there is content.
ASKS_FOR_CONTENT = ("attention.flex_window", "models.llama_wide")
# What needs a real GPU, and what launches a Triton kernel of its own, has tests of its own.
WORKLOADS = {
    name: one
    for name, one in catalog.load().workloads.items()
    if one.requires != "cuda" and "triton" not in one.libraries
}

# workload -> the shapes of its outputs, bucket by bucket, by the definition of its operators.
SHAPES: dict[str, list[list[tuple[int, ...]]]] = {
    "pointwise.silu_gate": [[(rows, 512)] for rows in (128, 512, 2048, 65536)],
    "matmul.fp32_ieee_1024": [[(1024, 1024)]],
    "normalisation.layer_norm": [[(rows, 512)] for rows in (64, 1024, 300, 65536)],
    "reduction.softmax_sum": [[(96,)]] * 4,
    "attention.sdpa": [[(2, 4, seq, 64)] for seq in (32, 128, 512, 4096)],
    "training.mlp_step": [[()], [()], [()]],
    "conv.conv_bn": [[(2, 16, 32, 32)], [(16, 16, 32, 32)], [(7, 16, 32, 32)], [(512, 16, 32, 32)]],
    "embedding.bag": [[(16, 64)], [(256, 64)], [(100, 64)]],
    "breaks.deliberate": [[(64, 64)]],
    "breaks.data_dependent": [[(64, 64)], [(64, 64)]],
    "shapes.recompile_each_bucket": [[(32, 64)]] * 3,
    "shapes.goes_dynamic": [[(24,)], [(40,)], [(96,)]],
    "models.llama": [[(1, 16, 256)], [(1, 32, 256)], [(1, 64, 256)]],
    "models.bert": [[(2, 32, 64), (2, 64)]],
    "models.bert_training": [[()]],
    "models.vit": [[(2, 10)], [(8, 10)], [(5, 10)]],
    "pointwise.bias_gelu_residual": [[(rows, 512)] for rows in (96, 256, 1024, 32768)],
    "pointwise.quantise": [[(64, 512)], [(768, 512)], [(300, 512)]],
    "pointwise.masked_blend": [[(72, 512)], [(300, 512)], [(100, 512)]],
    "reduction.cross_entropy": [[()]] * 4,
    "reduction.running_mean": [[(96, 128)], [(96, 1500)], [(96, 400)]],
    "reduction.moments": [[(200,), (200,)], [(1200,), (1200,)], [(500,), (500,)]],
    "reduction.top_k": [[(96, 4), (96, 4)]] * 3,
    "reduction.total": [[()]] * 3,
    "normalisation.rms_norm_residual": [[(rows, 512), (rows, 512)] for rows in (48, 320, 1500, 49152)],
    "normalisation.group_norm": [[(2, 24, 20, 20)], [(9, 24, 20, 20)], [(5, 24, 20, 20)]],
    "normalisation.instance_norm": [[(3, 24, 20, 20)], [(10, 24, 20, 20)], [(5, 24, 20, 20)]],
    "matmul.gated_feed_forward": [[(rows, 128)] for rows in (1, 24, 160, 32768)],
    "matmul.linear_gelu_bf16": [[(24, 352)], [(200, 352)], [(72, 352)]],
    "matmul.int8_weight_only": [[(16, 352)], [(144, 352)], [(60, 352)]],
    "matmul.low_rank_adapter": [[(20, 352)], [(180, 352)], [(60, 352)]],
    "matmul.batched_scores": [[(4, 40, 40)], [(18, 40, 40)], [(7, 40, 40)]],
    "matmul.einsum": [[(12, 20)], [(130, 20)], [(50, 20)]],
    "conv.depthwise_separable": [[(2, 24, 16, 16)], [(9, 24, 16, 16)], [(5, 24, 16, 16)]],
    "conv.channels_last": [[(2, 20, 8, 8)], [(7, 20, 8, 8)], [(11, 20, 8, 8)]],
    "conv.upsample": [[(1, 12, 32, 32)], [(6, 12, 32, 32)], [(3, 12, 32, 32)]],
    "conv.causal_gate": [[(2, 12, 30)], [(2, 12, 100)], [(2, 12, 333)]],
    "attention.grouped_query": [[(2, 4, seq, 64)] for seq in (24, 100, 300, 4096)],
    "attention.padded": [[(2, 4, 40, 64)], [(2, 4, 150, 64)], [(2, 4, 210, 64)]],
    "attention.sliding_window": [[(2, 4, 30, 64)], [(2, 4, 120, 64)], [(2, 4, 250, 64)]],
    "attention.written_out": [[(2, 4, seq, 64)] for seq in (28, 90, 200)],
    "attention.distance_bias": [[(2, 4, 36, 64)], [(2, 4, 110, 64)], [(2, 4, 230, 64)]],
    "attention.rotary": [[(2, 4, seq, 64)] for seq in (26, 80, 250, 4096)],
    "attention.paged": [[(2, 4, 1, 64)]] * 3,
    "control.item": [[(32, 48)]],
    "control.boolean_mask": [[()]],
    "control.cond": [[(32, 48)]] * 2,
    "control.list_of_tensors": [[(24, 40)]] * 3,
    "control.early_stop": [[(32, 48)]],
    "mutation.input_in_place": [[(20,)], [(70,)], [(130,)]],
    "mutation.views_out": [[(18, 28), (56, 18)], [(66, 28), (56, 66)], [(130, 28), (56, 130)]],
    "mutation.strided_write": [[(22, 56)], [(74, 56)], [(130, 56)]],
    "mutation.kv_cache": [[(1, 1, 56)]] * 3,
    "mutation.batch_norm_buffers": [[(26, 56)], [(90, 56)], [(150, 56)]],
    "mutation.running_mean": [[(30, 56)], [(96, 56)], [(150, 56)]],
    "randomness.dropout": [[(32, 80)], [(160, 80)], [(300, 80)]],
    "randomness.noise": [[(34, 80)], [(170, 80)], [(300, 80)]],
    "outputs.tree": [[(rows, 44), (rows,), (), (rows,)] for rows in (21, 63, 105)],
    "outputs.integers": [[(23, 44), (23, 44)], [(69, 44), (69, 44)], [(115, 44), (115, 44)]],
    "outputs.spectrum": [[(25, 23)], [(75, 23)], [(125, 23)]],
    "serving.ranking": [[(100,)], [(400,)], [(400,)]],
    "shapes.one_then_many": [[(1, 64)], [(14, 64)], [(50, 64)]],
    "shapes.static_over_the_limit": [[(rows, 64)] for rows in range(3, 20, 2)],
    # Rows over eight, rounded up.
    "shapes.padded_to_eight": [[(4, 64)], [(6, 64)], [(13, 64)]],
    "shapes.other_strides": [[(36, 52)]] * 2,
    "shapes.size_from_data": [[(64,)]] * 2,
    "training.transformer_block": [[()]] * 4,
    "training.checkpointed": [[()]] * 3,
    "training.tied_weights": [[()]] * 3,
    "training.accumulated": [[()]] * 2,
    "training.autocast": [[()]] * 3,
    "training.adamw_step": [[(64, 64), (64,)]],
    "custom.operator": [[(16, 72)], [(54, 72)], [(100, 72)]],
    "custom.operator_without_fake": [[(16, 72)]],
    "custom.autograd_function": [[()]] * 3,
    "models.gpt2": [[(1, 18, 256)], [(1, 40, 256)], [(1, 30, 256)]],
    "models.mixtral": [[(1, 20, 256)]],
    "models.t5": [[(1, 12, 256), (1, 24, 64)], [(1, 22, 256), (1, 44, 64)], [(1, 17, 256), (1, 34, 64)]],
    "models.whisper_encoder": [[(1, 32, 64)], [(3, 32, 64)], [(5, 32, 64)]],
    "attention.flex_window": [[(2, 4, seq, 64)] for seq in (48, 130, 310, 4096)],
    "attention.flex_bias": [[(2, 4, seq, 64)] for seq in (46, 132, 270)],
    "matmul.square_bf16": [[(size, size)] for size in (2048, 4096, 8192)],
    "models.llama_wide": [[(1, 512, 32000)], [(1, 2000, 32000)], [(8, 2000, 32000)]],
    "diffusion.unet": [[(batch, 4, 16, 16)] for batch in (2, 3, 7)],
}

# Graphs that each bucket adds to a walk under the default variant, by what the workload is made to show: one
# more for the break, one more for the branch not yet taken, one a step count, and none once sizes are dynamic.
GRAPHS = {
    "breaks.deliberate": [2],
    "breaks.data_dependent": [2, 1],
    "shapes.recompile_each_bucket": [1, 1, 1],
    "shapes.goes_dynamic": [1, 1, 0],
    "pointwise.silu_gate": [1, 1, 0],
    "training.mlp_step": [1, 1, 0],
    "control.item": [2],
    "control.cond": [1, 0],
    "control.list_of_tensors": [1, 1, 1],
    "shapes.one_then_many": [1, 1, 0],
    "shapes.other_strides": [1, 1],
    # The last is refused, and runs eager.
    "shapes.static_over_the_limit": [1] * 8 + [0],
    "mutation.kv_cache": [1, 0, 0],
    "outputs.tree": [1, 1, 0],
    "custom.operator": [1, 1, 0],
}

PROBE = """
import json, sys, types
if {blocked}:
    class Blocked:
        def find_spec(self, name, path=None, target=None):
            if name.split(".")[0] in ("workloads", "evaluator", "db", "app"):
                raise ImportError(name + " is blocked")
    sys.meta_path.insert(0, Blocked())
import torch

def digest(tree):
    leaves = torch.utils._pytree.tree_leaves(tree)
    return [[str(t.dtype), list(t.shape), t.double().sum().item(), t.double().square().sum().item()] for t in leaves
            if isinstance(t, torch.Tensor)]

def outcome(build, inputs, params, target):
    torch.manual_seed(11)
    built = build(target)
    torch.manual_seed(12)
    args, kwargs = inputs(params, target)
    return [callable(built), digest([args, kwargs])]

found = {{}}
for record in json.load(sys.stdin):
    module = types.ModuleType("standalone")
    sys.modules["standalone"] = module
    if {blocked}:
        exec(compile(record["source"], record["name"], "exec"), module.__dict__)
        assert callable(module.check) == record["checked"] if hasattr(module, "check") else not record["checked"]
        build, inputs = module.build, module.inputs
    else:
        from workloads import catalog
        workload = catalog.load_one([], True, record["name"])
        build, inputs = workload.build, workload.inputs
    target = types.SimpleNamespace(name="cpu", device="cpu")
    found[record["name"]] = [outcome(build, inputs, bucket["params"], target) for bucket in record["buckets"]]
print(json.dumps(found))
"""


def missing_library(workload: Workload) -> str | None:
    return next((name for name in workload.libraries if importlib.util.find_spec(name) is None), None)


def cpu_buckets(workload: Workload) -> list[Bucket]:
    return [bucket for bucket in workload.buckets if not (workload.requires or bucket.requires)]


LARGE = {name for name, one in WORKLOADS.items() if one.buckets[-1] not in cpu_buckets(one)}


def run_once(built: Any, workload: Workload, index: int, target: Target = CPU) -> list[torch.Tensor]:
    args, kwargs = fresh_inputs(workload, workload.buckets[index], target, 0)
    with torch.set_grad_enabled(workload.training):
        output = built(*args, **kwargs)
        if workload.training:
            output.backward()
    if workload.check is not None:
        workload.check(args, kwargs, output)
    return tensors(output)


def tensors(tree: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def test_every_workload_has_its_shapes_here() -> None:
    assert catalog.load().problems == []
    assert set(WORKLOADS) == set(SHAPES)


@pytest.mark.parametrize("name", [name for name, one in WORKLOADS.items() if cpu_buckets(one)])
def test_runs_in_eager_with_finite_outputs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    workload = WORKLOADS[name]
    if library := missing_library(workload):
        pytest.skip(f"{library} is not installed")
    built = fresh_build(workload, CPU, 0)
    for index, _bucket in enumerate(cpu_buckets(workload)):
        leaves, shapes = run_once(built, workload, index), SHAPES[name][index]
        assert [tuple(leaf.shape) for leaf in leaves] == shapes
        assert all(torch.isfinite(leaf).all() for leaf in leaves)
    if workload.training:
        assert all(torch.isfinite(p.grad).all() for p in built.parameters() if p.grad is not None)
        assert any(p.grad is not None and p.grad.abs().sum() > 0 for p in built.parameters())


@pytest.mark.parametrize("name", sorted(LARGE - set(ASKS_FOR_CONTENT)))
def test_what_is_sized_for_a_gpu_fits_together(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    workload = WORKLOADS[name]
    if library := missing_library(workload):
        pytest.skip(f"{library} is not installed")
    small = cpu_buckets(workload)
    assert len(small) < len(workload.buckets)
    # They come last, so that what a CPU walks through does not depend on them.
    assert list(workload.buckets[: len(small)]) == small
    built = fresh_build(workload, META, 0)
    for index in range(len(small), len(workload.buckets)):
        assert [tuple(leaf.shape) for leaf in run_once(built, workload, index, META)] == SHAPES[name][index]


@pytest.mark.slow
@pytest.mark.parametrize("name", ASKS_FOR_CONTENT)
def test_what_is_sized_for_a_gpu_and_looks_into_its_tensors_runs(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    workload = WORKLOADS[name]
    if library := missing_library(workload):
        pytest.skip(f"{library} is not installed")
    index = len(cpu_buckets(workload))
    with torch.no_grad():
        built = fresh_build(workload, CPU, 0)
        output = run_once(built, workload, index)[0]
    assert [tuple(output.shape)] == SHAPES[name][index]
    assert torch.isfinite(output).all()


@pytest.mark.parametrize("name", [name for name, one in WORKLOADS.items() if cpu_buckets(one)])
def test_one_seed_gives_equal_inputs_in_fresh_storage(name: str) -> None:
    workload = WORKLOADS[name]
    for bucket in cpu_buckets(workload):
        once, again, other = (tensors(fresh_inputs(workload, bucket, CPU, seed)) for seed in (7, 7, 8))
        assert once and len(once) == len(again)
        assert all(torch.equal(a, b) for a, b in zip(once, again, strict=True))
        assert not {t.untyped_storage().data_ptr() for t in once} & {
            t.untyped_storage().data_ptr() for t in again
        }
        assert not all(torch.equal(a, b) for a, b in zip(once, other, strict=True))


class DrawsWide(TorchFunctionMode):
    """Fails where random numbers are drawn in a narrow float, which versions of torch do in different ways."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        if func in (torch.rand, torch.randn, torch.rand_like, torch.randn_like):
            assert found.dtype.itemsize >= 4
        return found


def test_random_inputs_are_drawn_wide() -> None:
    with DrawsWide():
        with pytest.raises(AssertionError):
            torch.randn(2, dtype=torch.bfloat16)
        for workload in WORKLOADS.values():
            for bucket in cpu_buckets(workload):
                fresh_inputs(workload, bucket, CPU, 0)


def test_one_seed_builds_equal_weights_in_separate_modules() -> None:
    workload = WORKLOADS["training.mlp_step"]
    once, again = fresh_build(workload, CPU, 3), fresh_build(workload, CPU, 3)
    pairs = list(zip(once.parameters(), again.parameters(), strict=True))
    assert pairs and all(torch.equal(a, b) and a.data_ptr() != b.data_ptr() for a, b in pairs)


@pytest.mark.parametrize("name", list(GRAPHS))
def test_capture_shows_what_the_workload_is_made_to_show(name: str) -> None:
    workload = WORKLOADS[name]
    torch._dynamo.reset()
    built = fresh_build(workload, CPU, 0)
    graphs: list[Any] = []

    def counting(module: Any, example: Any) -> Any:
        graphs.append(module)
        return module.forward

    compiled = torch.compile(built, backend=counting, **workload.variants[0].options)
    added = []
    for _walk in range(2):
        for index in range(len(cpu_buckets(workload))):
            before = len(graphs)
            for _call in range(workload.calls):
                run_once(compiled, workload, index)
            added.append(len(graphs) - before)
    assert added == [*GRAPHS[name], *[0] * len(GRAPHS[name])]


def test_training_repeats_to_the_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for workload in WORKLOADS.values():
        if not workload.training or missing_library(workload):
            continue
        gradients = []
        for _ in range(2):
            built = fresh_build(workload, CPU, 0)
            run_once(built, workload, 0)
            gradients.append([p.grad for p in built.parameters() if p.grad is not None])
        assert all(torch.equal(a, b) for a, b in zip(*gradients, strict=True)), workload.name


def test_matmul_check_finds_one_wrong_element() -> None:
    workload = WORKLOADS["matmul.fp32_ieee_1024"]
    assert workload.check is not None and workload.precision == "ieee" and workload.repeats == 50
    args, kwargs = fresh_inputs(workload, workload.buckets[0], CPU, 0)
    output = fresh_build(workload, CPU, 0)(*args)
    workload.check(args, kwargs, output)
    output[7, 7] += 0.01
    with pytest.raises(AssertionError):
        workload.check(args, kwargs, output)


def test_quick_start_is_five_cells_and_one_of_them_a_model() -> None:
    quick = [workload for workload in WORKLOADS.values() if "quickstart" in workload.tags]
    # A shape that only a GPU takes is no cell of a first run on a CPU.
    assert sum(bucket.requires is None for workload in quick for bucket in workload.buckets) == 5
    assert sum("models" in workload.tags for workload in quick) == 1


def test_tags_say_what_they_say() -> None:
    for workload in WORKLOADS.values():
        assert workload.stands_for
        assert workload.tags <= {
            "quickstart",
            "smoke",
            "standard",
            "models",
            "training",
            "dynamic",
            "stress",
            "gpu",
        }
        assert ("gpu" in workload.tags) == (workload.requires == "gpu")
        assert ("training" in workload.tags) == workload.training
        assert workload.tags
        assert ("models" in workload.tags) == bool(workload.libraries)


def probe(python: str, blocked: bool, records: list[dict[str, Any]]) -> dict[str, Any]:
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    environment.pop("PYTHONPATH", None)
    if not blocked:
        environment["PYTHONPATH"] = str(REPO)
    done = subprocess.run(
        [python, "-c", PROBE.format(blocked=blocked)],
        input=json.dumps(records),
        capture_output=True,
        text=True,
        env=environment,
        cwd="/",
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def records_for_probe(python: str) -> list[dict[str, Any]]:
    records = catalog.describe(catalog.load())
    needed = {library for record in records for library in record["libraries"]}
    script = "import sys, importlib.util as u; print(*[n for n in sys.argv[1:] if u.find_spec(n)])"
    found = subprocess.run([python, "-c", script, *needed], capture_output=True, text=True, check=True)
    return [
        {
            **record,
            "checked": WORKLOADS[record["name"]].check is not None,
            "buckets": [bucket for bucket in record["buckets"] if not bucket["requires"]],
        }
        for record in records
        if record["name"] in WORKLOADS
        and set(record["libraries"]) <= set(found.stdout.split())
        and not record["requires"]
    ]


@pytest.mark.slow
def test_texts_run_alone_and_give_the_same_inputs() -> None:
    records = records_for_probe(sys.executable)
    assert all(record["standalone"] for record in catalog.describe(catalog.load()))
    alone, registered = (probe(sys.executable, blocked, records) for blocked in (True, False))
    assert alone == registered
    assert all(is_callable for buckets in alone.values() for is_callable, _digest in buckets)


@pytest.mark.slow
def test_texts_and_packs_run_under_an_interpreter_with_only_torch() -> None:
    python = os.environ.get("COMPILEWATCH_TEST_BARE_PYTHON")
    if not python:
        pytest.skip("set COMPILEWATCH_TEST_BARE_PYTHON to an interpreter that has torch and nothing else")
    records = records_for_probe(python)
    assert probe(python, True, records) == probe(python, False, records)
    script = "import json; from workloads import catalog; print(json.dumps(catalog.describe(catalog.load())))"
    done = subprocess.run([python, "-c", script], capture_output=True, text=True, cwd=REPO, check=True)
    assert json.loads(done.stdout) == catalog.describe(catalog.load())


def test_readme_lists_every_workload_as_it_is() -> None:
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in (REPO / "workloads" / "README.md").read_text().splitlines()
        if line.startswith("| `") and "." in line.split("`")[1]
    ]
    listed = [row[0].strip("`") for row in rows]
    # What works on streams has a list of its own.
    aside = re.findall(
        r"^- \*\*(\w+\.\w+)\*\*:", (REPO / "workloads" / "README.md").read_text(), re.MULTILINE
    )
    assert sorted([*listed, *aside]) == sorted(catalog.load().workloads)
    for name, *_meaning, tags in rows:
        workload = catalog.load().workloads[name.strip("`")]
        assert set(tags.split(", ")) == workload.tags
        assert ("(trains)" in _meaning[0]) == workload.training


def test_readme_examples_load(tmp_path: Path) -> None:
    blocks = (REPO / "workloads" / "README.md").read_text().split("```python\n")[1:]
    for index, block in enumerate(blocks):
        (tmp_path / f"example_{index}.py").write_text(block.split("```")[0])
    assert len(blocks[0].split("```")[0].strip().splitlines()) <= 15
    loaded = catalog.load([str(tmp_path)], packs=False)
    assert loaded.problems == []
    assert list(loaded.workloads) == ["mine.norm_gelu", "mine.gelu", "example_2"]
    for workload in loaded.workloads.values():
        built = fresh_build(workload, CPU, 0)
        for index in range(len(workload.buckets)):
            assert run_once(built, workload, index)
