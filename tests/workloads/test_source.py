"""The stand-alone text of a definition, and the hash over it: what is in it, what isn't, what changes it."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from workloads import catalog

CPU = SimpleNamespace(name="cpu", device="cpu")
ANCHOR = "# unrelated below\n"
MODULE = f'''"""Not part of any definition."""
from __future__ import annotations

import math, os
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from workloads.registry import Target, workload

SCALE = 2.0
SCALE += math.pi
UNRELATED = 5


def scaled(x: torch.Tensor) -> torch.Tensor:
    """Used by the block."""
    return F.relu(x) * SCALE


@dataclass(frozen=True)
class Size:
    width: int = 4


class Block(nn.Module):
    class Inner:
        UNRELATED = 3

        @staticmethod
        def width() -> int:
            return Size().width

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(Block.Inner.width(), 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        def inner(UNRELATED: Any) -> torch.Tensor:
            return scaled(UNRELATED)
        return inner(self.linear(x))


def inputs(bucket: dict[str, Any], target: Target) -> tuple[Any, Any]:
    return (torch.randn(bucket["n"], 4, device=target.device),), {{}}


@workload("mine.block", stands_for="a block", inputs=inputs, buckets=[{{"n": 2}}])
@torch.no_grad()
def build(target: Target) -> nn.Module:
    return Block().to(target.device)


{ANCHOR}
def unrelated(x: Any) -> Any:
    return os.path.join(x, UNRELATED)
'''


def described(folder: Path, text: str, name: str = "mine") -> dict[str, Any]:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}.py"
    file.write_text(textwrap.dedent(text))
    (first, *_) = catalog.describe(catalog.load([str(file)], packs=False))
    assert "problem" not in first, first
    return first


def run(text: str) -> dict[str, Any]:
    module = ModuleType("cw_standalone")
    sys.modules["cw_standalone"] = module  # dataclasses look their module up
    exec(compile(text, "cw_standalone", "exec", dont_inherit=True), module.__dict__)
    return module.__dict__


def small(build: str, before: str = "", inputs: str = "lambda bucket, target: ((torch.ones(2),), {})") -> str:
    return (
        "import functools\nimport torch\nfrom workloads.registry import *\nfrom workloads.registry import workload\n"
        f"{textwrap.dedent(before)}\n@workload('mine.small', inputs={inputs}, buckets=[{{}}])\n{textwrap.dedent(build)}"
    )


def test_text_holds_what_is_used_in_the_file_s_order_and_nothing_else(tmp_path: Path) -> None:
    record = described(tmp_path, MODULE)
    source = record["source"]
    assert record["standalone"] is True and record["standalone_reason"] is None
    marks = [
        "from __future__ import annotations\n",
        "import math\n",
        "from dataclasses import dataclass\n",
        "from typing import Any\n",
        "import torch\n",
        "import torch.nn.functional as F\n",
        "from torch import nn\n",
        "Target = object",
        "SCALE = 2.0\nSCALE += math.pi\n",
        "def scaled(",
        "@dataclass(frozen=True)\nclass Size:",
        "class Block(nn.Module):\n    class Inner:",
        "def inputs(",
        "@torch.no_grad()\ndef build(",
    ]
    places = [source.index(mark) for mark in marks]
    assert places == sorted(places)
    for absent in (
        "import workloads",
        "from workloads",
        "@workload",
        "import os",
        "def unrelated",
        "\nUNRELATED",
        "Not part",
    ):
        assert absent not in source


def test_text_runs_alone_and_does_the_same(tmp_path: Path) -> None:
    namespace = run(described(tmp_path, MODULE)["source"])
    torch.manual_seed(0)
    module = namespace["build"](CPU)
    args, kwargs = namespace["inputs"]({"n": 2}, CPU)
    expected = torch.relu(module.linear(args[0])) * (2 + torch.pi)
    assert torch.equal(module(*args, **kwargs), expected)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("F.relu(x) * SCALE", "F.relu(x) + SCALE"),
        ("SCALE += math.pi", "SCALE += 1"),
        ("width: int = 4", "width: int = 8"),
        ("torch.nn.functional as F", "torch.nn.functional as F  \nimport torch.nn.init"),
        ("@torch.no_grad()", "@torch.enable_grad()"),
        ('[{"n": 2}]', '[{"n": 3}]'),
        ('[{"n": 2}]', '[{"n": 2}], calls=3'),
        ('[{"n": 2}]', '[{"n": 2}], training=True'),
        ('[{"n": 2}]', '[{"n": 2}], grad=True'),
        ('[{"n": 2}]', '[{"n": 2}], precision="ieee"'),
        ('[{"n": 2}]', '[{"n": 2}], tolerance={"float32": (1e-3, 1e-3)}'),
        ('[{"n": 2}]', '[{"n": 2}], check=lambda args, kwargs, output: None'),
    ],
)
def test_hash_changes_with_what_is_used(tmp_path: Path, old: str, new: str) -> None:
    assert MODULE.count(old) == 1
    before = described(tmp_path, MODULE)["definition_hash"]
    assert described(tmp_path, MODULE.replace(old, new))["definition_hash"] != before


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (ANCHOR, "# another comment\n"),
        ("UNRELATED = 5", "UNRELATED = 6"),
        ("return os.path.join(x, UNRELATED)", "return None"),
        ("import math, os", "import math, os, json"),
        ("from typing import Any", "from typing import Any, Final"),
        ("Not part of any definition", "Still not"),
        ('stands_for="a block"', 'stands_for="a block of mine", tags=("mine",)'),
        ("mine.block", "mine.renamed"),
        ("SCALE = 2.0", "SCALE = 2.0  # a comment"),
        (
            ANCHOR,
            "@workload('mine.other', inputs=inputs, buckets=[{}])\ndef build(target: Target) -> Any:\n    return unrelated\n\n\n",
        ),
    ],
)
def test_hash_stays_with_what_is_not(tmp_path: Path, old: str, new: str) -> None:
    assert MODULE.count(old) == 1
    before = described(tmp_path, MODULE)
    after = described(tmp_path, MODULE.replace(old, new))
    assert after["definition_hash"] == before["definition_hash"]
    assert after["source"] == before["source"]


def test_what_a_bucket_needs_is_part_of_the_hash(tmp_path: Path) -> None:
    text = MODULE.replace("import Target, workload", "import Bucket, Target, workload")
    assert text != MODULE

    def hashed(bucket: str) -> str:
        return str(described(tmp_path, text.replace('[{"n": 2}]', f"[{bucket}]"))["definition_hash"])

    assert hashed('Bucket.of({"n": 2})') == described(tmp_path, MODULE)["definition_hash"]
    needs = [hashed(f'Bucket.of({{"n": 2}}, requires={need})') for need in ("None", "'gpu'", "'cuda'")]
    assert len(set(needs)) == 3


def test_how_a_request_is_served_is_part_of_the_hash(tmp_path: Path) -> None:
    def hashed(argument: str, result: str = "fn(*args)") -> str:
        served = f"def served(fn, args, kwargs, target):\n    return {result}\n\n\n"
        text = MODULE.replace("@workload(", f"{served}@workload(", 1).replace(
            "inputs=", f"{argument}inputs=", 1
        )
        return str(described(tmp_path, text)["definition_hash"])

    assert hashed("") == described(tmp_path, MODULE)["definition_hash"]
    assert len({hashed(""), hashed("request=served, "), hashed("request=served, ", "[fn(*args)]")}) == 3


def test_hash_is_the_same_wherever_the_file_lies(tmp_path: Path) -> None:
    hashes = {described(tmp_path / folder, MODULE)["definition_hash"] for folder in ("a", "b/c")}
    assert len(hashes) == 1


def test_lambdas_partials_and_classes_are_written_out(tmp_path: Path) -> None:
    text = """
        import functools
        import torch
        from torch import nn
        from workloads.registry import module_workload, workload

        WIDTH = 3
        def make(width, bias=True):
            return nn.Linear(width, 2, bias=bias)
        def unused(): ...

        module_workload("a", functools.partial(make, WIDTH, bias=False), lambda n: torch.ones(n, WIDTH), buckets=[{"n": 4}])
        module_workload("b", nn.Identity, lambda: torch.ones(1)); module_workload("c", nn.Flatten, lambda: torch.ones(2, 3))
    """
    file = tmp_path / "mine.py"
    file.write_text(textwrap.dedent(text))
    a, b, c = catalog.describe(catalog.load([str(file)], packs=False))
    assert [record["standalone_reason"] for record in (a, b, c)] == [None] * 3
    assert "def unused" not in a["source"]
    namespace = run(a["source"])
    args, kwargs = namespace["inputs"]({"n": 4}, CPU)
    assert namespace["build"](CPU)(*args, **kwargs).shape == (4, 2)
    assert namespace["build"](CPU).bias is None
    assert run(b["source"])["inputs"]({}, CPU)[0][0].shape == (1,)
    assert run(c["source"])["inputs"]({}, CPU)[0][0].shape == (2, 3)
    assert type(run(c["source"])["build"](CPU)) is torch.nn.Flatten
    assert len({record["definition_hash"] for record in (a, b, c)}) == 3


def test_a_statement_that_stands_twice_stays_twice(tmp_path: Path) -> None:
    text = small(
        "def build(target):\n    return lambda x: x * FACTOR\n", "FACTOR = 2\nFACTOR *= 3\nFACTOR *= 3"
    )
    assert run(described(tmp_path, text)["source"])["build"](CPU)(1) == 18


def test_adapter_leaves_the_meaning_of_annotations_alone(tmp_path: Path) -> None:
    text = """
        import torch
        from workloads.registry import module_workload

        def make(kind: int = 3) -> torch.nn.Module:
            assert make.__annotations__["kind"] is int
            return torch.nn.Identity()

        module_workload("mine.annotated", make, lambda: torch.ones(1))
    """
    assert run(described(tmp_path, text)["source"])["build"](CPU)(5) == 5


def test_two_builds_of_one_name_keep_their_own_text(tmp_path: Path) -> None:
    again = "\n@workload('mine.second', inputs=lambda b, t: ((torch.ones(2),), {}), buckets=[{}])\ndef build(target):\n    return torch.cos\n"
    file = tmp_path / "mine.py"
    file.write_text(small("def build(target):\n    return torch.sin\n") + again)
    first, second = catalog.describe(catalog.load([str(file)], packs=False))
    assert run(first["source"])["build"](CPU) is torch.sin
    assert run(second["source"])["build"](CPU) is torch.cos


def test_what_acts_on_a_used_thing_belongs_to_it(tmp_path: Path) -> None:
    before = """
        @torch.library.custom_op("cw_source::double", mutates_args=())
        def double(x: torch.Tensor) -> torch.Tensor:
            return x * 2

        @double.register_fake
        def _(x):
            return torch.empty_like(x)

        @torch.library.custom_op("cw_source::other", mutates_args=())
        def other(x: torch.Tensor) -> torch.Tensor:
            return x * 3

        def work(x):
            return torch.ops.cw_source.double(x) + work.shift
        work.shift = 1
        if torch.cuda.is_available():
            torch.backends.cudnn.benchmark = False
        if __name__ == "__main__":
            work(torch.ones(2))
    """
    source = described(tmp_path, small("def build(target):\n    return work\n", before))["source"]
    assert 'custom_op("cw_source::double"' in source
    assert "@double.register_fake\ndef _(x)" in source
    assert "work.shift = 1" in source
    assert "torch.backends.cudnn.benchmark = False" in source
    assert "cw_source::other" not in source
    assert "__main__" not in source


def test_imports_of_neighbours_become_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    package = tmp_path / "cw_rel"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "layers.py").write_text("import torch\ndef act(x):\n    return x + 1\n")
    (package / "mine.py").write_text(small("def build(target):\n    return act\n", "from .layers import act"))
    (record,) = catalog.describe(catalog.load(["cw_rel.mine"], packs=False))
    assert "from cw_rel.layers import act" in record["source"]
    assert run(record["source"])["build"](CPU)(1) == 2


def test_functions_of_other_modules_are_imported(tmp_path: Path) -> None:
    text = "import textwrap\nfrom workloads.registry import workload\nimport torch\n"
    text += "workload('mine.x', inputs=lambda b, t: ((), {}), buckets=[{}])(textwrap.dedent)\n"
    source = described(tmp_path, text)["source"]
    assert "from textwrap import dedent" in source
    assert run(source)["build"] is textwrap.dedent


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (small("def build(target):\n    return Variant('a', {})\n"), "it uses Variant of workloads itself"),
        (
            small(
                "def build(target):\n    return torch.sin\n",
                inputs="Maker().inputs",
                before="class Maker:\n    def inputs(self, b, t): ...",
            ),
            "Maker.inputs is a method",
        ),
        (
            "import torch\nfrom workloads.registry import workload\ndef make(f):\n    return lambda target: f\nworkload('m', inputs=make, buckets=[{}])(make(torch.sin))\n",
            "make.<locals>.<lambda> uses f of the function it was made in",
        ),
        (
            small("def build(target):\n    return helper\n", "def helper(): return build\n")
            + "def build(): ...\n",
            "a function of workload_file_mine is defined again under the same name",
        ),
        (
            "import torch\nfrom workloads.registry import workload\ndef build(): return torch.sin\ndef second(target): return build()\nworkload('m', inputs=lambda b, t: ((), {}), buckets=[{}])(second)\n",
            "another function is called build: give it another name",
        ),
    ],
)
def test_what_cannot_stand_alone_says_why_and_keeps_the_file(tmp_path: Path, text: str, reason: str) -> None:
    text = text.replace("from workloads.registry import *", "from workloads.registry import Variant")
    record = described(tmp_path, text)
    assert record["standalone"] is False
    assert record["standalone_reason"].startswith(reason)
    assert record["source"] == text
    sys.modules.pop("workload_file_mine", None)


def test_the_precision_of_a_variant_is_part_of_the_hash_and_the_standard_ones_are_not(tmp_path: Path) -> None:
    text = MODULE.replace("import Target, workload", "import VARIANTS, Target, Variant, workload")

    def hashed(variants: str) -> str:
        told = text.replace("inputs=", f"variants={variants}, inputs=", 1)
        assert told != text
        return str(described(tmp_path, told)["definition_hash"])

    # A workload that takes the standard variants is the same work in an evaluator that has more or fewer of these.
    without = hashed("[v for v in VARIANTS if v.precision is None]")
    assert hashed("VARIANTS") == described(tmp_path, MODULE)["definition_hash"] == without
    own = [hashed(f'[Variant("own", {{}}, precision={one})]') for one in ("None", "'ieee'", "'tf32'")]
    assert len(set(own)) == 3
