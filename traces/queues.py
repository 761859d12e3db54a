"""Reads the queue of a scheduler as it is now: from a file, standard input, or what a command prints."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from typing import Any

from traces.common.log import LogError
from traces.common.queue import QueueSnapshot
from traces.pbs.queue import JSON, jobs_of_document, read_pbs_queue
from traces.slurm.queue import read_slurm_queue

COMMAND_TIMEOUT_S = 60
_EXPECTED = "expected the JSON that `squeue --json` or `qstat -f -F json` prints"


_OTHER_LISTS = {"Queue": "qstat -Q", "Server": "qstat -B", "nodes": "pbsnodes"}
"""Keys of other JSON of PBS, and the command that prints it."""
_OTHER_TEXTS = {
    r"(?m)^Queue\s+(?:Memory|Max)\s+|^Queue: \S+\s*$": "qstat -Q",
    r"(?m)^Server\s+Max\s+|^Server: \S+\s*$": "qstat -B",
    r"(?m)^Job [Ii]d: \S+\s*$|^Job [Ii][Dd]\s+Name\s+User\s": "qstat",
}


def _other_list(place: str, command: str) -> LogError:
    what = "prints as text" if command == "qstat" else "prints, which has no jobs"
    return LogError(f"{place}: {_EXPECTED}, but this is what `{command}` {what}")


def parse_queue(text: str, place: str, time_zone: str) -> QueueSnapshot:
    """The queue of a text of either scheduler.

    text: a JSON document with "jobs" (Slurm) or "Jobs" (PBS). place: its file, for messages. time_zone: of the cluster. Raises LogError,
    which names the place and what was expected.
    """
    document = _document(text, place)
    if isinstance(document, dict) and "jobs" in document:
        return read_slurm_queue(document, place)
    if isinstance(document, dict) and "Jobs" not in document and (other := _OTHER_LISTS.keys() & document.keys()):
        raise _other_list(place, _OTHER_LISTS[other.pop()])
    if isinstance(document, dict) and ("Jobs" in document or "pbs_version" in document):
        return read_pbs_queue(document, place, time_zone)
    raise LogError(f'{place}: {_EXPECTED}, but this JSON has neither "jobs" nor "Jobs"')


def _document(text: str, place: str) -> Any:
    """The JSON of a text, without lines before it, such as the greeting of a login node. A queue of PBS may break its rules."""
    begin = re.search(r"^\s*[{\[]", text, re.MULTILINE)
    try:
        document, end = JSON.raw_decode(text, begin.end() - 1 if begin else 0)
        if re.search(r"[{}]", text[end:]):  # the document seems to go on
            raise json.JSONDecodeError("more after its end", text, end)
        return document
    except json.JSONDecodeError as error:
        if (jobs := jobs_of_document(text)) is not None:
            return jobs
        for head, command in _OTHER_TEXTS.items():
            if re.search(head, text):
                raise _other_list(place, command) from None
        what = "the text is empty" if not text.strip() else f"line {error.lineno} is no JSON ({error.msg})"
        raise LogError(f"{place}: {_EXPECTED}, but {what}") from None
    except RecursionError:
        raise LogError(f"{place}: {_EXPECTED}, but its brackets are nested too deeply") from None


def run_queue_command(command: str, timeout_s: float = COMMAND_TIMEOUT_S) -> str:
    """What a command prints. It is split into words as a shell would, and run without one.

    Raises LogError where there is no such program, where it fails, or where it takes longer than timeout_s seconds.
    """
    try:
        done = subprocess.run(shlex.split(command), capture_output=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired:
        raise LogError(f"queue_command {command!r}: no answer within {timeout_s:g} s") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise LogError(f"queue_command {command!r}: cannot be run ({reason})") from None
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise LogError(
            f"queue_command {command!r}: ended with status {done.returncode}" + (f": {said[-1]}" if said else "")
        )
    return done.stdout.decode(errors="replace")
