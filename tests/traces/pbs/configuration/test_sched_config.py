"""The scheduler's own settings, with a remark on every key."""

import pytest

from tests.traces.pbs.configuration.configurations import SCHED_CONFIG, file_of, said
from traces.cluster.notes import Notes
from traces.cluster.remarks import ConfigurationError
from traces.pbs.configuration.sched_config import read_sched_config


def test_settings_and_remarks() -> None:
    notes = Notes()
    assert read_sched_config(file_of("sched_config", SCHED_CONFIG), notes) == {
        "strict_ordering": True,
        "strict_ordering.non_prime": False,
        "by_queue": True,
        "job_sort_key": "cput LOW, ncpus HIGH",
        "node_sort_key": "sort_priority HIGH",
        "fairshare_decay_factor": 0.5,
        "resources": "ncpus, mem, scratch",
    }
    assert said(notes.remarks, "not modelled") == {"load_balancing": "nodes under load would get no job"}
    assert [(r.line, r.key, r.value) for r in notes.remarks if r.kind == "unknown"] == [(11, "colour_of_jobs", "red")]
    assert len(notes.remarks) == 11


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("by_queue True", r"f:1: expected `name: value` and one of prime, non_prime, all, none, found 'by_queue True'"),
        ("by_queue: True always", r"f:1: expected `name: value`"),
        ("by_queue: perhaps ALL", r"f:1: expected True or False as by_queue, found 'perhaps'"),
        ("fairshare_decay_time: soon", r"f:1: expected a duration .* as fairshare_decay_time"),
    ],
)
def test_faults(line: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read_sched_config(file_of("f", line), Notes())
