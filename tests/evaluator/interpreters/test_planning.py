"""The interpreters under test: what a user asks for, which one that means, and how one is made where there is none."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import version as version_here
from pathlib import Path

import pytest

from evaluator.errors import UserError
from evaluator.interpreters import venvs
from evaluator.interpreters.installing import refused
from evaluator.interpreters.planning import (
    Interpreter,
    Spec,
    find_or_make,
    plan_interpreters,
    planned_as_given,
)
from tests.evaluator.commandline import REPOSITORY
from tests.evaluator.wheels import index_of, place, write_wheel

HERE = Path(sys.executable)


class Said:
    """Keeps what is said of long work."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, message: str) -> None:
        self.lines.append(message)


def bare_venv(path: Path, **distributions: str) -> Path:
    """A venv that says it has these distributions; its python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(path)], check=True)
    python = path / "bin" / "python"
    for name, version in distributions.items():
        place(python, name, version)
    return python


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where interpreters are made in this test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "compilewatch" / "interpreters"


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index with a torch built for CUDA, which brings its Triton, and an older one for CPUs, which does not."""
    folder = tmp_path / "wheels"
    write_wheel(folder, "torch", "2.14.1", ["nvidia-cublas==1.0", "triton~=3.8.0"])
    write_wheel(folder, "torch", "2.13.0+cpu", ["filelock; extra == 'files'"])
    write_wheel(folder, "nvidia_cublas", "1.0")
    for version in ("3.7.1", "3.8.0", "3.8.1"):
        write_wheel(folder, "triton", version)
    write_wheel(folder, "numpy", "0.9", ["helper"])
    for version in ("1.0", "2.0"):
        write_wheel(folder, "helper", version)
    for name, value in index_of(folder).items():
        monkeypatch.setenv(name, value)
    return folder


@pytest.mark.parametrize(
    ("text", "torch", "pins", "variables"),
    [
        ("2.14.1", "2.14.1", {}, {}),
        ("2.13.0+cpu", "2.13.0+cpu", {}, {}),
        ("2.15.0.dev20261101+cu130", "2.15.0.dev20261101+cu130", {}, {}),
        (".", None, {}, {}),
        ("torch==2.14.1", "2.14.1", {}, {}),
        ("transformers==5.20.0", None, {"transformers": "5.20.0"}, {}),
        ("FLAG=1", None, {}, {"FLAG": "1"}),
        (".,FLAG=", None, {}, {"FLAG": ""}),
        (
            "2.14.1, Flash_Attn==2.8, TORCHINDUCTOR_MAX_AUTOTUNE=1",
            "2.14.1",
            {"flash-attn": "2.8"},
            {"TORCHINDUCTOR_MAX_AUTOTUNE": "1"},
        ),
        # A comma in a value, and an equals sign.
        ("2.14.1,CPUS=0,1,FLAGS=a=b", "2.14.1", {}, {"CPUS": "0,1", "FLAGS": "a=b"}),
    ],
)
def test_a_spec_says_torch_pins_and_variables(
    text: str, torch: str | None, pins: dict[str, str], variables: dict[str, str]
) -> None:
    spec = Spec.parse(text)
    assert (spec.torch, dict(spec.pins), dict(spec.variables), spec.text) == (torch, pins, variables, text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is no environment: give a torch version"),
        ("transformers", "'transformers' in 'transformers' is no environment"),
        ("2.14.1,2.13.0", "'2.13.0' in '2.14.1,2.13.0' is no environment"),
        ("2.14.1,transformers==new", "'new' in '2.14.1,transformers==new' is no version"),
        ("2.14.1,torch==2.13.0", "names torch twice"),
        ("2.14.1,numpy==1.0,NumPy==2.0", "pins numpy twice"),
        ("2.14.1,A=1,A=2", "sets A twice"),
        ("2.14.1,TMPDIR=/x", "TMPDIR is set by the evaluator"),
        ("2.14.1,PYTHONHASHSEED=0", "PYTHONHASHSEED is set by the evaluator"),
        ("torch=2.13.0", "did you mean torch==2.13.0?"),
        ("torch = 2.13.0", "did you mean torch==2.13.0?"),
        ("2.14.1,transformers=5.20.0", "did you mean transformers==5.20.0?"),
        ("2.14.1,flash-attn=2.8", "did you mean flash-attn==2.8?"),
        ("2.14.1,FLAG=1,other=1.2", "did you mean other==1.2?"),
    ],
)
def test_a_spec_that_is_none_says_what_to_give(text: str, said: str) -> None:
    with pytest.raises(UserError) as raised:
        Spec.parse(text)
    assert said in str(raised.value)


def planned(specs: list[str], pythons: list[Path]) -> list[Path]:
    return [one.python for one in plan_interpreters([Spec.parse(text) for text in specs], pythons)]


