"""Every command that reads has --json, its answer parses, and a key means the same in all of them."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

from docs.reference_pages import JSON_KEYS
from tests.pipelines.command_line import succeed, use_home
from tests.tiny import SOURCE, Home
from tracehouse.cli.json_output import OTHER_NAMES, json_text
from tracehouse.cli.main import COMMANDS, load_command

SHARED_KEYS, ANSWERS = JSON_KEYS["shared"], JSON_KEYS["answers"]
TEXT_KEYS = frozenset(
    (
        "account",
        "backfill",
        "basis",
        "cause",
        "gpu",
        "limit",
        "period",
        "policy",
        "qos",
        "queue",
        "source",
        "time_zone",
        "user",
    )
)
"""Those of SHARED_KEYS that are text or null. Of the others, `cluster` and `job` may be lists, and the rest are numbers or null."""
NUMBER_KEYS = frozenset(
    (
        "core_hours",
        "gpu_hours",
        "hours",
        "known_waits",
        "max_wait_s",
        "mean_wait_s",
        "median_wait_s",
        "p95_wait_s",
        "share",
        "wait_s",
    )
)
"""Those that are numbers or null."""
FORMER_KEYS = frozenset(("account_name", "max_wait_h", "mean_wait_h", "source_name", "user_name", "waited_h"))
"""Names of the same things elsewhere, which no answer may have."""
READ_NOTHING = {
    "remove": "changes the home",
    "collect": "prints a script",
    "completion": "prints a script",
    "export": "writes a file",
    "publish": "writes a file",
    "backup": "writes a file",
    "restore": "changes the home",
    "rollback": "changes the home",
    "warehouse copy": "writes a warehouse",
    "warehouse tidy": "changes a lake",
    "cluster import": "writes a file of the home",
    "cluster adopt": "changes a file of the home",
    "vasp run": "runs jobs, and prints no result",
    "reproduce": "makes tables, which `tracehouse sql` reads",
    "ui": "starts a server",
    "app": "starts a server",
}
"""Commands that print no result, and what they do instead. A new one that reads is not to be added here: give it --json."""


def every_command() -> dict[str, click.Command]:
    """All commands by name, those of groups as "cluster check"."""
    commands: dict[str, click.Command] = {}
    for name in COMMANDS:
        command = load_command(name)
        below = command.commands if isinstance(command, click.Group) else {}
        commands |= {f"{name} {inner}": each for inner, each in below.items()} if below else {name: command}
    return commands


def test_every_reading_command_has_json() -> None:
    """Before, why, who, periods, report, run and metrics had none."""
    commands = every_command()
    has_json = {name for name, command in commands.items() if any("--json" in option.opts for option in command.params)}
    assert commands.keys() - has_json == READ_NOTHING.keys()
    assert has_json == ANSWERS.keys()


WORDS = {
    "sources": [],
    "health": [SOURCE],
    "metrics": [],
    "sql": ["SELECT source FROM core.sources"],
    "who": [SOURCE],
    "who --nodes": [SOURCE],
    "who --waste": [SOURCE],
    "why": [SOURCE, "--by", "queue", "--by", "user"],
    "periods": [SOURCE, "last-5-days"],
    "models": [SOURCE],
    "wait": [SOURCE, "--procs", "4", "--walltime", "1h", "--samples", "10"],
    "walltime": [SOURCE, "--user", "10", "--risk", "20%"],
    "replay": [SOURCE],
    "compare": [SOURCE, "fcfs", "fcfs-easy"],
    "what-if": ["questions.toml"],
    "place": ["window.json", "--method", "tree"],
    "vasp sources": [],
    "report": [SOURCE],
    "run": [SOURCE, "--select", "marts/operations"],
}
"""Commands on a finished home, each with little work. The others have tests of their answers in their own files."""
QUESTIONS = f'source = "{SOURCE}"\n[base]\npolicy = "FCFS"\n[scenarios.first]\npolicy = "SAF"\n'
NAMES_BELOW = ("by", "replayed_by", "costs_by", "settings")
"""Keys below which names are keys: kinds of groups, and settings of two runs."""


@pytest.fixture(scope="module")
def answers(finished: Home, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the commands print, by their name."""
    folder = tmp_path_factory.mktemp("answers") / "home"
    shutil.copytree(finished.folder, folder)
    (folder / "window.json").write_text('{"tree": "4x2x2", "idle": [0, 1, 2, 5], "jobs": [2, 2]}')
    (folder / "questions.toml").write_text(QUESTIONS)
    with pytest.MonkeyPatch.context() as patch:
        use_home(patch, folder)
        patch.chdir(folder)
        return {name: json.loads(succeed(*name.split(), *words, "--json")) for name, words in WORDS.items()}


