"""Tests of tracehouse: comparisons, gym_ids, ingesting, jobs, keywords, policies, queries, queue,
replaying, tracehouse, vasp.
"""

from __future__ import annotations

import ast
import doctest
import inspect
import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import tracehouse
from assets.common.storage import data_folder
from assets.ingest import removal
from pipelines.running import has_partition
from tests.pipelines.command_line import GOOD, fail, succeed
from tests.tracehouse.cli.commands.test_queue import job
from tracehouse.gym_ids import ENVIRONMENTS
from tracehouse.jobs import JobFailed, raise_failures
from tracehouse.keywords import refuse_unknown
from tracehouse.queue import read_snapshot
from tracehouse.replaying import check_can_be_saved, warn_of_peak
from tracehouse.text.replay_text import compare_text
from tracehouse.vasp import evaluate_transfer
from traces.catalogue.sources import Source

# gym_ids: Environments by their ids, as other libraries ask for them.

PROJECT = Path(__file__).resolve().parents[2]
OWN: dict[str, dict[str, Any]] = {
    "Queue": {"window_jobs": 32},
    "Backfilling": {"window_jobs": 32},
    "Inspector": {"window_jobs": 32},
}


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_an_id_makes_one_environment_and_several(name: str, bundled: Path) -> None:
    env = gymnasium.make(f"tracehouse/{name}-v0", **OWN.get(name, {}))
    observation, info = env.reset(seed=1)
    assert env.observation_space.contains(observation)
    masks = env.get_wrapper_attr("action_masks")()
    assert np.array_equal(masks, info["action_mask"])
    if not masks.all():
        with pytest.raises(ValueError, match="is masked"):
            env.step(int(np.argmin(masks)))
    env.step(env.action_space.sample())
    several = gymnasium.make_vec(f"tracehouse/{name}-v0", num_envs=3, **OWN.get(name, {}))
    assert several.reset(seed=1)[0].shape == (3, *observation.shape)
    several.step(several.action_space.sample())


