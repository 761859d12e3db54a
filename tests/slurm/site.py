"""A cluster of real Slurm on this machine: its daemons on loopback, in accelerated time, each node a slurmd with made-up cores.

Facts about what has to be set for that are beside each setting. Needs root, Debian's packages of Slurm and MariaDB, and libfaketime.

A clock that runs many times as fast, for every process of a cluster: libfaketime, with one beginning that all of them share.

Slurm's daemons sleep and wait by it. This process itself stays in real time, and so does the database.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from tests.lake.server import free_port
from tests.slurm.scenario import FIRST_UID, USERS, Scenario

BEGIN = "2024-01-01 00:00:00"
"""When the fast clock begins, UTC."""


class FastClock:
    """factor: fast seconds in a real one. environment: of processes that live by this clock. folder: for a file of the clock's own."""

    def __init__(self, factor: float, folder: Path, environment: dict[str, str]) -> None:
        self.factor = factor
        shown = folder / "environment"
        # without DONT_RESET each process would begin at BEGIN
        held = {name: value for name, value in environment.items() if name != "LD_PRELOAD"} | {
            "FAKETIME_DONT_RESET": "1"
        }
        hold = f"env -0 > '{shown}'; exec sleep 100000000"
        words = ["faketime", "-m", "-f", f"@{BEGIN} x{factor:g}", "sh", "-c", hold]
        self._holder = subprocess.Popen(words, env=held, cwd="/tmp", start_new_session=True)
        while not (shown.exists() and shown.stat().st_size > 100):
            time.sleep(0.02)
        time.sleep(0.1)
        entries = (entry.split("=", 1) for entry in shown.read_text().split("\0") if "=" in entry)
        self.environment = dict(entries)
        self._fast, self._real = min((self._pair() for _ in range(7)), key=lambda pair: pair[2])[:2]

    def _pair(self) -> tuple[float, float, float]:
        """A time of the fast clock, the real time in the middle of asking, and how long that took."""
        before = time.time()
        fast = subprocess.run(["date", "+%s.%N"], env=self.environment, capture_output=True, text=True, check=True)
        after = time.time()
        return float(fast.stdout), (before + after) / 2, after - before

    def now(self) -> float:
        """Unix seconds of the fast clock."""
        return self._fast + (time.time() - self._real) * self.factor

    def wait_until(self, moment: float) -> None:
        """Sleeps until this moment of the fast clock."""
        while (rest := (moment - self.now()) / self.factor) > 0:
            time.sleep(min(rest, 0.5))

    def end(self) -> None:
        """Ends the process that holds the clock. Its child is ended first, so that it gives its shared memory back."""
        children = Path(f"/proc/{self._holder.pid}/task/{self._holder.pid}/children")
        with suppress(OSError):
            for child in children.read_text().split():
                os.kill(int(child), signal.SIGTERM)
        try:
            self._holder.wait(5)
        except subprocess.TimeoutExpired:
            os.killpg(self._holder.pid, signal.SIGKILL)
            self._holder.wait()


# --- site


PROGRAMS = ("slurmctld", "slurmd", "slurmdbd", "sacctmgr", "mariadbd", "mariadb-install-db", "mariadb", "faketime")
PACKAGES = "slurmctld slurmd slurmdbd slurm-client slurm-wlm-basic-plugins mariadb-server faketime libfaketime"
CLUSTER = "live"
FIRST_PORT = 27001
"""Of the nodes, below the ports that the system gives to others by itself."""
_SETTINGS = """ClusterName={cluster}
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={controller}
# the clients of munge give up too early in accelerated time
AuthType=auth/none
CredType=cred/none
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/controller.pid
SlurmdPidFile={folder}/node.%n.pid
SlurmctldLogFile={folder}/log/ctld.log
SlurmdLogFile={folder}/log/node.%n.log
SlurmctldDebug=debug
SlurmdDebug=error
# the nodes have the cores that the configuration says
SlurmdParameters=config_overrides
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SwitchType=switch/none
ReturnToService=2
# the daemons' own time-outs are in fast seconds
MessageTimeout=300
TCPTimeout=120
BatchStartTimeout=1200
SlurmctldTimeout=3600
SlurmdTimeout=0
InactiveLimit=0
KillWait=30
UnkillableStepTimeout=7200
MinJobAge=300
SelectType=select/cons_tres
GresTypes=gpu
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={accounting}
AccountingStorageEnforce=associations,limits,qos
AccountingStorageTRES=gres/gpu
"""
_ACCOUNTING = """AuthType=auth/none
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={accounting}
SlurmUser=root
DebugLevel=info
MessageTimeout=300
LogFile={folder}/log/dbd.log
PidFile={folder}/dbd.pid
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={database}
StorageUser=slurm
StoragePass=x
StorageLoc=slurm
"""
_PATIENCE_S = 120
"""Real seconds within which the daemons have to be up."""