def objects(value: Any, above: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """(the key that leads to it, an object) of all objects in an answer."""
    if isinstance(value, dict):
        yield above, value
        for key, each in value.items():
            yield from objects(each, key)
    elif isinstance(value, list):
        for each in value:
            yield from objects(each, above)


def test_answers_have_their_keys(answers: dict[str, Any]) -> None:
    for name, answer in answers.items():
        shown = answer[0] if isinstance(answer, list) else answer
        command = name.partition(" --")[0]
        missing = () if name != command else set(ANSWERS[command]) - set(shown)
        assert not missing, f"{name}: {missing}"


def test_a_key_means_the_same_in_every_answer(answers: dict[str, Any]) -> None:
    """Before, a mean wait was mean_wait_h, average_wait_s or a text, by command."""
    for name, answer in answers.items():
        for above, each in objects(answer):
            assert not FORMER_KEYS & each.keys(), name
            if above in NAMES_BELOW:
                continue
            for key in each.keys() & TEXT_KEYS:
                assert isinstance(each[key], str | None), (name, key, each[key])
            for key in each.keys() & NUMBER_KEYS:
                is_pair = name == "compare" and isinstance(each[key], dict)  # of two runs, or the ratio of both
                assert is_pair or isinstance(each[key], int | float | None), (name, key, each[key])
    assert SHARED_KEYS.keys() >= TEXT_KEYS | NUMBER_KEYS and not SHARED_KEYS.keys() & FORMER_KEYS


def test_no_key_is_two_things() -> None:
    assert not TEXT_KEYS & NUMBER_KEYS and not FORMER_KEYS & SHARED_KEYS.keys()
    assert set(OTHER_NAMES.values()) <= SHARED_KEYS.keys()
    assert not any(FORMER_KEYS & set(keys) for keys in ANSWERS.values())


def test_commands_agree_on_the_same_figures(answers: dict[str, Any]) -> None:
    who, (figures,) = answers["who"], answers["metrics"]["sources"]
    assert who["source"] == figures["source"] == answers["why"]["source"] == answers["replay"]["source"] == SOURCE
    assert who["jobs"] == figures["jobs"]
    assert who["hours"] == pytest.approx(sum(row["hours"] for row in who["by"]["user"]))
    assert answers["why"]["hours"] == pytest.approx(sum(row["hours"] for row in answers["why"]["causes"]))
    (reported,) = answers["report"]["sources"]
    assert reported["source"] == SOURCE and Path(reported["report"]).name == f"{SOURCE}.html"
    assert reported["mean_wait_s"] > 0 and reported["grade"] in ("A", "B", "C", "D", None)
    assert answers["replay"]["mean_wait_s"] == answers["replay"]["average_wait_s"]
    steps = answers["run"]["steps"]
    assert [(step["source"], step["asset"], step["passed_over"]) for step in steps] == [
        (SOURCE, "marts/operations", None)
    ]
    assert answers["run"]["failed"] == []


def test_metrics_are_those_of_prometheus(finished: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    use_home(monkeypatch, finished.folder)
    (figures,) = json.loads(succeed("metrics", "--json"))["sources"]
    gauges = dict(line.rsplit(" ", 1) for line in succeed("metrics").splitlines() if not line.startswith("#"))
    month = figures["month"]
    for gauge, value in (
        ("jobs", figures["jobs"]),
        ("cluster_processors", figures["cluster_procs"]),
        ("month_wait_mean_seconds", month["mean_wait_s"]),
        ("month_wait_p95_seconds", month["p95_wait_s"]),
        ("month_started_within_1h_ratio", month["started_within_1h"]),
        ("month_start_timestamp_seconds", month["month_s"]),
    ):
        assert float(gauges[f'tracehouse_{gauge}{{source="{SOURCE}"}}']) == pytest.approx(value)


def test_json_is_valid_everywhere() -> None:
    values = {"a": float("nan"), "b": [np.float64(1.5), np.array([1, 2])], "c": Path("x"), "average_wait_s": math.inf}
    assert json.loads(json_text({"average_wait_h": 0.5, "p95_wait_h": None})) == {
        "average_wait_h": 0.5,
        "p95_wait_h": None,
        "mean_wait_s": 1800,
        "p95_wait_s": None,
    }
    text = json_text(values)
    assert text == '{"a": null, "b": [1.5, [1, 2]], "c": "x", "average_wait_s": null, "mean_wait_s": null}'
