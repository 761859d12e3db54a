"""Tests of traces/collector: archive."""

from __future__ import annotations

import gzip
import io
import json
import re
import subprocess
import tarfile
from pathlib import Path

import polars as pl
import pytest

from tests.shared import shared_file
from tests.traces.collector.sites import SHELL, collect, program, sacct_program
from tests.traces.pbs.pbs_lines import golden_folder, jobs_of_qstat
from traces.collector.archive import collector_script, is_collection, read_collection, unpack_collection
from traces.common.pseudonyms import DEFAULT_KINDS, fingerprint_of, pseudonym_of, replace_names
from traces.pbs.configuration.folder import read_pbs_cluster
from traces.pbs.reader import read_pbs
from traces.slurm.reader import read_slurm

# archive: Archives of the collector are unpacked, and others are refused with what was expected.

MANIFEST = """\
tracehouse-collection 1
scheduler pbs
version 23.06.06
time_zone Europe/Berlin
from 2026-03-01
to 2026-03-31
key abc
missing configuration/holidays: not there
"""


def archive(folder: Path, **files: str) -> Path:
    """An archive with these files, where __ stands for a slash."""
    path = folder / "collected.tar.gz"
    with tarfile.open(path, "w:gz") as packed:
        for name, text in files.items():
            entry = tarfile.TarInfo(name.replace("__", "/"))
            entry.size = len(text)
            packed.addfile(entry, io.BytesIO(text.encode()))
    return path


def test_an_archive_is_unpacked(tmp_path: Path) -> None:
    path = archive(tmp_path, site__MANIFEST=MANIFEST, site__accounting__20260301="", site__configuration__qmgr="")
    assert is_collection(path) and not is_collection(tmp_path / "none") and not is_collection(Path(__file__))
    site = unpack_collection(path, tmp_path / "here")
    assert (site.scheduler, site.time_zone, site.first_day, site.last_day) == (
        "pbs",
        "Europe/Berlin",
        "2026-03-01",
        "2026-03-31",
    )
    assert [child.name for child in site.log.iterdir()] == ["20260301"] and site.configuration.is_dir()
    assert site.missing == ("missing configuration/holidays: not there",)
    assert read_collection(site.folder) == site


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"notes": "x"}, r"expected one folder with a MANIFEST in the archive, found 0"),
        ({"a__MANIFEST": "tracehouse-collection 2\n"}, r"MANIFEST:1: expected 'tracehouse-collection 1'"),
        ({"a__MANIFEST": MANIFEST.replace("time_zone", "zone")}, r"expected a line with 'time_zone', found none"),
        ({"a__MANIFEST": MANIFEST.replace("pbs", "lsf")}, r"expected a scheduler of slurm, pbs, found 'lsf'"),
        ({"..__out": "x", "a__MANIFEST": MANIFEST}, r"expected an archive of `tracehouse collect` that is whole, but:"),
    ],
)
def test_others_are_refused(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        unpack_collection(archive(tmp_path, **files), tmp_path / "here")


def test_one_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path, a__MANIFEST=MANIFEST, a__accounting__1="x" * 100_000)
    path.write_bytes(path.read_bytes()[:200])
    with pytest.raises(ValueError, match="that is whole, but:"):
        unpack_collection(path, tmp_path / "here")


# script: What the collector packs has the rows of the site's own log, and no name of it.

KEY = b"0123456789abcdef0123456789abcdef0123456789"
STAYS = ("_pbs_project_default", "root", "Scheduler", "Server")

