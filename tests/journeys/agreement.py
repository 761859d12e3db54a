"""What the answers of a journey must agree in: hours, mean waits, letters, and counts of jobs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import tracehouse
from assets.common.storage import open_warehouse
from warehouse import first_row

Answers = dict[str, Any]
"""By the key of a step, its JSON."""


def disagreements(name: str, answers: Answers) -> Iterator[str]:
    """What does not agree, in words; nothing where all does. name: of the source of the home in use."""
    for check in (_lines, _hours, _waits_of_replays, _letters):
        yield from check(name, answers)


def _row(name: str, query: str) -> tuple[Any, ...] | None:
    with open_warehouse().read() as connection:
        return first_row(connection, query, [name])


def _unequal(what: str, figures: dict[str, float | None]) -> Iterator[str]:
    values = [value for value in figures.values() if value is not None]
    if values and not np.allclose(values, values[0], rtol=1e-9, atol=1e-6):
        yield f"{what} differ: {figures}"


def _lines(name: str, answers: Answers) -> Iterator[str]:
    """Lines of the log are jobs or have a reason."""
    counted = answers.get("ingest")
    if counted is not None:
        parts = sum(counted[outcome] for outcome in ("accepted", "kept", "ignored", "rejected"))
        yield from _unequal("lines read, and what became of them", {"lines": counted["lines"], "parts": parts})


def _hours(name: str, answers: Answers) -> Iterator[str]:
    """Hours of all causes are the waits of core.jobs, whatever rules explain them."""
    waited = """
    SELECT sum(epoch(coalesce(start_time, end_time, last) - submit_time)) / 3600
    FROM core.jobs, (SELECT max(end_time) AS last FROM core.jobs WHERE source = $1)
    WHERE source = $1 AND NOT (start_time IS NULL AND coalesce(runtime_s, 0) > 0)
    """
    logged = (_row(name, waited) or (None,))[0]
    for key in ("why", "why adopted"):
        if key in answers:
            hours = answers[key]["hours"] + answers[key]["left_hours"]
            yield from _unequal(f"hours of {key}", {"core.jobs": logged, "why": hours})
            causes = sum(each["hours"] for each in answers[key]["causes"])
            yield from _unequal(f"hours of {key} by cause", {"all": hours, "sum": causes})


def _waits_of_replays(name: str, answers: Answers) -> Iterator[str]:
    """Replay, base of what-if and fidelity have one scheduler and one mean wait, each pair over the same jobs. What fits best is not
    replayed where it has no grade."""
    for state in ("", " adopted"):
        replayed, asked = answers.get(f"replay{state}"), answers.get(f"what-if{state}")
        base = next((each for each in asked["scenarios"] if each["scenario"] == "base"), None) if asked else None
        if replayed is not None and base is not None:
            if _scheduler(replayed) != _scheduler(base):
                yield f"replay{state} has {_scheduler(replayed)}, and the base of what-if {_scheduler(base)}"
            figures = {"replay": replayed["average_wait_s"] / 3600, "what-if": base["average_wait_h"]}
            yield from _unequal(f"mean waits of replay{state} and what-if", figures)
    graded = _row(name, "SELECT replayed_wait_s, grade FROM replay.fidelity WHERE source = ? AND part = 'all'")
    if graded and graded[1] is not None:
        run = tracehouse.replay(name).replayed
        start, submit = run.schedule.start, run.jobs.submit
        logged = (run.rows["start_s"] - run.rows["submit_s"]).fill_null(-1).to_numpy()
        is_graded = (np.arange(len(submit)) >= len(submit) // 2) & (logged >= 0) & run.schedule.started
        of_replay = float((start - submit)[is_graded].mean())
        yield from _unequal("mean waits of replay and fidelity", {"replay": of_replay, "fidelity": graded[0]})


def _scheduler(answer: Answers) -> tuple[Any, ...]:
    return answer["policy"], answer["backfill"], answer["procs"]


def _letters(name: str, answers: Answers) -> Iterator[str]:
    """One grade everywhere."""
    stored = (_row(name, "SELECT grade FROM replay.fidelity WHERE source = ? AND part = 'all'") or (None,))[0]
    said = {key: answers[key]["sources"][0]["grade"] for key in ("run", "report") if key in answers}
    if "what-if adopted" in answers:
        said["what-if"] = answers["what-if adopted"]["grade"]
    if any(letter != stored for letter in said.values()):
        yield f"grades differ: {said}, and {stored!r} in replay.fidelity"