class NoSlurm(Exception):
    """Real Slurm cannot run on this machine. The message says why."""


def require_slurm() -> None:
    """Raises NoSlurm where something is missing."""
    if os.geteuid() != 0:
        raise NoSlurm("real Slurm on loopback needs root, to submit as several users")
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        raise NoSlurm(f"{', '.join(missing)} not installed: apt-get install --no-install-recommends {PACKAGES}")


class SlurmSite:
    """Running daemons. clock: theirs. folder: all that belongs to them."""

    def __init__(self, clock: FastClock, folder: Path, processes: dict[str, subprocess.Popen[bytes]]) -> None:
        self.clock, self.folder, self.processes = clock, folder, processes

    def call(self, *words: str, text: str | None = None, is_strict: bool = True) -> str:
        """What a command of Slurm prints. Raises RuntimeError with what it says where it fails, unless it need not succeed."""
        done = subprocess.run(
            words, env=self.clock.environment, cwd="/tmp", input=text, capture_output=True, text=True, check=False
        )
        if done.returncode and is_strict:
            raise RuntimeError(
                f"{' '.join(words)}: exit {done.returncode}: {(done.stderr or done.stdout).strip()[-400:]}"
            )
        return done.stdout


@contextmanager
def running_site(scenario: Scenario, folder: Path, factor: float) -> Iterator[SlurmSite]:
    """Starts the cluster of a scenario, and ends it. folder: empty, best in memory, since each change of state is written with a sync.

    The controller starts on a whole ten fast minutes. Raises NoSlurm, and RuntimeError where the daemons do not come up.
    """
    require_slurm()
    ports = {name: free_port() for name in ("controller", "accounting", "database")}
    for name in ("etc", "state", "spool", "log", "database", "gpu"):
        (folder / name).mkdir(parents=True)
    folder.chmod(0o755)
    names = _write_configuration(scenario, folder, ports)
    for number in range(USERS):
        subprocess.run(
            ["useradd", "-M", "-N", "-u", str(FIRST_UID + number), f"slu{number + 1}"], capture_output=True, check=False
        )
    with ExitStack() as stack:
        processes: dict[str, subprocess.Popen[bytes]] = {}
        stack.callback(_end_all, processes)
        _start_database(folder, ports["database"], processes)
        environment = os.environ | {"SLURM_CONF": f"{folder}/etc/slurm.conf", "TZ": "UTC", "SLURM_TIME_FORMAT": "%s"}
        clock = FastClock(factor, folder, environment)
        stack.callback(clock.end)
        site = SlurmSite(clock, folder, processes)
        _start(site, "accounting", ["slurmdbd", "-D"])
        _wait_for(lambda: _log_has(folder / "log" / "dbd.log", "started"), "slurmdbd")
        site.call("sacctmgr", "-i", "add", "cluster", CLUSTER)
        for command in scenario.sacctmgr:
            site.call("sacctmgr", "-i", *command.split(), is_strict=False)
        clock.wait_until((int(clock.now()) // 600 + 1) * 600)
        _start(site, "controller", ["slurmctld", "-D", "-c"])
        time.sleep(0.8)
        for name in names:
            _start(site, name, ["slurmd", "-D", "-N", name])
        _wait_for(lambda: _are_idle(site, len(names)), "the nodes")
        stack.callback(_end_daemons, processes)
        yield site


def _write_configuration(scenario: Scenario, folder: Path, ports: dict[str, int]) -> list[str]:
    """Writes slurm.conf, gres.conf and slurmdbd.conf. Returns the names of the nodes."""
    conf = _SETTINGS.format(cluster=CLUSTER, folder=folder, **ports) + "\n".join(scenario.conf) + "\n"
    gres, names, host = "", [], os.uname().nodename
    for group in scenario.nodes:
        prefix, count, first = group["prefix"], group["count"], FIRST_PORT + len(names)
        listed = f"{prefix}[01-{count:02}]"
        weight = f" Weight={group['weight']}" if group.get("weight") else ""
        gpus = f" Gres=gpu:{group['gpus']}" if group.get("gpus") else ""
        conf += (
            f"NodeName={listed} NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first}-{first + count - 1}] Sockets=2 "
            f"CoresPerSocket={group['cores'] // 2} ThreadsPerCore=1 RealMemory={group['mem']}{weight}{gpus} State=UNKNOWN\n"
        )
        if gpus:  # a count alone makes nodes invalid: there must be files
            for number in range(group["gpus"]):
                (folder / "gpu" / f"g{number}").touch()
            gres += f"NodeName={listed} Name=gpu File={folder}/gpu/g[0-{group['gpus'] - 1}]\n"
        names += [f"{prefix}{number:02}" for number in range(1, count + 1)]
    (folder / "etc" / "slurm.conf").write_text(conf + "\n".join(scenario.partitions) + "\n")
    if scenario.topology:
        (folder / "etc" / "topology.conf").write_text("\n".join(scenario.topology) + "\n")
    if gres:
        (folder / "etc" / "gres.conf").write_text(gres)
    accounting = folder / "etc" / "slurmdbd.conf"
    accounting.write_text(_ACCOUNTING.format(folder=folder, **ports))
    accounting.chmod(0o600)
    return names


def _start_database(folder: Path, port: int, processes: dict[str, subprocess.Popen[bytes]]) -> None:
    """MariaDB, in real time."""
    data, socket = folder / "database", folder / "database.sock"
    shutil.chown(data, "mysql")
    folder.chmod(0o777)
    words = ["--no-defaults", f"--datadir={data}", "--user=mysql"]
    subprocess.run(
        ["mariadb-install-db", *words, "--auth-root-authentication-method=normal"], capture_output=True, check=True
    )
    words += [f"--socket={socket}", f"--port={port}", "--bind-address=127.0.0.1", f"--pid-file={data}/pid"]
    words += ["--innodb-buffer-pool-size=64M", "--innodb-lock-wait-timeout=900", "--innodb-flush-log-at-trx-commit=0"]
    with (folder / "log" / "database.out").open("wb") as output:
        processes["database"] = subprocess.Popen(
            ["mariadbd", *words], stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True
        )
    users = "".join(
        f"create user slurm@'{host}' identified by 'x'; grant all on *.* to slurm@'{host}';"
        for host in ("localhost", "127.0.0.1")
    )
    client = ["mariadb", "--no-defaults", f"--socket={socket}", "-uroot", "-e"]
    _wait_for(
        lambda: subprocess.run([*client, "select 1"], capture_output=True, check=False).returncode == 0, "MariaDB"
    )
    subprocess.run([*client, users], capture_output=True, check=True)


def _start(site: SlurmSite, name: str, words: Sequence[str]) -> None:
    with (site.folder / "log" / f"{name}.out").open("wb") as output:
        site.processes[name] = subprocess.Popen(
            words,
            env=site.clock.environment,
            cwd="/tmp",
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _are_idle(site: SlurmSite, nodes: int) -> bool:
    states = site.call("sinfo", "-h", "-N", "-o", "%N %t", is_strict=False).splitlines()
    return len(states) >= nodes and all(state.endswith(" idle") for state in states)


def _log_has(file: Path, word: str) -> bool:
    return file.exists() and word in file.read_text(errors="replace")


def _wait_for(is_up, what: str) -> None:  # type: ignore[no-untyped-def]
    began = time.time()
    while not is_up():
        if time.time() - began > _PATIENCE_S:
            raise RuntimeError(f"{what} did not come up within {_PATIENCE_S} seconds")
        time.sleep(0.2)


def _end_daemons(processes: dict[str, subprocess.Popen[bytes]]) -> None:
    _end_all({name: process for name, process in processes.items() if name not in ("accounting", "database")})


def _end_all(processes: dict[str, subprocess.Popen[bytes]]) -> None:
    for process in processes.values():
        if process.poll() is None:
            process.terminate()
    for process in processes.values():
        try:
            process.wait(8)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