JOB = (
    'user=ada.l group=phys account="lab x" project=_pbs_project_default jobname=my run 2 queue=workq ctime=1772359200 qtime=1772359200 '
    "etime=1772359200 Resource_List.ncpus=4 Resource_List.select=1:ncpus=4"
)
RAN = "start=1772359201 exec_host=n1/0*4 exec_vnode=(n1:ncpus=4)"
ACCOUNTING = f"""\
03/01/2026 10:00:00;Q;7.head;{JOB}
03/01/2026 10:00:01;S;7.head;{JOB} {RAN}
03/01/2026 10:10:01;E;7.head;{JOB} {RAN} end=1772359801 Exit_status=0 submit_args=-M ada.l@site run.sh resources_used.walltime=00:10:00
03/01/2026 10:20:00;D;8.head;requestor=ada.l@head
03/01/2026 10:20:00;L;license;floating license hour:3 day:3
03/01/2026 11:00:00;B;R9.head;owner=grace@head name=course queue=R9 start=2 end=3 nodes=(n1:ncpus=4) Authorized_Users=grace@*,-ada.l@*
"""
QMGR = """\
set queue workq max_run = [u:PBS_GENERIC=4],[u:"ada.l"=9],[g:phys=12]
set queue workq acl_users = +grace@*,-ada.l@head
set server managers = root@*,grace@head
set server default_queue = workq
"""
SCHED = """\
Sched default
    job_sort_formula = ncpus * max(1,
\tqueue_priority)
    comment = for grace,
\tand ada.l
    state = idle
"""
PBSNODES = (
    "n1\n     state = free\n     resources_available.ncpus = 4\n     comment = broken by grace\n     jobs = 7.head/0\n"
)
QSTAT = """\
{"timestamp":1772359900,"Jobs":{"7.head":{"Job_Name":"my run 2","Job_Owner":"ada.l@head","euser":"ada.l","egroup":"phys",
"Variable_List":{"PBS_O_HOME":"/home/ada.l",
"PBS_O_LOGNAME":"ada.l"},"Account_Name":"lab x","Output_Path":"head:/home/ada.l/x","job_state":"R"}}}
"""
NAMES = ("ada", "grace", "phys", "lab x", "my run", "course")


@pytest.fixture
def pbs_site(tmp_path: Path) -> Path:
    for folder in ("programs", "accounting", "priv"):
        (tmp_path / folder).mkdir()
    (tmp_path / "key").write_bytes(KEY + b"\n")
    (tmp_path / "accounting" / "20260301").write_text(ACCOUNTING)
    (tmp_path / "accounting" / "20260310").write_text(ACCOUNTING)
    (tmp_path / "priv" / "resource_group").write_text("# of grace\nphysics 1 root 10\nada.l 2 physics 5\n")
    (tmp_path / "priv" / "sched_config").write_text("by_queue: True ALL # asked for by grace\n")
    programs = tmp_path / "programs"
    program(programs, "qmgr", {"print server": QMGR, "list sched": SCHED})
    program(programs, "pbsnodes", {"version": "pbs_version = 23.06.06\n", "-av": PBSNODES})
    program(programs, "qstat", {"-F json": QSTAT})
    return tmp_path


def options_of(site: Path) -> tuple[str, ...]:
    """Options for the days of the first file."""
    days = ("--scheduler", "pbs", "--from", "2026-02-27", "--to", "2026-03-02")
    return (*days, "--key", str(site / "key"), "--accounting", str(site / "accounting"), "--priv", str(site / "priv"))


@pytest.mark.parametrize("plain", [False, True], ids=["python3", "sha256sum"])
def test_a_pbs_site_is_collected_without_names(pbs_site: Path, plain: bool) -> None:
    files = collect(pbs_site / "programs", pbs_site / "out", *options_of(pbs_site), plain=plain)
    assert set(files) == {
        "MANIFEST", "accounting/20260301", "configuration/qmgr.txt", "configuration/qmgr_sched.txt", "configuration/pbsnodes.txt",
        "configuration/resource_group", "configuration/sched_config", "state/qstat.json",
    }  # fmt: skip
    for name, text in files.items():
        assert not [word for word in NAMES if re.search(rf"\b{word}\b", text)], name
    ada, phys = (pseudonym_of(KEY, kind, name) for kind, name in (("user", "ada.l"), ("group", "phys")))
    assert f"[u:PBS_GENERIC=4],[u:{ada}=9],[g:{phys}=12]" in files["configuration/qmgr.txt"]
    assert "managers" not in files["configuration/qmgr.txt"]
    formula = "Sched default\n    job_sort_formula = ncpus * max(1,queue_priority)\n    state = idle\n"
    assert files["configuration/qmgr_sched.txt"] == formula
    physics = pseudonym_of(KEY, "account", "physics")
    assert files["configuration/resource_group"] == f"{physics} 1 root 10\n{ada} 2 {physics} 5\n"
    assert f'"Job_Owner":"{ada}@head"' in files["state/qstat.json"] and "HOME" not in files["state/qstat.json"]
    assert f"requestor={ada}@head" in files["accounting/20260301"]
    manifest = files["MANIFEST"].splitlines()
    assert {"scheduler pbs", "time_zone UTC", f"key {fingerprint_of(KEY)}", "from 2026-02-27"} <= set(manifest)
    assert any(line.startswith("missing configuration/holidays") for line in manifest)
    _equal_logs(pbs_site / "accounting" / "20260301", next((pbs_site / "out" / "unpacked").rglob("20260301")))


