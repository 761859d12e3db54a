"""Ctrl-C as a terminal sends it, to processes of their own: one line, status 130, no traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest

from tracehouse.cli.interrupts import INTERRUPTED, STUCK_S, Interrupted, one_line_after_ctrl_c, watch_for_ctrl_c

BEGINNING = "import sys, time\nfrom tracehouse.cli.interrupts import one_line_after_ctrl_c, watch_for_ctrl_c\nwatch_for_ctrl_c()\n"
SWALLOWS = """
def run():
    print('ready', flush=True)
    try:
        time.sleep(60)
    except BaseException:
        pass
"""
PLACES = {
    "plain": "print('ready', flush=True)\ntime.sleep(60)",
    "query": "import duckdb\nprint('ready', flush=True)\nduckdb.sql('SELECT count(*) FROM range(9999999) a, range(9999999) b').fetchall()",
    "bar": "from tqdm import tqdm\nprint('ready', flush=True)\nfor _ in tqdm(range(6000)): time.sleep(0.01)",
}


def _interrupted(code: str, *, times: int = 1) -> tuple[int, str]:
    """Exit status and standard error of code that prints a line when it is ready, and is interrupted then."""
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    for _ in range(times):
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
    try:
        _, errors = process.communicate(timeout=20)
    finally:
        process.kill()  # else one that hangs computes for ever
    return process.returncode, errors


@pytest.mark.parametrize("place", PLACES)
def test_one_line_wherever_it_comes(place: str) -> None:
    work = "".join(f"        {line}\n" for line in PLACES[place].splitlines())
    code = f"{BEGINNING}import click\n@click.command()\ndef main():\n    with one_line_after_ctrl_c():\n{work}main()\n"
    status, errors = _interrupted(code)
    assert (status, errors.splitlines()[-1]) == (130, "interrupted"), errors
    assert "Traceback" not in errors


def test_an_import_that_swallows_it(tmp_path: Path) -> None:
    """Some packages catch everything while they are imported."""
    (tmp_path / "swallows.py").write_text(f"import time\n{SWALLOWS}run()\n")
    status, errors = _interrupted(
        f"{BEGINNING}sys.path.insert(0, {str(tmp_path)!r})\nimport swallows\ntime.sleep(60)\n"
    )
    assert (status, errors) == (130, "\ninterrupted\n")


def test_the_second_time_it_ends_at_once() -> None:
    status, errors = _interrupted(f"{BEGINNING}{SWALLOWS}run()\ntime.sleep(60)\n", times=2)
    assert (status, errors) == (130, "\ninterrupted\n")


@pytest.mark.parametrize(("times", "seconds"), [(1, STUCK_S), (2, 0.0)])
def test_compiled_code_that_never_looks_is_ended(times: int, seconds: float) -> None:
    """As a query of DuckDB may do. Here a lock is taken twice, which no signal interrupts."""
    stuck = (
        "import ctypes\nlock = ctypes.create_string_buffer(64)\ntake = ctypes.CDLL(None).pthread_mutex_lock\ntake(lock)\n"
        "print('ready', flush=True)\ntake(lock)\n"
    )
    begun = time.monotonic()
    status, errors = _interrupted(BEGINNING + stuck, times=times)
    assert (status, errors) == (130, "\ninterrupted\n") and time.monotonic() - begun > seconds


def test_a_forked_process_that_is_interrupted_leaves_its_parent_alone() -> None:
    """Two are, since the second Ctrl-C ends a process at once."""
    fork = "import os, signal\nfor _ in range(2):\n    child = os.fork()\n    if not child:\n        time.sleep(60)\n"
    interrupt = "    time.sleep(0.2)\n    os.kill(child, signal.SIGINT)\n    print(os.waitpid(child, 0)[0] == child)\n"
    code = f"{BEGINNING}{fork}{interrupt}time.sleep(0.5)\nprint('goes on')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout) == (0, "True\nTrue\ngoes on\n"), done.stderr


def test_errors_without_ctrl_c_pass() -> None:
    with pytest.raises(RuntimeError, match="a fault"), one_line_after_ctrl_c():
        raise RuntimeError("a fault")


def test_what_a_library_makes_of_it_is_an_interrupt() -> None:
    before = signal.getsignal(signal.SIGINT)
    try:
        watch_for_ctrl_c()
        with pytest.raises(Interrupted) as ended, one_line_after_ctrl_c():
            _interrupted_query()
        assert isinstance(ended.value, click.ClickException) and ended.value.exit_code == INTERRUPTED == 130
    finally:
        watch_for_ctrl_c()  # forgets it
        signal.signal(signal.SIGINT, before)


def _interrupted_query() -> None:
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except KeyboardInterrupt:
        raise RuntimeError("Query interrupted") from None
