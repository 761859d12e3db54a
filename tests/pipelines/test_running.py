"""Running jobs: the first runs of a home, and settings from a file."""

from __future__ import annotations

import re
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import dagster as dg
import pytest

from pipelines.running import _copied_without_ctrl_c, read_config, select_assets
from tests.pipelines.command_line import call, fail, use_home
from tests.tiny import SOURCE, Home, assert_same_tables
from traces.catalogue.places import PROJECT


def test_two_first_runs_at_once_both_complete(finished: Home, tmp_path: Path) -> None:
    """Both find a home without a warehouse and without Dagster's tables."""
    home = Home(tmp_path)
    runs = [home.start("run", SOURCE, "--job", "ingest") for _ in range(2)]
    for run in runs:
        _, errors = run.communicate(timeout=300)
        assert run.returncode == 0, errors
    ours, theirs = home.tables(), finished.tables()
    ingested = [name for name in ours if name.startswith(("raw.", "core.")) or name == "marts.trace_health"]
    assert_same_tables({name: theirs[name] for name in ingested}, {name: ours[name] for name in ingested})


def test_ctrl_c_ends_in_a_line(catalogue: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from pipelines.running import defs  # that of this home

    class Interrupted:
        name, asset_layer = "ddppo", SimpleNamespace(selected_asset_keys=())

        def execute_in_process(self, **_: object) -> None:
            raise dg.DagsterExecutionInterruptedError

    monkeypatch.setattr(type(defs), "resolve_job_def", lambda *_: Interrupted())
    result = call("run", SOURCE, "--job", "ddppo")
    assert result.exit_code == 130 and result.stdout == ""
    assert result.stderr.endswith("\ninterrupted: what is done is kept, and the same command goes on from there\n")


def test_settings_of_a_file(tmp_path: Path) -> None:
    assert read_config(None) == {}
    file = tmp_path / "config.yaml"
    file.write_text("ops: {raw__log: {config: {}}}\n")
    assert read_config(file) == {"ops": {"raw__log": {"config": {}}}}
    file.write_text("[" * 5_000)
    with pytest.raises(ValueError, match="nested too deep"):
        read_config(file)
    file.write_text("[1, 2]\n")
    with pytest.raises(ValueError, match="expected a mapping"):
        read_config(file)


def test_settings_of_a_file_run_no_code(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(f"!!python/object/apply:os.mkdir ['{tmp_path / 'made'}']\n")
    with pytest.raises(ValueError, match="not valid YAML"):
        read_config(file)
    assert not (tmp_path / "made").exists()


def test_nothing_is_told_to_anybody() -> None:
    settings = read_config(PROJECT / "dagster.yaml")
    assert settings["telemetry"] == {"enabled": False} and settings["nux"] == {"enabled": False}


def test_what_copies_the_output_of_a_step_does_not_hear_ctrl_c(tmp_path: Path) -> None:
    """A terminal sends it to all processes of the command, and theirs would print tracebacks."""
    with _copied_without_ctrl_c(sys.stdout, str(tmp_path / "out")) as processes:
        for process in processes:
            blocked = re.search(r"^SigBlk:\s*(\w+)", Path(f"/proc/{process}/status").read_text(), re.MULTILINE)
            assert blocked is not None and int(blocked[1], 16) >> (signal.SIGINT - 1) & 1
        assert len(processes) == 2
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


@pytest.mark.parametrize(
    ("selections", "names", "partitions"),
    [
        (["raw/log"], ["raw/log"], "sources"),
        (["+core/jobs"], ["core/jobs", "raw/log"], "sources"),
        (["+features/job_features"], ["features/job_features", "core/jobs", "raw/log"], "sources"),
        (["features/job_features+1"], ["features/job_features", "predictions/runtime_evaluation"], "sources"),
        (
            ["features/job_features", "key:features/similar_*"],
            ["features/job_features", "features/similar_jobs"],
            "sources",
        ),
        (['group:ingest and not key:"raw/log"'], ["core/jobs"], "sources"),
        (["core/vasp_jobs"], ["core/vasp_jobs"], "vasp"),
        (["experiments/topology"], ["experiments/topology"], None),
    ],
)
def test_assets_are_selected_as_dagster_does(selections: list[str], names: list[str], partitions: str | None) -> None:
    selected = select_assets(selections)
    assert set(names) <= {key.to_user_string() for key in selected.keys} and selected.partitions == partitions


@pytest.mark.parametrize(
    ("selections", "says"),
    [
        (["marts/reprt"], "--select 'marts/reprt' selects no asset. Did you mean marts/report?"),
        (["leaderboard"], "Did you mean marts/leaderboard?"),
        (["group:polices"], "Did you mean group:policies?"),
        (["raw/log", "+marts/reprt"], "Did you mean marts/report?"),
        (["zzzz"], "expected names and groups as in"),
        (["raw/log and"], "selects no asset"),
        (["raw/log", "raw/vasp_runs"], "do not run together: select one kind"),
    ],
)
def test_what_selects_nothing_is_said(selections: list[str], says: str) -> None:
    with pytest.raises(ValueError, match=re.escape(says)):
        select_assets(selections)


def test_a_selection_runs_for_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path)
    use_home(monkeypatch, home.folder)
    done = call("run", SOURCE, "--select", "+core/jobs")
    assert done.exit_code == 0, done.stderr
    assert re.findall(r"^(?:\S+: selection|  (\S+) +[\d.]+ s)$", done.stderr, re.MULTILINE) == [
        "",
        "raw/log",
        "core/jobs",
    ]
    assert home.tables()["core.jobs"]["source"].unique().to_list() == [SOURCE]
    assert "exclude each other" in fail("run", SOURCE, "--select", "core/jobs", "--job", "ingest")
    assert "of no source, leave SOURCE out" in fail("run", SOURCE, "--select", "experiments/topology")
