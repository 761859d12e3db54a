"""A PostgreSQL of its own in a temporary folder: Debian's, run as an unprivileged user, with TLS and passwords on its port."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

ADMIN = "postgres"
HBA = """
local all all trust
hostssl all all 127.0.0.1/32 scram-sha-256
hostnossl all all 127.0.0.1/32 reject
"""
"""Whoever reaches the socket is trusted; the port wants TLS and a password."""


class NotHere(Exception):
    """PostgreSQL cannot be run on this machine; the message says why."""


def postgres_folder() -> Path:
    """The folder of PostgreSQL's programs. Raises NotHere."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
    found = debian[-1] if debian else Path(shutil.which("postgres") or "")
    if not found.name:
        raise NotHere("PostgreSQL is not installed (apt-get install postgresql)")
    return found.parent


def unprivileged() -> list[str]:
    """What a command begins with so that it does not run as root, as whom PostgreSQL does not start. Raises NotHere."""
    if os.geteuid() != 0:
        return []
    for name in (ADMIN, "nobody"):
        with suppress(KeyError):
            user = pwd.getpwnam(name)
            return ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--"]
    raise NotHere("PostgreSQL does not run as root, and there is no user postgres or nobody")


def free_port() -> int:
    """A port of this machine that nobody listens at."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


class Server:
    """A running server. folder: all that belongs to it. words: how libpq finds it through its socket."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.bin, self.prefix = folder, postgres_folder(), unprivileged()
        self.port = free_port()
        self.words = f"host={folder} port={self.port} user={ADMIN}"
        self._process: subprocess.Popen[bytes] | None = None

    def prepare(self) -> None:
        """Makes its data, its certificate and its rules."""
        data = self.folder / "data"
        self.as_user("initdb", "-D", str(data), "-U", ADMIN, "-A", "trust", "-N", "--no-locale", "-E", "UTF8")
        subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
        key, certificate = str(data / "server.key"), str(data / "server.crt")
        make = [
            "openssl",
            "req",
            "-new",
            "-x509",
            "-days",
            "30",
            "-nodes",
            "-newkey",
            "rsa:2048",
            "-keyout",
            key,
            "-out",
            certificate,
        ]
        subprocess.run([*self.prefix, *make, *subject], check=True, capture_output=True, cwd=self.folder)
        (data / "pg_hba.conf").write_text(HBA)

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        settings = {
            "unix_socket_directories": str(self.folder),
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "ssl": "on",
            "fsync": "off",
            "synchronous_commit": "off",
            "synchronous_standby_names": "nobody",  # a commit waits for it where a test wants that: see test_lake_door.py
            "max_connections": "200",
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self.prefix, str(self.bin / "postgres"), "-D", str(self.folder / "data"), *options],
                stdout=log,
                stderr=log,
                cwd=self.folder,
            )
        deadline = time.monotonic() + 60
        while self.call("pg_isready", "-q").returncode:
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError((self.folder / "log").read_text()[-2000:])
            time.sleep(0.1)

    def stop(self) -> None:
        """Ends it and all its sessions, as a restart does."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(timeout=60)
            self._process = None

    def certificate(self) -> str:
        """The certificate that it shows, which it has signed itself."""
        return (self.folder / "data" / "server.crt").read_text()

    def call(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs one of PostgreSQL's programs against this server."""
        place = ["-h", str(self.folder), "-p", str(self.port), "-U", ADMIN]
        return subprocess.run(
            [str(self.bin / program), *place, *arguments], capture_output=True, text=True, check=False
        )

    def execute(self, statement: str, database: str = "postgres") -> str:
        """Runs a statement, and returns what it prints."""
        done = self.call("psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", database, "-c", statement)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    @contextmanager
    def one_lost_answer(self, database: str) -> Iterator[list[str]]:
        """The next commit in a database is made, and its session ended before it says so: it waits for a copy of the server that does not
        exist. Yields a list that then has "t" in it."""
        self.execute(f"ALTER DATABASE {database} SET synchronous_commit = on")
        ended: list[str] = []

        def end_who_waits() -> None:
            waiting = f"pg_stat_activity WHERE datname = '{database}' AND wait_event = 'SyncRep'"
            until = time.monotonic() + 60
            while not ended and time.monotonic() < until:
                if self.execute(f"SELECT count(*) FROM {waiting}") != "0":
                    self.execute(f"ALTER DATABASE {database} RESET synchronous_commit")
                    ended.append(self.execute(f"SELECT pg_terminate_backend(pid) FROM {waiting}"))

        helper = threading.Thread(target=end_who_waits)
        helper.start()
        yield ended
        helper.join()

    def as_user(self, program: str, *arguments: str) -> None:
        """Runs one of PostgreSQL's programs as the unprivileged user."""
        command = [*self.prefix, str(self.bin / program), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.folder)
        assert done.returncode == 0, done.stderr


@contextmanager
def running_server() -> Iterator[Server]:
    """A server that is gone at the end, with all its data. Raises NotHere."""
    postgres_folder()
    folder = Path(tempfile.mkdtemp(prefix="tracehouse-pg-"))
    try:
        if os.geteuid() == 0:
            os.chown(folder, int(unprivileged()[1].partition("=")[2]), int(unprivileged()[2].partition("=")[2]))
        folder.chmod(0o755)
        server = Server(folder)
        server.prepare()
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
