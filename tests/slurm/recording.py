"""Runs a scenario through real Slurm, and records what it decided: configuration, accounting, the controller's log, and snapshots.

`python -m tests.slurm.recording drawn:7 FOLDER`, `feature:weight`, or a file of JSON in place of `drawn:7`. The files are those of the
recorded runs that the engine of `simulator/slurm` is held to, packed with gzip.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.slurm.features import FEATURES
from tests.slurm.scenario import Scenario, drawn_scenario, job_script, sbatch_words
from tests.slurm.site import CLUSTER, SlurmSite, running_site
from traces.collector.archive import collector_script

SACCT = (
    "JobID,JobIDRaw,JobName,User,Account,Partition,QOS,Submit,Eligible,Start,End,ElapsedRaw,Elapsed,Timelimit,TimelimitRaw,State,ExitCode,"
    "DerivedExitCode,NNodes,AllocNodes,NCPUS,ReqCPUS,AllocCPUS,ReqMem,ReqTRES,AllocTRES,NodeList,Priority,Reason,Flags,Reserved,ResvCPURAW,"
    "CPUTimeRAW,Reservation,ReservationId,Constraints,AssocID,Cluster,Group,UID,WCKey,SubmitLine"
)
SQUEUE = "%i|%j|%T|%Q|%r|%V|%e|%S|%Y|%N|%P|%q|%a"
SPRIO = "%i|%Y|%A|%F|%J|%P|%Q|%a|%f|%j|%p|%q|%T|%N|%B"
BEGIN_S = 1_704_067_200
"""When the fast clock begins: the first of January 2024."""
SNAPSHOT_S = 60
"""Fast seconds from one snapshot to the next."""
_QUIET_SNAPSHOTS = 12
"""So many snapshots in which nothing runs or is planned end a run: what waits can never start."""


def record(scenario: Scenario, folder: Path, factor: float = 60, most_real_s: float = 900) -> None:
    """Runs a scenario, and writes the files of the recording into `folder`. factor: up to 60 for starts and waits, since the
    controller's own delays grow with it. Raises NoSlurm, and RuntimeError where Slurm does not come up."""
    memory = Path("/dev/shm") if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=memory, prefix="slurm-") as place:
        Path(place).chmod(0o755)  # the database runs as another user
        home = Path(place) / "site"
        with running_site(scenario, home, factor) as site:
            _Run(site, scenario, home).run(most_real_s)
            _collect(site, folder)
        files = [home / "etc" / name for name in ("slurm.conf", "gres.conf", "topology.conf")]
        files.append(home / "log" / "ctld.log")
        for file in (*files, *sorted((home / "recorded").iterdir())):
            if file.exists():
                with file.open("rb") as plain, gzip.open(folder / f"{file.name}.gz", "wb") as packed:
                    shutil.copyfileobj(plain, packed)


