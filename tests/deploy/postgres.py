"""A PostgreSQL of a test's own: in a temporary folder, run by an account without rights, and gone afterwards."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ACCOUNT = "postgres"
"""Whose rights the server has where the tests run as root: it refuses root's. Debian's package makes it."""
PASSWORD = "a password of the tests"


@dataclass(frozen=True)
class Postgres:
    """A running server. port: on 127.0.0.1."""

    port: int

    @property
    def environment(self) -> dict[str, str]:
        """How libpq, and so everybody, reaches it."""
        return {"PGHOST": "127.0.0.1", "PGPORT": str(self.port), "PGUSER": ACCOUNT, "PGPASSWORD": PASSWORD}


def programs() -> Path | None:
    """The folder of the newest PostgreSQL here; None where there is none."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name))
    initdb = shutil.which("initdb")
    return next(reversed(folders), None) or (Path(initdb).parent if initdb else None)


def why_not() -> str | None:
    """Why no server can be started here. None where one can."""
    if programs() is None:
        return "PostgreSQL is not installed (Debian: apt install postgresql)"
    if os.geteuid() == 0 and shutil.which("runuser") is None:
        return "PostgreSQL does not run as root, and there is no runuser"
    return None


@contextmanager
def running_postgres() -> Iterator[Postgres]:
    """An empty server, which is stopped at the end. Its files need not survive a power cut."""
    folder = programs()
    assert folder is not None, why_not()
    as_account = ["runuser", "-u", ACCOUNT, "--"] if os.geteuid() == 0 else []
    # short, since its socket is in it, and not below a folder that only root may enter
    with tempfile.TemporaryDirectory(prefix="pg", dir="/tmp") as home, socket.socket() as free:
        data = Path(home) / "data"
        (Path(home) / "password").write_text(PASSWORD)
        if as_account:
            shutil.chown(home, ACCOUNT)
            shutil.chown(Path(home) / "password", ACCOUNT)
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()

        def call(program: str, *arguments: str) -> None:
            subprocess.run(
                [*as_account, str(folder / program), "-D", str(data), *arguments],
                cwd=home,
                check=True,
                stdout=subprocess.DEVNULL,
            )

        words = ["--auth=scram-sha-256", "--pwfile", f"{home}/password", "--no-sync"]
        call("initdb", "-U", ACCOUNT, *words)
        options = f"-p {port} -h 127.0.0.1 -k {home} -c fsync=off -c shared_buffers=16MB"
        call("pg_ctl", "start", "-w", "-s", "-l", f"{home}/log", "-o", options)
        try:
            yield Postgres(port)
        finally:
            call("pg_ctl", "stop", "-s", "-m", "immediate")
