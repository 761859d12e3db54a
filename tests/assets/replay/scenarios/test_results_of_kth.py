"""Six scenarios on a real log are six single replays."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import tracehouse
from tests.pipelines.command_line import succeed, use_home
from tests.shared import shared_file

SCENARIOS = {
    "10 % more processors": ({"procs": "+10%"}, ["--procs", "+10%"]),
    "4 nodes off": ({"nodes": -4}, ["--nodes", "-4", "--drop-wider"]),
    "SJF that knows run times": (
        {"policy": "SJF", "estimates": "actual"},
        ["--policy", "SJF", "--estimates", "actual"],
    ),
    "fair share": ({"policy": "fairshare:half_life_days=7"}, ["--policy", "fairshare:half_life_days=7"]),
    "rounded up to 4 h": ({"round_walltimes": "4h"}, ["--round-walltimes", "4h"]),
    "20 % more load": ({"load": "+20%"}, ["--load", "+20%"]),
}


@pytest.mark.parametrize("period", [None, "1997-07"])
def test_six_scenarios_of_kth_sp2_are_six_replays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, period: str | None
) -> None:
    log = shared_file("traces", "swf", "KTH-SP2-1996-2.1-cln.swf.gz")
    use_home(monkeypatch, tmp_path)
    part = {} if period is None else {"period": period}
    options = [] if period is None else ["--period", period]
    answer = tracehouse.what_if({name: changes for name, (changes, _) in SCENARIOS.items()}, log, **part)
    rows = {row["scenario"]: row for row in answer.scenarios.to_dicts()}
    for name, own_options in {"base": [], **{name: own for name, (_, own) in SCENARIOS.items()}}.items():
        single = json.loads(succeed("replay", log, "--json", *own_options, *options))
        for statistic in ("average", "median", "p95"):
            assert rows[name][f"{statistic}_wait_h"] * 3600 == pytest.approx(
                single[f"{statistic}_wait_s"], rel=1e-12
            ), name
        assert (rows[name]["utilisation"], rows[name]["procs"]) == (single["utilisation"], single["procs"]), name
        assert rows[name]["jobs"] == single.get("scored_jobs", single["jobs"]), name
