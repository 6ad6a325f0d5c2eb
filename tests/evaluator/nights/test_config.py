"""The file of ``nightly``: what it may say, and that nothing in it is quietly ignored."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluator.errors import UserError
from evaluator.interpreters.planning import Spec
from evaluator.nights.config import NightlyConfig, read_config
from evaluator.selection import Selection

WHOLE = """
database = "n.db"
reports = "reports"
profile = "thorough"
timeout_s = 60
memory_mb = 4000.5
fail_on = "unconfirmed"
confirm = false
chrome_traces = true
baseline = "release"

[suite]
workloads = ["mlp*"]
buckets = ["b*"]
variants = ["d*"]
tags = ["quick"]
max_buckets = 2
target = "cuda"
sources = ["mine.py"]
packs = false

[[interpreter]]
name = "pinned"
spec = "2.13.0,A=1"

[[interpreter]]
name = "next"
python = "venv"
variables = { B = "2" }
baseline = "12@2"
suite = { tags = ["smoke"] }
"""
LEAST = '[[interpreter]]\nname = "pinned"\nspec = "2.13.0"\n'


def read(folder: Path, text: str) -> NightlyConfig:
    path = folder / "nightly.toml"
    path.write_text(text)
    return read_config(path)


def test_everything_that_may_be_said_is_read(tmp_path: Path) -> None:
    config = read(tmp_path, WHOLE)
    assert (config.database, config.reports, config.profile) == ("n.db", "reports", "thorough")
    assert (config.timeout_s, config.memory_mb, config.fail_on, config.confirm) == (
        60,
        4000.5,
        "unconfirmed",
        False,
    )
    assert config.chrome_traces
    assert config.path == tmp_path / "nightly.toml"
    pinned, following = config.tested
    assert pinned.suite.selection == Selection(("mlp*",), ("b*",), ("d*",), ("quick",), 2, "cuda")
    assert (pinned.suite.sources, pinned.suite.packs) == (("mine.py",), False)
    assert (pinned.spec, pinned.python, pinned.baseline) == (Spec.parse("2.13.0,A=1"), None, "release")
    assert (following.spec, following.python, following.variables) == (None, "venv", (("B", "2"),))
    # A suite of its own takes the place of the common one whole.
    assert following.suite.selection == Selection(tags=("smoke",))
    assert following.suite.packs
    assert following.baseline == "12@2"


def test_what_is_left_out_has_its_usual_value(tmp_path: Path) -> None:
    config = read(tmp_path, LEAST)
    assert (config.profile, config.timeout_s, config.memory_mb, config.fail_on) == (
        "standard",
        300,
        None,
        None,
    )
    assert (config.confirm, config.chrome_traces) == (True, False)
    assert config.tested[0].suite.selection == Selection()
    assert config.tested[0].baseline is None


def test_interpreters_of_one_suite_are_one_group(tmp_path: Path) -> None:
    own = '[[interpreter]]\nname = "{}"\nspec = "2.14.1"\nsuite = {{ tags = ["smoke"] }}\n'
    config = read(tmp_path, LEAST + own.format("a") + LEAST.replace("pinned", "next") + own.format("b"))
    assert [[one.name for one in tested] for _, tested in config.groups()] == [["pinned", "next"], ["a", "b"]]


def test_what_a_run_is_told_has_a_hash_that_follows_from_what_decides_it(tmp_path: Path) -> None:
    def told(text: str) -> str:
        config = read(tmp_path, text)
        return config.told(*config.groups()[0])

    assert told(LEAST) == told("baseline = 'x'\nfail_on = 'none'\n" + LEAST)
    others = ["profile = 'quick'\n" + LEAST, LEAST.replace("2.13", "2.14"), LEAST.replace("pinned", "next")]
    others += ["timeout_s = 5\n" + LEAST, LEAST + "suite = { tags = ['a'] }\n"]
    others += ["chrome_traces = true\n" + LEAST]
    assert len({told(text) for text in [LEAST, *others]}) == 7


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = [", "nightly.toml is no TOML"),
        ("", "name an interpreter, as in [[interpreter]]"),
        ("profil = 'quick'\n" + LEAST, "nightly.toml: there is no key profil; did you mean profile?"),
        ("profile = 'best'\n" + LEAST, "profile must be one of quick, standard, thorough, and is 'best'"),
        ("confirm = 1\n" + LEAST, "confirm must be true or false"),
        ("chrome_traces = 'yes'\n" + LEAST, "chrome_traces must be true or false"),
        (
            "chrome_traces = true\n[suite]\ntarget = 'codegen:h100'\n" + LEAST,
            "chrome_traces must be left out: on a codegen target nothing runs",
        ),
        ("timeout_s = 0\n" + LEAST, "timeout_s must be a number above zero"),
        ("timeout_s = true\n" + LEAST, "timeout_s must be a number above zero"),
        ("timeout_s = nan\n" + LEAST, "timeout_s must be a number above zero"),
        ("database = ''\n" + LEAST, "database must be a text that is not empty"),
        ("suite = 1\n" + LEAST, "suite must be a table"),
        ("[suite]\ntag = ['a']\n" + LEAST, "nightly.toml: suite: there is no key tag; did you mean tags?"),
        ("[suite]\ntags = 'a'\n" + LEAST, "suite: tags must be a list of texts"),
        ("[suite]\nmax_buckets = 0\n" + LEAST, "suite: max_buckets must be a whole number above zero"),
        ("[suite]\ntarget = 'tpu'\n" + LEAST, "suite: target: no target is called 'tpu': take cpu, cuda"),
        ("interpreter = 1", "interpreter must be a list of tables"),
        (LEAST + LEAST, "two interpreters are called 'pinned'"),
        ("[[interpreter]]\nspec = '2.13.0'", "interpreter 1: name must be there"),
        (LEAST + "[[interpreter]]\nname = 'b'", "interpreter 2: python or spec must be there, and only one of them"),
        (LEAST + "python = 'p'", "interpreter 1: python or spec must be there, and only one of them"),
        (LEAST + "variables = { A = '1' }", "variables must be part of spec there, as in 2.13.0,NAME=value"),
        ("[[interpreter]]\nname = 'b'\npython = 'p'\nvariables = { A = 1 }", "variables must be a table of texts"),
        ("[[interpreter]]\nname = 'b'\npython = 'p'\nvariables = { 'A=B' = '1' }", "variables: 'A=B' is no name"),
        ("[[interpreter]]\nname = 'b'\npython = 'p'\nvariables = { PYTHONHASHSEED = '1' }", "PYTHONHASHSEED is set"),
        ("[[interpreter]]\nname = 'b'\npython = 'p'\nvariables = { torch = '2.14.1' }", "did you mean torch==2.14.1?"),
        (LEAST.replace("2.13.0", "torch=2.13.0"), "did you mean torch==2.13.0?"),
        (LEAST.replace("2.13.0", "new"), "'new' in 'new' is no environment"),
        (LEAST + "version = 3", "interpreter 1: there is no key version"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_sentence_that_says_where(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(UserError) as raised:
        read(tmp_path, text)
    assert said in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_file_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"none\.toml can't be read"):
        read_config(tmp_path / "none.toml")
