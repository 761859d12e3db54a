"""How long Slurm's backfill cycles take and how many jobs they look at, as `sdiag` prints it, of Slurm 20.02 to 25.11."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from traces.cluster.description import Setting
from traces.cluster.notes import NO_EFFECT, Entry, Notes, TextFile

MEASURED_TEST_US = "sdiag_test_us"
"""The setting of a description that says what a backfill cycle takes for each job that it tests, microseconds."""
FEWEST_CYCLES = 10
"""From which on their mean is used."""
_VERSION_OF_500 = (21, 8)
"""From which on bf_max_job_test is 500 by default, in place of 100."""
_MAIN, _BACKFILL = "Main schedule statistics", "Backfilling stats"
_KEYS = {
    "max cycle": "max_us",
    "mean cycle": "mean_us",
    "total cycles": "cycles",
    "depth mean": "mean_depth",
    "depth mean (try depth)": "mean_tested",
    "last depth cycle (try sched)": "last_tested",
}


class Cycles(NamedTuple):
    """What backfill did since the counts began, None where sdiag does not say. Times in microseconds, without its sleeps. depth: jobs that
    a cycle looks at. tested: those of them that it tries to start."""

    max_us: int | None = None
    mean_us: int | None = None
    cycles: int | None = None
    mean_depth: int | None = None
    mean_tested: int | None = None
    last_tested: int | None = None


class Diagnosis(NamedTuple):
    """written_s, since_s: Unix seconds at which it was printed and from which it counts, None where it does not say. lines: of each value
    by its name in Cycles."""

    written_s: int | None
    since_s: int | None
    backfill: Cycles
    lines: Mapping[str, int]

    @property
    def test_us(self) -> int | None:
        """Microseconds of a backfill cycle for each job that it tests, None where too few cycles say so."""
        cycles, tested = self.backfill, self.backfill.mean_tested or self.backfill.mean_depth
        if cycles.mean_us is None or not tested or (cycles.cycles or 0) < FEWEST_CYCLES:
            return None
        return max(round(cycles.mean_us / tested), 1)

    @property
    def between_s(self) -> float | None:
        """Seconds from one backfill cycle to the next, on average."""
        if self.written_s is None or self.since_s is None or (self.backfill.cycles or 0) < FEWEST_CYCLES:
            return None
        return (self.written_s - self.since_s) / (self.backfill.cycles or 1)


def read_sdiag(file: TextFile) -> tuple[Diagnosis, list[str]]:
    """(what it says of backfill, what is wrong with each line that has another value than expected, with file and number).

    Cycles of the main scheduler are left out: a replay takes no time for them."""
    has_part = is_of_backfill = False
    times: dict[str, int | None] = {"sdiag output at": None, "Data since": None}
    values: dict[str, int] = {}
    lines: dict[str, int] = {}
    faults: list[str] = []
    for place, line in file.lines(comment="*"):
        head = line.strip()
        for name in times:
            if head.startswith(name) and (second := re.search(r"\(([0-9]+)\)\s*$", head)):
                times[name] = int(second.group(1))
        if not line[0].isspace():
            is_of_backfill = head.startswith(_BACKFILL)
            has_part = has_part or is_of_backfill or head.startswith(_MAIN)
        key, _, text = (word.strip() for word in head.partition(":"))
        name = _KEYS.get(key.lower(), "") if is_of_backfill else ""
        if not name:
            continue
        if not text.isdigit():
            faults.append(f"{file.name}:{place}: expected a whole number as {key}, found {text!r}")
            continue
        values[name] = int(text)
        lines[name] = place
    if not has_part:
        faults.append(f"{file.name}: expected what `sdiag` prints, found neither its main scheduler nor its backfill")
    written_s, since_s = times.values()
    return Diagnosis(written_s, since_s, Cycles(**values), lines), faults


def note_cycles(file: TextFile, values: dict[str, Setting], version: str, notes: Notes) -> None:
    """Adds MEASURED_TEST_US to the settings of a cluster, with remarks: on each value that the settings do not allow, so that the
    controller that ran had others, and on lines that cannot be read."""
    diagnosis, faults = read_sdiag(file)
    for fault in faults:
        where, _, text = fault.partition(": ")
        number = where.rpartition(":")[2]
        notes.assumed(Entry(file.name, int(number) if number.isdigit() else 0, "line", ""), f"not read: {text}")
    cycles = diagnosis.backfill
    if diagnosis.test_us is not None:
        values[MEASURED_TEST_US] = diagnosis.test_us
        place = diagnosis.lines["mean_us"]
        notes.modelled(Entry(file.name, place, "Mean cycle", str(cycles.mean_us)), f"scheduler.{MEASURED_TEST_US}")
    elif cycles.cycles is not None:
        entry = Entry(file.name, diagnosis.lines["cycles"], "Total cycles", str(cycles.cycles))
        effect = "too few cycles to say how long one takes for a job, so that replays take the usual time"
        notes.add(entry, NO_EFFECT, effect)
    for name, key, value, effect in _contradictions(diagnosis, values, version):
        notes.assumed(Entry(file.name, diagnosis.lines[name], key, value), effect)


def _contradictions(
    diagnosis: Diagnosis, values: Mapping[str, Setting], version: str
) -> Iterator[tuple[str, str, str, str]]:
    """Field, key, value and what is taken instead, of values that cannot be with these settings."""
    cycles, remedy = (
        diagnosis.backfill,
        "so that the controller had another one then. That of the configuration is taken",
    )
    numbers = [int(part) for part in version.split(".")[:2] if part.isdigit()]
    tests = 100 if len(numbers) == 2 and tuple(numbers) < _VERSION_OF_500 else 500
    most_tested = _setting(values, "bf_max_job_test", tests)
    interval_s = _setting(values, "bf_interval", 30)
    longest_s = _setting(values, "bf_max_time", interval_s)
    for name, key in (("mean_tested", "Depth Mean (try depth)"), ("last_tested", "Last depth cycle (try sched)")):
        tested = getattr(cycles, name)
        if tested is not None and tested > most_tested > 0:
            yield name, key, str(tested), f"bf_max_job_test allows {most_tested} jobs, {remedy}"
    if diagnosis.between_s is not None and diagnosis.between_s < 0.95 * interval_s:
        effect = f"a cycle began every {diagnosis.between_s:.0f} s, and bf_interval is {interval_s} s, {remedy}"
        yield "cycles", "Total cycles", str(cycles.cycles), effect
    if cycles.max_us is not None and cycles.max_us > 1_000_000 * (longest_s + 1) > 0:
        effect = f"a cycle took {cycles.max_us / 1e6:.0f} s, and bf_max_time is {longest_s} s, {remedy}"
        yield "max_us", "Max cycle", str(cycles.max_us), effect


def _setting(values: Mapping[str, Setting], name: str, usual: int) -> int:
    value = values.get(name, usual)
    return int(value) if isinstance(value, int | float) or str(value).isdigit() else usual