def _equal_logs(original: Path, collected: Path) -> None:
    """Both have the same rows, where the names of one are replaced by our pseudonyms."""
    stays = {pseudonym_of(KEY, kind, word): word for kind in DEFAULT_KINDS for word in STAYS}
    for part in ("records", "events"):
        expected = replace_names(getattr(read_pbs(original), part), DEFAULT_KINDS, KEY).drop(
            "line", "message", "reservation"
        )
        texts = [name for name, kind in expected.schema.items() if kind == pl.Utf8]
        expected = expected.with_columns(pl.col(texts).replace(stays))
        assert getattr(read_pbs(collected), part).select(expected.columns).equals(expected)


def test_the_key_is_made_once_and_stays_at_the_site(pbs_site: Path) -> None:
    options = [word for word in options_of(pbs_site) if word not in ("--key", str(pbs_site / "key"))]
    files = collect(pbs_site / "programs", pbs_site / "out", *options)
    key = (pbs_site / "out" / "collect.key").read_text().strip()
    assert re.fullmatch("[0-9a-f]{64}", key) and not any(key in text for text in files.values())
    assert pseudonym_of(key.encode(), "user", "ada.l") in files["accounting/20260301"]


SUBMITTED = "/usr/bin/sbatch -N 1 --mem=4G -J my_job -A lab --mail-user ada.l -p cpu /home/ada.l/run.sh ada.l"
SACCT = f"""\
JobID|JobIDRaw|JobName|User|Account|Partition|QOS|Submit|Start|End|State|NNodes|NCPUS|NodeList|Reservation|Group|UID|SubmitLine
1|1|my job|ada.l|lab|cpu|normal|2026-02-28T10:00:00|2026-02-28T10:00:00|2026-03-01T01:00:00|COMPLETED|1|8|n1|course|phys|5001|{SUBMITTED}
1.batch|1.batch|batch||lab|||2026-02-28T10:00:00|2026-02-28T10:00:00|2026-03-01T01:00:00|COMPLETED|1|8|n1||||
2|2|two|grace|root|cpu|normal|2026-03-01T02:00:00|2026-03-01T03:00:00|2026-03-01T04:00:00|FAILED|1|8|n2||phys|5002|srun -n8 -C fast ./x
"""


@pytest.fixture
def slurm_site(tmp_path: Path) -> Path:
    programs = tmp_path / "programs"
    programs.mkdir()
    (tmp_path / "key").write_bytes(KEY)
    psv, conf = tmp_path / "rows.psv", tmp_path / "slurm.conf"
    psv.write_text(SACCT)
    conf.write_text(
        "ClusterName=c # by grace\nStorageLoc=/x\nSlurmUser=grace\nInclude more.conf\nPartitionName=cpu AllowAccounts=lab\n"
    )
    (tmp_path / "more.conf").write_text("NodeName=n[1-2] CPUs=8\n")
    (tmp_path / "gres.conf").write_text("Include below/%c.inc\n")
    (tmp_path / "topology.yaml").write_text("- topology: t # by grace\n  flat: true\n")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "c.inc").write_text(f"include {tmp_path}/below/deep.conf\n")
    (tmp_path / "below" / "deep.conf").write_text("NodeName=n1 Name=gpu # for grace\n")
    sacct_program(programs, psv)
    node = "NodeName=n1 CPUTot=8\n   Reason=disk broken, says ada.l [grace@2026-02-01T00:00:00]\n"
    reservation = "ReservationName=course StartTime=2026-02-01T00:00:00\n   Users=ada.l,grace Accounts=lab\n"
    shown = {
        "config": f"SLURM_CONF = {conf}\nSLURM_VERSION = 22.05.8\n",
        "partition": "PartitionName=cpu\n   AllowAccounts=lab\n",
    }
    program(programs, "scontrol", shown | {"node": node, "reservation": reservation})
    assoc = "Cluster|Account|ParentName|User|Share\nc|root||| 1\nc|lab|root||1\nc|lab||ada.l|1\n"
    program(programs, "sacctmgr", {"assoc": assoc, "qos": "Name|Priority\nnormal|0\n"})
    by_user = "Remote Procedure Call statistics by user\n\tada.l ( 5001) count:8\n\nPending RPC statistics\n"
    program(programs, "sdiag", {"": f"Jobs pending: 3\n{by_user}"})
    shares = "Account|User|RawShares|RawUsage|FairShare\nroot|||9|\n lab||1|9|\n  lab|ada.l|1|9|0.5\n"
    program(programs, "sshare", {"--all --long --parsable2": shares})
    program(programs, "sinfo", {"": "NODELIST|PARTITION\nn1|cpu\n"})
    job = '{"jobs":[{"account":"lab","name":"my \\"job\\"","user_id":5001,"user_name":"ada.l","comment":"for grace","job_id":7}]}\n'
    program(programs, "squeue", {"--json": job})
    return tmp_path


