"""Options of sacctmgr as limits, in the spellings of commands, dumps and tables."""

from __future__ import annotations

import pytest

from tests.traces.slurm.configuration.slurm_configurations import kinds_of
from traces.cluster.notes import Entry, Notes
from traces.cluster.remarks import ConfigurationError
from traces.slurm.configuration.accounts import options as of


@pytest.mark.parametrize(
    ("key", "value", "limit"),
    [
        ("MaxTRESPU", "cpu=96", ("running", "user", "cpu", 96)),
        ("MaxTRESPerUser", "gres/gpu:a100=2", ("running", "user", "gpu:a100", 2)),
        ("MaxSubmitJobsPerUser", "20", ("submitted", "user", "jobs", 20)),
        ("MaxJobs", "4", ("running", "user", "jobs", 4)),
        ("GrpTRESRunMins", "cpu=100", ("outstanding", "all", "cpu", 6000)),
        ("GrpTRESMins", "mem=2", ("used", "all", "mem", 120)),
        ("MaxWallDurationPerJob", "1-00:00:00", ("job", "job", "time", 86400)),
        ("GrpCPUs", "32", ("running", "all", "cpu", 32)),
        ("MaxNodesPerJob", "3", ("job", "job", "nodes", 3)),
        ("Max TRES Per Node", "cpu=8", ("node", "job", "cpu", 8)),
        ("GrpJobsAccrue", "5", ("waiting_eligible", "all", "jobs", 5)),
    ],
)
def test_limits(key: str, value: str, limit: tuple[str, str, str, int]) -> None:
    name, entry = of.option_of(Entry("f", 3, key, value))
    (made,) = of.limits_of_options("qos", "high", {name: entry})
    assert (made.counts, made.each, made.resource, made.bound) == limit and made.source == f"f:3 {key}"


def test_cleared_limits_and_faults() -> None:
    for value in ("-1", ""):
        assert of.limits_of_options("qos", "q", dict([of.option_of(Entry("f", 1, "MaxJobs", value))])) == ()
    assert of.limits_of_options("qos", "q", {"grptres": Entry("f", 1, "GrpTRES", "cpu=-1")}) == ()
    with pytest.raises(ConfigurationError, match="f:1: expected a whole number from 0 as MaxJobs, found 'many'"):
        of.limits_of_options("qos", "q", {"maxjobs": Entry("f", 1, "MaxJobs", "many")})


def test_each_option_is_named() -> None:
    notes = Notes()
    options = {
        name: Entry("f", 1, name, "x") for name in ("maxjobs", "fairshare", "description", "colour", "minpriothres")
    }
    of.note_options(of.ASSOCIATION_KEYS, options, {"fairshare": "accounts.a.shares"}, notes)
    assert kinds_of(notes.remarks, "modelled").keys() == {"maxjobs", "fairshare"}
    assert kinds_of(notes.remarks, "unknown").keys() == {"colour"}
    assert kinds_of(notes.remarks, "not modelled").keys() == {"minpriothres"}