def test_an_interpreter_that_was_given_wins(tmp_path: Path, cache: Path) -> None:
    old = bare_venv(tmp_path / "old", torch="1.5.0+cpu")
    new = bare_venv(tmp_path / "new", torch="1.6.0", numpy="1.2")
    other = bare_venv(tmp_path / "other", torch="1.6.0", numpy="1.3")
    assert planned(["1.5", "1.6.0"], [new, old]) == [old, new]
    assert planned(["1.6.0,numpy==1.3", "1.5.0"], [new, other, old][1:]) == [other, old]
    # One version twice: both that were given; or one against itself.
    assert planned(["1.6.0", "1.6.0"], [new, other]) == [new, other]
    assert planned(["1.6.0", "1.6.0"], [new]) == [new, new]
    # The same torch as the first that was given, with a variable.
    assert planned([".", ".,FLAG=1"], [old]) == [old, old]
    made = find_or_make([Spec.parse(text) for text in ("1.5.0", ".", "1.5.0,FLAG=1")], [old], Said())
    assert made == [Interpreter(old), Interpreter(old, copy=2), Interpreter(old, (("FLAG", "1"),))]
    assert not cache.exists()


def test_the_running_interpreter_is_taken_where_it_has_the_version(tmp_path: Path) -> None:
    here = version_here("torch")
    old = bare_venv(tmp_path / "old", torch="1.5.0")
    assert planned(["1.5.0", here], [old]) == [old, HERE]
    assert planned(["."], []) == [HERE]


def test_an_interpreter_that_no_version_means_is_refused(tmp_path: Path) -> None:
    old = bare_venv(tmp_path / "old", torch="1.5.0")
    with pytest.raises(UserError, match=r"has torch 1\.5\.0, which none of .* means"):
        planned([version_here("torch")], [old])
    empty = bare_venv(tmp_path / "empty")
    with pytest.raises(UserError, match="has no torch: give --python one that has it"):
        planned(["."], [empty])
    with pytest.raises(UserError, match="does not run"):
        planned(["."], [tmp_path / "nothing" / "python"])


def test_interpreters_without_versions_are_sides_in_their_order(tmp_path: Path) -> None:
    old = bare_venv(tmp_path / "old", torch="1.5.0")
    new = bare_venv(tmp_path / "new", torch="1.6.0")
    assert [(one.python, one.torch) for one in planned_as_given([new, old])] == [
        (new, "1.6.0"),
        (old, "1.5.0"),
    ]


@pytest.mark.slow
def test_a_version_that_is_nowhere_is_made_once_with_the_same_libraries(
    tmp_path: Path, cache: Path, index: Path
) -> None:
    base = bare_venv(tmp_path / "base", torch="1.5.0", helper="1.0")
    place(base, "numpy", "0.9", ["helper"])
    specs = [Spec.parse("1.5.0"), Spec.parse("2.14.1")]
    there, missing = plan_interpreters(specs, [base])
    assert (there.disk_gb, there.recipe) == (0.0, None)
    assert "torch 1.5.0 is in" in there.sentence
    # No pip in the base: nothing is known of the build before.
    assert missing.recipe is not None
    assert missing.disk_gb == venvs.CUDA_GB
    said = Said()
    old, new = find_or_make(specs, [base], said)
    assert old.python == base
    assert new.python.is_relative_to(cache)
    found = venvs.installed(new.python, ["torch", "triton", "numpy", "nvidia-cublas", "helper"])
    # What numpy needs is held at the version that the first interpreter has, and not the latest.
    assert found["helper"] == "1.0"
    # triton~=3.8.0 takes 3.8.1: what pip takes by torch's own metadata, not a version of ours.
    assert {name: found[name] for name in ("torch", "triton", "numpy", "nvidia-cublas")} == {
        "torch": "2.14.1",
        "triton": "3.8.1",
        "numpy": "0.9",
        "nvidia-cublas": "1.0",
    }
    assert "about 6.0 GB of disk" in said.lines[0]
    assert "GB free" in said.lines[0]
    # The next time it is found, without pip: the index is gone.
    for wheel in index.iterdir():
        wheel.unlink()
    again = Said()
    assert find_or_make(specs, [base], again) == [old, new]
    assert again.lines == []
    # Other libraries make another one.
    other = bare_venv(tmp_path / "other", torch="1.5.0")
    assert plan_interpreters(specs, [other])[1].recipe is not None


@pytest.mark.slow
def test_a_cpu_build_gets_the_triton_of_its_release_and_a_half_made_one_is_made_anew(
    tmp_path: Path, cache: Path, index: Path
) -> None:
    recipe = venvs.recipe(HERE, "2.13.0", {"numpy": "0.9"})
    # As a process leaves it that was killed while pip worked.
    recipe.path.mkdir(parents=True)
    (recipe.path / "half").write_text("")
    assert recipe.made() is None
    known = recipe.looked_up()
    assert (known.torch, known.build, known.triton) == ("2.13.0+cpu", "CPU", "3.7.1")
    assert "torch 2.13.0+cpu (CPU build) with numpy 0.9, triton 3.7.1 will be made" in known.sentence
    assert "about 2.0 GB of disk" in known.sentence
    venvs.make(known, Said().say)
    assert not (recipe.path / "half").exists()
    assert recipe.made() == "2.13.0+cpu"
    assert venvs.installed(recipe.python, ["triton"])["triton"] == "3.7.1"
    # The marker was written last: without it nothing counts as made, and with another numpy neither.
    marker = recipe.path / "compilewatch.json"
    assert json.loads(marker.read_text())["torch"] == "2.13.0+cpu"
    assert replace(recipe, others={"numpy": "1.0"}).made() is None
    marker.unlink()
    assert recipe.made() is None