def test_a_slurm_site_is_collected_without_names(slurm_site: Path) -> None:
    days = ("--from", "2026-02-28", "--to", "2026-03-01", "--key", str(slurm_site / "key"))
    files = collect(slurm_site / "programs", slurm_site / "out", *days)
    for name, text in files.items():
        assert not [
            word for word in ("ada", "grace", "phys", "lab", "my", "course", "5001") if re.search(rf"\b{word}\b", text)
        ], name
    ada, lab = (pseudonym_of(KEY, kind, name) for kind, name in (("user", "ada.l"), ("account", "lab")))
    assert files["configuration/assoc.txt"].splitlines()[2:] == [f"c|{lab}|root||1", f"c|{lab}||{ada}|1"]
    assert (
        "SlurmUser=\n" in files["configuration/slurm.conf"]
        and f"AllowAccounts={lab}" in files["configuration/slurm.conf"]
    )
    assert files["configuration/more.conf"] == "NodeName=n[1-2] CPUs=8\n"
    assert files["configuration/deep.conf"] == "NodeName=n1 Name=gpu\n" and "configuration/c.inc" in files
    assert files["configuration/topology.yaml"] == "- topology: t\n  flat: true\n"
    assert files["configuration/nodes.txt"] == "NodeName=n1 CPUTot=8\n   Reason=\n"
    assert files["state/sdiag.txt"] == "Jobs pending: 3\n\nPending RPC statistics\n"
    assert files["state/sshare.txt"].splitlines()[2:] == [f" {lab}||1|9|", f"  {lab}|{ada}|1|9|0.5"]
    assert f'"user_name":"{ada}"' in files["state/squeue.json"] and '"user_id": 0' in files["state/squeue.json"]
    days_read = [read_slurm(file).records for file in sorted((slurm_site / "out" / "unpacked").rglob("*.psv"))]
    assert [frame.height for frame in days_read] == [1, 1]  # a job of two days comes once
    records = pl.concat(days_read, how="diagonal_relaxed")
    assert records["user_name"].to_list() == [ada, pseudonym_of(KEY, "user", "grace")]
    assert records["job_name"][0] == pseudonym_of(KEY, "job", "my job")
    assert "sbatch -N 1 --mem=4G -p cpu\n" in files["accounting/2026-02-28.psv"]
    assert "srun -n8 -C fast\n" in files["accounting/2026-03-01.psv"]
    missing = [line for line in files["MANIFEST"].splitlines() if line.startswith(("missing", "left out"))]
    assert [line.partition(":")[0] for line in missing] == [
        "left out column Comment", "left out column UID", "left out column WorkDir", "missing state/sprio.txt",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--colour",), "expected an option such as --from, found --colour"),
        (("--from",), "expected a value after --from"),
        (("--from", "yesterday"), "expected a day such as 2026-01-01 as --from, found yesterday"),
        (
            ("--from", "2026-03-02", "--to", "2026-03-01"),
            "expected --from before --to, found 2026-03-02 and 2026-03-01",
        ),
        (("--scheduler", "lsf"), "expected slurm or pbs as --scheduler, found lsf"),
        (("--key", "short"), "expected a key of 32 to 64 characters in .*short, found 5"),
    ],
)
def test_wrong_options_are_named(pbs_site: Path, options: tuple[str, ...], message: str) -> None:
    (pbs_site / "short").write_text("12345")
    options = tuple(str(pbs_site / word) if word == "short" else word for word in options)
    with pytest.raises(RuntimeError, match=message):
        collect(pbs_site / "programs", pbs_site / "out", *options)
    assert not list((pbs_site / "out").glob("*.tar.gz"))