def _collect(site: SlurmSite, folder: Path) -> None:
    """Runs the collector on the site, and leaves its archive and its key in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "collect.sh"
    script.write_text(collector_script())
    days = (time.strftime("%Y-%m-%d", time.gmtime(second)) for second in (BEGIN_S, site.clock.now()))
    options = [word for pair in zip(("--from", "--to"), days, strict=True) for word in pair]
    site.call("sh", str(script), "--scheduler", "slurm", "--output", str(folder), *options)


class _Run:
    """One run. begin: when the first job may come, seconds of the fast clock."""

    def __init__(self, site: SlurmSite, scenario: Scenario, home: Path) -> None:
        self.site, self.scenario, self.clock = site, scenario, site.clock
        self.recorded = home / "recorded"
        self.recorded.mkdir()
        self.controller_s = int(self.clock.now()) // 600 * 600
        self.begin = (int(self.clock.now()) // 600 + 1) * 600
        if self.begin < self.clock.now() + 2 * self.clock.factor:
            self.begin += 600
        self.ids: dict[int, str] = {}
        self.submits: list[dict[str, Any]] = []
        self.quiet = 0

    def run(self, most_real_s: float) -> None:
        """Submits all jobs at their times, takes snapshots until nothing is left to happen, and writes what Slurm says."""
        began = time.time()
        self._configuration()
        jobs = sorted(enumerate(self.scenario.jobs), key=lambda entry: (entry[1]["t"], entry[0]))
        following, is_over = float(self.begin), False
        with (self.recorded / "snapshots.txt").open("w") as snapshots:
            while not is_over and time.time() - began < most_real_s:
                if jobs and self.begin + jobs[0][1]["t"] <= following:
                    self._submit(*jobs.pop(0))
                    continue
                self.clock.wait_until(following)
                is_over = self._snapshot(snapshots) and not jobs
                following = max(following + SNAPSHOT_S, self.clock.now() + 1)
        time.sleep(max(1.0, 60 / self.clock.factor))
        self._accounting()

    def _configuration(self) -> None:
        for command in self.scenario.scontrol:
            self.site.call("scontrol", *(self._with_time(word) for word in command.split()))
        self._write("config.txt", "scontrol", "show", "config")
        self.site.call("sacctmgr", "dump", CLUSTER, f"file={self.recorded}/sacctmgr.dump")
        self._write("qos.txt", "sacctmgr", "-P", "show", "qos")
        self._write("assoc.txt", "sacctmgr", "-P", "show", "assoc")

    def _with_time(self, word: str) -> str:
        head, mark, rest = word.partition("{t:")
        if not mark:
            return word
        seconds, _, tail = rest.partition("}")
        return head + time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(self.begin + float(seconds))) + tail

    def _submit(self, place: int, job: dict[str, Any]) -> None:
        self.clock.wait_until(self.begin + job["t"])
        if "scontrol" in job:
            self.site.call("scontrol", *job["scontrol"].split(), is_strict=False)
            return
        asked = self.clock.now()
        words = sbatch_words(job, f"j{place}", self.ids)
        printed = self.site.call(*words, text=job_script(job["dur"], self.clock.factor), is_strict=False)
        self.ids[place] = printed.strip().split(";")[0]
        times = {"asked": round(asked - self.begin, 2), "answered": round(self.clock.now() - self.begin, 2)}
        self.submits.append({"job": place, "t": job["t"], **times, "id": self.ids[place]})

    def _snapshot(self, file: Any) -> bool:
        """Writes the queue and its priorities. Returns whether nothing is left that may start."""
        queue = self.site.call("squeue", "-h", "-a", "-r", "-o", SQUEUE, is_strict=False)
        priorities = self.site.call("sprio", "-h", "-o", SPRIO, is_strict=False)
        shares = self.site.call("sshare", "-a", "-l", "-P", "-h", is_strict=False)
        file.write(
            f"### {self.clock.now() - self.begin:.1f}\n## squeue\n{queue}## sprio\n{priorities}## sshare\n{shares}"
        )
        lines = [line.split("|") for line in queue.splitlines() if "|" in line]
        moves = any(line[2] in ("RUNNING", "COMPLETING") or line[7] != "N/A" for line in lines)
        self.quiet = 0 if moves else self.quiet + 1
        return not lines or self.quiet > _QUIET_SNAPSHOTS

    def _accounting(self) -> None:
        self._write("sdiag.txt", "sdiag")
        self._write("reservations.txt", "scontrol", "-o", "show", "res")
        listed = ("sacct", "-P", "-a", "-X", "-D", "-S", "2024-01-01T00:00:00", "-o", SACCT)
        self._write("sacct.psv", *listed)
        self._write("sacct.txt", "env", "SLURM_TIME_FORMAT=standard", *listed)
        about = {
            "factor": self.clock.factor,
            "T0": self.begin,
            "ctld_start": self.controller_s,
            "submits": self.submits,
        }
        (self.recorded / "meta.json").write_text(json.dumps(about, indent=0))
        (self.recorded / "scenario.json").write_text(json.dumps(asdict(self.scenario), indent=0))

    def _write(self, name: str, *words: str) -> None:
        (self.recorded / name).write_text(self.site.call(*words, is_strict=False))


def main() -> None:
    """Records one scenario."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", help="a file of JSON, drawn:SEED, or feature:NAME")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--factor", type=float, default=60, help="fast seconds in a real one (60)")
    given = parser.parse_args()
    kind, _, seed = given.scenario.partition(":")
    if kind == "feature":
        scenario = FEATURES[seed]()
    else:
        scenario = drawn_scenario(int(seed)) if kind == "drawn" else Scenario.read(Path(given.scenario))
    record(scenario, given.folder, given.factor)


if __name__ == "__main__":
    main()