@pytest.mark.slow
def test_another_triton_than_torchs_own_can_be_asked_for(tmp_path: Path, cache: Path, index: Path) -> None:
    recipe = venvs.recipe(HERE, "2.14.1", {"triton": "3.7.1"}).looked_up()
    assert (recipe.build, recipe.triton) == ("CUDA", "3.7.1")
    venvs.make(recipe, Said().say)
    assert venvs.installed(recipe.python, ["triton"])["triton"] == "3.7.1"


def test_what_the_libraries_need_is_held_as_it_is_in_the_first_interpreter(
    tmp_path: Path, cache: Path
) -> None:
    base = bare_venv(tmp_path / "base", torch="1.5.0", numpy="0.9", triton="1.0")
    place(base, "transformers", "5.0", ["Needed_One>=1", "torch; extra == 'torch'", "gone", "triton"])
    place(base, "needed.one", "1.3", ["deeper (>=2); python_version >= '3'", "transformers"])
    place(base, "deeper", "2.0", ["torch"])
    place(base, "stranger", "7.0")
    _, one = plan_interpreters([Spec.parse("1.5.0"), Spec.parse("2.14.1")], [base])
    assert one.recipe is not None
    assert one.recipe.others == {"numpy": "0.9", "transformers": "5.0"}
    assert one.recipe.held == {"needed-one": "1.3", "deeper": "2.0"}
    # With another transformers what it needs is its own affair; what is pinned is no longer only held.
    _, other = plan_interpreters([Spec.parse("1.5.0"), Spec.parse("2.14.1,transformers==4.0")], [base])
    _, pinned = plan_interpreters([Spec.parse("1.5.0"), Spec.parse("2.14.1,deeper==3.0")], [base])
    assert other.recipe is not None and pinned.recipe is not None
    assert other.recipe.held == {}
    assert pinned.recipe.held == {"needed-one": "1.3"}
    assert len({one.python, other.python, pinned.python}) == 3


def test_what_torch_needs_otherwise_is_not_held() -> None:
    held = {"filelock": "3.0", "typing-extensions": "4.0", "numpy": "1.0"}
    requires = ["filelock>=2", "Typing_Extensions>=4.10.0", "numpy>=9; extra == 'numpy'", "sympy"]
    assert refused(requires, held) == {"typing-extensions"}


def test_a_pin_that_is_nowhere_is_refused_before_anything_is_made(cache: Path, index: Path) -> None:
    with pytest.raises(UserError, match=r"pip could not install torch==2\.13\.0 numpy==0\.1 .*No matching"):
        venvs.recipe(HERE, "2.13.0", {"numpy": "0.1"}).looked_up()
    assert not cache.exists()


@pytest.mark.slow
def test_what_pip_can_not_install_is_said_and_leaves_nothing(
    tmp_path: Path, cache: Path, index: Path
) -> None:
    # The libraries of the workloads are asked for together with it, and only torch is named as what is missing.
    with pytest.raises(
        UserError,
        match=r"pip could not install torch==9\.9\.9.* \(No matching distribution found for torch==9\.9\.9\)",
    ):
        plan_interpreters([Spec.parse("9.9.9")], [])
    assert not cache.exists()
    # torch is there, and a library is not.
    recipe = venvs.recipe(HERE, "2.13.0", {"numpy": "0.1"})
    with pytest.raises(UserError, match=r"pip could not install .*numpy==0\.1.*No matching distribution"):
        venvs.make(recipe, Said().say)
    assert not recipe.path.exists()


def test_a_full_disk_is_said_before_anything_is_made(cache: Path) -> None:
    recipe = venvs.Recipe(HERE, cache / "torch-2.14.1", "2.14.1", {})
    # Together a thousand terabytes.
    with pytest.raises(UserError, match=r"need about .* GB to be made and .* GB are free .*XDG_CACHE_HOME"):
        venvs.require_room([recipe] * 200_000)
    assert not cache.exists()


@pytest.mark.slow
def test_two_processes_make_one_interpreter_once(tmp_path: Path, cache: Path, index: Path) -> None:
    recipe = venvs.recipe(HERE, "2.13.0", {})
    recipe.path.parent.mkdir(parents=True)
    code = (
        "class Said:\n"
        "    def say(self, line): print(line, flush=True)\n"
        "from evaluator.interpreters import venvs\nfrom pathlib import Path\n"
        f"venvs.make(venvs.recipe(Path({str(HERE)!r}), '2.13.0', {{}}), Said().say)\n"
    )
    with recipe.path.with_name(recipe.path.name + ".lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        assert "another process is making" in process.stdout.readline()
        assert not recipe.path.exists()
    printed, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    assert "made torch 2.13.0+cpu" in printed
    said = Said()
    venvs.make(recipe, said.say)
    assert said.lines == []
