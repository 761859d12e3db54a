"""Settings by name, the words of lists, and where slurm.conf and the running scheduler differ."""

from __future__ import annotations

import pytest

from tests.traces.slurm.configuration.slurm_configurations import SLURM_CONF, kinds_of, text_file
from traces.cluster.description import Setting
from traces.cluster.notes import Entry, Notes
from traces.cluster.remarks import ConfigurationError
from traces.slurm.configuration.lines import conf_lines
from traces.slurm.configuration.parts import Attributes, slurm_key
from traces.slurm.configuration.settings import assumed_settings, merged_settings, scheduler_values


def settings_of(text: str) -> Attributes:
    entries = [entry for line in conf_lines(text_file("slurm.conf", text)) for entry in line.entries]
    return {slurm_key(entry): entry for entry in entries}


def values_of(text: str, notes: Notes) -> tuple[dict[str, Setting], dict[str, int]]:
    return scheduler_values(settings_of(text), notes)


def test_values_and_remarks() -> None:
    notes = Notes()
    values, licences = values_of(SLURM_CONF.partition("Include")[0], notes)
    assert licences == {"matlab": 10, "ansys": 1}
    assert {key: values[key] for key in ("bf_continue", "bf_window", "bf_max_job_test", "default_queue_depth")} == {
        "bf_continue": True, "bf_window": 2880, "bf_max_job_test": 50, "default_queue_depth": 50,
    }  # fmt: skip
    assert (values["prioritymaxage"], values["priorityfavorsmall"], values["defmempercpu"]) == (604800, False, 2000)
    assert kinds_of(notes.remarks, "unknown").keys() == {"ColourOfJobs"}
    assert kinds_of(notes.remarks, "not modelled") == {
        "Prolog": "a job would start later by the time of this program",
        "SchedulerParameters bf_licenses": "plans would count licences",
    }


@pytest.mark.parametrize(
    ("line", "kind", "key"),
    [
        ("SchedulerParameters=bf_colour=3", "unknown", "SchedulerParameters bf_colour"),
        ("SchedulerParameters==bf_interval=3", "assumed", "SchedulerParameters"),
        ("SelectTypeParameters=CR_Core,CR_Colour", "unknown", "SelectTypeParameters"),
        ("PreemptMode=GANG,SUSPEND", "not modelled", "PreemptMode"),
        ("SuspendTime=-1", "no effect", "SuspendTime"),
        ("SuspendTime=300", "not modelled", "SuspendTime"),
        ("FastSchedule=0", "not modelled", "FastSchedule"),
    ],
)
def test_each_word_is_named(line: str, kind: str, key: str) -> None:
    notes = Notes()
    values_of(line, notes)
    assert key in kinds_of(notes.remarks, kind)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("PriorityWeightAge=much", "a whole number as PriorityWeightAge"),
        ("PriorityMaxAge=old", "a time such as 90"),
        ("SchedulerParameters=bf_window", "a number behind = as SchedulerParameters bf_window"),
        ("SchedulerParameters=bf_window=wide", "a number such as 4 or 2K as SchedulerParameters bf_window"),
        ("PriorityFavorSmall=perhaps", "YES or NO"),
    ],
)
def test_bad_values(line: str, expected: str) -> None:
    with pytest.raises(ConfigurationError, match=f"slurm.conf:2: expected {expected}"):
        values_of(f"KillWait=30\n{line}", Notes())


def test_what_runs_counts() -> None:
    notes = Notes()
    configured = settings_of("KillWait=30\nPriorityMaxAge=7-0\nSelectTypeParameters=CR_Core\nMpiDefault=none\n")
    running = {
        "killwait": Entry("config.txt", 3, "KillWait", "60"),
        "prioritymaxage": Entry("config.txt", 4, "P", "7-00:00:00"),
    }
    merged = merged_settings(configured, running | {"mpidefault": Entry("config.txt", 5, "MpiDefault", "none")}, notes)
    assert (merged["killwait"].value, merged["prioritymaxage"].file, merged["mpidefault"].file) == (
        "60",
        "slurm.conf",
        "slurm.conf",
    )
    assert kinds_of(notes.remarks, "assumed") == {"KillWait": "config.txt:3 has 60, which is what runs"}
    assumed_settings({}, notes, "slurm.conf")
    assert kinds_of(notes.remarks, "assumed").keys() == {"KillWait", "schedulertype", "selecttype", "prioritytype"}