def test_the_script_is_plain_shell(tmp_path: Path) -> None:
    script = tmp_path / "collect.sh"
    script.write_text(collector_script())
    subprocess.run([SHELL, "-n", str(script)], check=True)
    helped = subprocess.run([SHELL, str(script), "--help"], check=True, capture_output=True, text=True).stdout
    assert "--accounting" in helped and "set -u" not in helped.splitlines()[-1]


@pytest.mark.thorough
def test_a_recorded_pbs_is_collected_with_the_same_rows(pbs_site: Path) -> None:
    run = golden_folder("P8")
    (pbs_site / "accounting" / "20261126").write_bytes(gzip.decompress((run / "accounting.gz").read_bytes()))
    for name in ("resource_group", "sched_config"):
        (pbs_site / "priv" / name).write_text((golden_folder("P4") / name).read_text())
    program(
        pbs_site / "programs",
        "qmgr",
        {"server": (run / "qmgr.txt").read_text(), "sched": (run / "qmgr_sched.txt").read_text()},
    )
    nodes = gzip.decompress((run / "pbsnodes.txt.gz").read_bytes()).decode()
    program(pbs_site / "programs", "pbsnodes", {"version": "23\n", "-av": nodes})
    program(pbs_site / "programs", "qstat", {"": gzip.decompress((run / "qstat.json.gz").read_bytes()).decode()})
    days = ("--from", "2026-11-26", "--to", "2026-11-26")
    files = collect(pbs_site / "programs", pbs_site / "out", *options_of(pbs_site), *days)
    for name, text in files.items():
        assert not re.search(r"\bu[1-6]\b", text), name
    assert json.loads(files["state/qstat.json"])["Jobs"].keys() == jobs_of_qstat(run).keys()
    unpacked = pbs_site / "out" / "unpacked"
    _equal_logs(pbs_site / "accounting" / "20261126", next(unpacked.rglob("20261126")))
    cluster = read_pbs_cluster(
        [path for path in unpacked.rglob("*") if path.parent.name == "configuration"], "c"
    ).description
    assert (len(cluster.nodes), len(cluster.members), len(cluster.partitions)) == (32, 5, 5)
    assert cluster.members[0].user == pseudonym_of(KEY, "user", "u1")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "name",
    ["bookie-torque-invalid-lines", "hnormalise-torque-spec", "ncar-pbsparse-tests", "osc-pbstools-pbsacct-unittest"],
)
def test_logs_of_other_sites_keep_their_rows(pbs_site: Path, name: str) -> None:
    original = pbs_site / "accounting" / "20260301"
    original.write_bytes(shared_file("traces", "pbs", f"{name}.log").read_bytes())
    files = collect(pbs_site / "programs", pbs_site / "out", *options_of(pbs_site))
    _equal_logs(original, next((pbs_site / "out" / "unpacked").rglob("20260301")))
    assert ("left out lines accounting/20260301: " in files["MANIFEST"]) == ("invalid" in name)


@pytest.mark.thorough
def test_recorded_rows_of_slurm_are_collected(slurm_site: Path) -> None:
    rows = gzip.decompress(shared_file("golden", "slurm", "S2", "run1", "sacct.txt.gz").read_bytes())
    (slurm_site / "rows.psv").write_bytes(rows)
    collect(
        slurm_site / "programs",
        slurm_site / "out",
        "--from",
        "2024-01-01",
        "--to",
        "2024-01-02",
        "--key",
        str(slurm_site / "key"),
    )
    collected = [read_slurm(file).records for file in sorted((slurm_site / "out" / "unpacked").rglob("*.psv"))]
    columns = ["job_id", "submit_s", "start_s", "end_s", "procs", "nodes", "state", "user_name", "account", "job_name"]
    expected = replace_names(read_slurm(slurm_site / "rows.psv").records.select(columns), DEFAULT_KINDS, KEY)
    assert pl.concat(collected, how="diagonal_relaxed").select(columns).sort("job_id").equals(expected.sort("job_id"))