@pytest.mark.parametrize("first", ["tracehouse, gymnasium", "gymnasium, tracehouse"])
def test_ids_are_known_in_any_order_of_imports(first: str) -> None:
    code = (
        f"import sys, {first}; print(gymnasium.spec('tracehouse/Queue-v0').kwargs); "
        "print([m for m in ('numba', 'polars', 'torch') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=False)
    assert (done.stdout.splitlines(), done.stderr) == (["{'log': 'birch'}", "[]"], "")


# comparisons: Comparisons from Python are those of saved runs.


def test_two_replays_are_compared_as_if_they_had_been_saved(trained: Path) -> None:
    saved = tracehouse.compare("fcfs-easy", "saf-easy", source="birch")
    log = tracehouse.load_log("birch")
    fresh = tracehouse.compare(tracehouse.replay(log, "FCFS"), tracehouse.replay(log, "SAF"))
    names = {"run_a": "fcfs-easy", "run_b": "saf-easy"}
    assert fresh.summary | names == saved.summary
    assert str(saved) == compare_text(saved.summary)
    assert saved.settings == {"policy": ("FCFS", "SAF")}


def test_tables_of_a_comparison(log: Path) -> None:
    loaded = tracehouse.load_log(log)
    comparison = tracehouse.compare(tracehouse.replay(loaded), tracehouse.replay(loaded, procs=32))
    wait = comparison.metrics.row(0, named=True)
    assert wait["metric"] == "average_wait_s"
    assert wait["difference"] == wait["b"] - wait["a"] < 0
    assert comparison.verdict["word"] == "dominates"
    half = comparison.scored_metrics.filter(metric="wait_s").row(0, named=True)
    of_half = f"the later 200: {half['difference']:+,.0f} s, dominates"
    assert repr(comparison) == f"Comparison(400 jobs, mean wait {wait['difference']:+,.0f} s; {of_half})"
    assert half["difference"] == half["b"] - half["a"] != wait["difference"]
    everyone = comparison.paired.filter(jobs_of="all")
    assert everyone["metric"].to_list() == ["average_wait_s", "average_turnaround_s", "average_bounded_slowdown"]
    assert everyone["worse_share"].to_list() == [0, 0, 0]
    assert comparison.paired.filter(metric="average_wait_s")["jobs"].to_list()[0] == 400


def test_random_orders_are_rivals_of_a_run_of_this_process(log: Path) -> None:
    """The log of the runs was looked for in a warehouse that has none."""
    loaded = tracehouse.load_log(log)
    verdict = tracehouse.compare(tracehouse.replay(loaded, "FCFS", "none"), tracehouse.replay(loaded, "SAF")).verdict
    assert verdict["random_orders"] is not None and 0 < verdict["random_orders_as_good"] <= 1


def test_what_cannot_be_compared(log: Path) -> None:
    loaded = tracehouse.load_log(log)
    whole, part = tracehouse.replay(loaded), tracehouse.replay(loaded, window=(0, 100))
    with pytest.raises(ValueError, match="replay different jobs, the whole trace and window 0:100"):
        tracehouse.compare(whole, part)
    with pytest.raises(ValueError, match=r"save the other with run\.save"):
        tracehouse.compare(whole, "fcfs")
    with pytest.raises(ValueError, match="give the source of the saved runs"):
        tracehouse.compare("fcfs", "fcfs-easy")


# ingesting: a failure leaves nothing of a name that is new. Logs are in
# tests/tracehouse/cli/commands/test_cluster.py.


def test_a_folder_without_runs_leaves_no_partition(catalogue: Path, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    (folder / "empty").mkdir(parents=True)
    assert "no VASP run in it" in fail("vasp", "ingest", folder, "--name", "mine")
    assert not has_partition("mine", "vasp") and catalogue.read_text().count("mine") == 0
    assert json.loads(succeed("sql", "SELECT source FROM raw.vasp_folders", "--format", "json")) == []


def test_a_failure_of_the_cleaning_hides_no_message(
    catalogue: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(removal, "remove_source_data", full)
    log = tmp_path / "mine.swf"
    log.write_text(GOOD.format(n=1))
    assert "is a job in the pbs format" in fail("ingest", log, "--format", "pbs")


# jobs: What a job that failed says.


def test_every_source_that_failed_is_named() -> None:
    raise_failures({})
    with pytest.raises(JobFailed, match=r"^broken$"):
        raise_failures({"a": "broken"})
    with pytest.raises(JobFailed, match=r"2 sources failed:\n  a: broken\n  b: gone"):
        raise_failures({"a": "broken", "b": "gone"})


def test_a_message_steers_no_terminal() -> None:
    for failures in ({"a": "\x1b[2J"}, {"a": "\x1b[2J", "b": "gone"}):
        with pytest.raises(JobFailed) as raised:
            raise_failures(failures)
        assert "\\x1b[2J" in str(raised.value) and "\x1b" not in str(raised.value)


# keywords: A keyword that a function does not have is refused with those that it has.


def test_unknown_keywords_are_named() -> None:
    refuse_unknown("f", {"a": 1}, ("a", "b"))
    with pytest.raises(TypeError, match=r"f\(\) has no setting c, d: expected some of a, b"):
        refuse_unknown("f", {"d": 1, "a": 2, "c": 3}, ("a", "b"))


# policies: Policies as files and as functions.


def test_a_policy_file_is_loaded_and_replayed(trained: Path) -> None:
    file, sha256 = tracehouse.query("SELECT file, sha256 FROM policies.scheduling_policies WHERE champion").row(0)
    policy = tracehouse.load_policy(data_folder() / file)
    assert policy.card["goal"] == "bsld"
    log = tracehouse.load_log("birch")
    run = tracehouse.replay(log, policy)
    assert run.summary["policy_sha256"] == sha256
    assert run.jobs.equals(tracehouse.replay(log, "learned").jobs)


def test_a_damaged_policy_is_refused(tmp_path: Path) -> None:
    (tmp_path / "policy.json").write_text("{}")
    with pytest.raises(ValueError, match=r"policy\.json: not a policy file"):
        tracehouse.load_policy(tmp_path / "policy.json")


def test_a_function_is_a_policy(log: Path) -> None:
    """Plain or compiled, with what it closes over, and again after a second definition, as in a notebook. No name is built in."""
    import numba

    Path("mine.py").write_text("def saf(estimate, procs):\n    return estimate * procs\n")
    loaded, weight = tracehouse.load_log(log), 1.0

    def saf(estimate, procs):
        return weight * estimate * procs

    expected = tracehouse.replay(loaded, "mine.py:saf").jobs
    for policy in (saf, numba.njit(lambda estimate, procs: estimate * procs)):
        assert tracehouse.replay(loaded, policy).jobs.equals(expected) and tracehouse.replay(log, policy).jobs.height
    run = tracehouse.replay(loaded, saf)
    assert run.policy == run.summary["policy"] == "saf()"
    weight = -1.0
    assert not tracehouse.replay(loaded, saf).jobs.equals(expected)
    with pytest.raises(ValueError, match=r"'FILE\.py:NAME', and save that"):
        run.save("mine")
    with pytest.raises(
        ValueError, match=r"policy saf\(\) has a parameter 'jobs', which is not known: expected some of now"
    ):
        tracehouse.replay(loaded, type("saf", (), {"__call__": lambda self, jobs: jobs})())


# queries: Tables of the warehouse from Python.


def test_rows_as_polars_and_as_arrow_are_those_of_the_command_line(trained: Path) -> None:
    sql = "SELECT rank, policy, average_wait_s FROM marts.leaderboard"  # best first, as it is stored
    frame, table = tracehouse.query(sql), tracehouse.query(sql).to_arrow()
    assert isinstance(frame, pl.DataFrame) and isinstance(table, pa.Table)
    assert frame.to_dicts() == table.to_pylist() == json.loads(succeed("sql", sql, "--format", "json"))
    assert tracehouse.leaderboard("birch").select(frame.columns).equals(frame)


def test_the_warehouse_is_read_only_and_faults_have_the_message_of_the_command_line(trained: Path) -> None:
    for sql in ("SELEC 1", "FROM nothing.here", "DELETE FROM core.jobs"):
        with pytest.raises(ValueError) as raised:
            tracehouse.query(sql)
        assert str(raised.value).strip() == fail("sql", sql).strip()


def test_a_home_in_which_nothing_has_happened(log: Path) -> None:
    with pytest.raises(tracehouse.WarehouseError, match="no warehouse yet: make one with `tracehouse run`"):
        tracehouse.query("SELECT 1")
    with pytest.raises(tracehouse.CatalogueError, match="unknown source 'nobody'"):
        tracehouse.saved_runs("nobody")


def test_a_source_that_is_not_evaluated(bundled: Path) -> None:
    assert tracehouse.saved_runs("birch").is_empty()
    with pytest.raises(ValueError, match="has not been evaluated yet: `tracehouse run birch`"):
        tracehouse.leaderboard("birch")


# queue: The queue as a source knows it.


def test_users_are_called_as_in_the_log(tmp_path: Path) -> None:
    """An SWF log has numbers for names, which stay."""
    file = tmp_path / "queue.json"
    file.write_text(json.dumps({"jobs": [job(1)]}))
    for log_format, keeps in (("swf", True), ("slurm", False)):
        source = Source("mine", log_format, tmp_path, pseudonyms=("user",))
        snapshot, _ = read_snapshot(source, str(file))
        assert ({each.user_name for each in snapshot.jobs} == {"8"}) == keeps


# replaying: What `tracehouse replay` refuses before it reads anything, and what it says while it works.


def test_what_cannot_be_saved_is_refused_at_once(catalogue: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="bad name of a run"):
        check_can_be_saved("birch", "a b")
    (tmp_path / "a.swf").touch()
    with pytest.raises(ValueError, match="runs of a log are not saved"):
        check_can_be_saved(str(tmp_path / "a.swf"), "x")
    with pytest.raises(ValueError, match="not in the warehouse yet"):
        check_can_be_saved("birch", "x")


def test_a_guessed_size_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    warn_of_peak(8, "header")
    assert capsys.readouterr().err == ""
    warn_of_peak(8, "peak")
    assert "took the peak of processors in use (8)" in capsys.readouterr().err


# tracehouse: The face as a whole: what it names, how quickly it loads, and that its examples run.

FUNCTIONS = [name for name in tracehouse.__all__ if inspect.isfunction(getattr(tracehouse, name))]
OF_TRAINED_SOURCES = {"query", "saved_runs", "leaderboard", "predicted_runtimes", "predict_wait", "predict_queued_wait",
                      "advise_walltime", "train"}  # fmt: skip
LOADED_LATER = ("dagster", "numba", "torch", "polars", "duckdb", "sklearn", "xgboost", "gymnasium", "matplotlib")
SLOWEST_IMPORT_S = 0.5


def examples() -> list[doctest.DocTest]:
    """The examples of every public function and class, and of the methods of the classes."""
    finder = doctest.DocTestFinder(exclude_empty=True)
    tests = []
    for name in tracehouse.__all__:
        value = getattr(tracehouse, name)
        if value.__module__.startswith("tracehouse"):
            tests += [test for test in finder.find(value, name, globs={}) if test.examples]
    return tests


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_examples_of_docstrings_run_and_print_what_they_say(
    example: doctest.DocTest, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    request.getfixturevalue("trained" if example.name in OF_TRAINED_SOURCES else "bundled")
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    failed = runner.run(example).failed
    assert failed == 0, capsys.readouterr().out


def test_every_function_has_an_example_and_says_what_comes_back_and_what_goes_wrong() -> None:
    shown = {example.name for example in examples()}
    for name in FUNCTIONS:
        text = inspect.getdoc(getattr(tracehouse, name)) or ""
        assert name in shown, f"{name} has no example"
        assert "Returns\n-------" in text and "Raises\n------" in text, f"{name} lacks Returns or Raises"


def test_the_import_is_quick_and_loads_nothing_heavy() -> None:
    code = (
        "import sys, time; began = time.process_time(); import tracehouse; "
        f"print(time.process_time() - began, *(m for m in {LOADED_LATER!r} if m in sys.modules))"
    )
    seconds, *loaded = subprocess.check_output([sys.executable, "-c", code], cwd=PROJECT, text=True).split()
    assert loaded == []
    assert float(seconds) < SLOWEST_IMPORT_S


def test_a_replay_needs_no_dagster(log: Path) -> None:
    code = (
        "import sys, tracehouse; runs = [tracehouse.replay(sys.argv[1], p) for p in ('FCFS', 'SAF')]; "
        "tracehouse.compare(*runs); print([m for m in ('dagster', 'torch', 'sklearn', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(log)], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_the_names_for_type_checkers_are_those_that_are_loaded() -> None:
    tree = ast.parse((PROJECT / "tracehouse" / "__init__.py").read_text())
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    typed = {a.name: str(node.module) for node in block.body if isinstance(node, ast.ImportFrom) for a in node.names}
    assert typed == tracehouse._MODULE_OF
    assert sorted(typed) == tracehouse.__all__ == dir(tracehouse)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tracehouse.nothing  # noqa: B018


def test_the_package_and_its_marker_for_type_checkers_are_packaged() -> None:
    settings = tomllib.loads((PROJECT / "pyproject.toml").read_text())
    assert "tracehouse*" in settings["tool"]["setuptools"]["packages"]["find"]["include"]
    assert settings["tool"]["setuptools"]["package-data"]["tracehouse"] == ["py.typed"]
    assert "tracehouse" in settings["tool"]["mypy"]["packages"]
    assert (PROJECT / "tracehouse" / "py.typed").exists()


# vasp: What cannot be judged is refused before anything is read.


def test_a_folder_is_not_judged_by_what_learned_from_it() -> None:
    with pytest.raises(ValueError, match="are both 'synthetic-vasp'"):
        evaluate_transfer("synthetic-vasp", "synthetic-vasp", "progress", 1)
