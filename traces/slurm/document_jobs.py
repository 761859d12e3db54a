"""One job of `sacct --json` as the words of a line of `sacct -P`, and one line for each of its steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from traces.slurm.asked_gpus import gpus_of_job
from traces.slurm.numbers import slurm_number

DOCUMENT_COLUMNS = (
    "JobID",
    "JobIDRaw",
    "Cluster",
    "Partition",
    "QOS",
    "Account",
    "Group",
    "User",
    "Submit",
    "Eligible",
    "Start",
    "End",
    "ElapsedRaw",
    "Suspended",
    "TimelimitRaw",
    "State",
    "ExitCode",
    "NNodes",
    "ReqCPUS",
    "ReqMem",
    "ReqTRES",
    "AllocTRES",
    "AllocGRES",
    "TotalCPU",
    "MaxRSS",
    "NTasks",
    "NodeList",
    "Priority",
    "Reason",
    "Constraints",
    "Reservation",
    "TRESUsageInTot",
    "ConsumedEnergyRaw",
    "AdminComment",
    "SubmitLine",
    "JobName",
)
"""Columns of the lines, as sacct calls them."""
_FLAGS_FIRST = ("REQUEUED", "RESIZING", "REQUEUE_HOLD", "SPECIAL_EXIT")
"""Flags of a state that sacct prints in place of the state."""
_BYTES_OF_USE = ("mem", "vmem")


def job_lines(job: dict[str, Any]) -> Iterator[list[str]]:
    """The words of a job, then those of its steps, in the order of DOCUMENT_COLUMNS. What a job does not have is ""."""
    job_id = _job_id(job)
    yield _in_order(_of_job(job, job_id))
    for place, step in enumerate(_list(job, "steps")):
        yield _in_order(_of_step(step, job_id, place))


def _in_order(words: dict[str, str]) -> list[str]:
    return [words.get(name, "") for name in DOCUMENT_COLUMNS]


def _of_job(job: dict[str, Any], job_id: str) -> dict[str, str]:
    return {
        "JobID": job_id,
        "JobIDRaw": _number(job, "job_id"),
        "Cluster": _text(job, "cluster") or _text(job, "association", "cluster"),
        "Partition": _text(job, "partition") or _text(job, "association", "partition"),
        "QOS": _text(job, "qos"),
        "Account": _text(job, "account") or _text(job, "association", "account"),
        "Group": _text(job, "group"),
        "User": _text(job, "user") or _text(job, "association", "user"),
        "Submit": _time(job, "submission"),
        "Eligible": _time(job, "eligible"),
        "Start": _time(job, "start"),
        "End": _time(job, "end"),
        "ElapsedRaw": _number(job, "time", "elapsed"),
        "Suspended": f"00:{_number(job, 'time', 'suspended') or '0'}",
        "TimelimitRaw": _number(job, "time", "limit", is_time=True),
        "State": _state(job),
        "ExitCode": _exit_code(job),
        "NNodes": _number(job, "allocation_nodes"),
        "ReqCPUS": _number(job, "required", "CPUs"),
        "ReqMem": _requested_memory(job),
        "ReqTRES": _resources(job, "tres", "requested"),
        "AllocTRES": _resources(job, "tres", "allocated"),
        "AllocGRES": _gpus(job),
        "TotalCPU": _cpu_time(job),
        "NodeList": _text(job, "nodes"),
        "Priority": _number(job, "priority"),
        "Reason": _text(job, "state", "reason"),
        "Constraints": _text(job, "constraints"),
        "Reservation": _text(job, "reservation", "name"),
        "AdminComment": _text(job, "comment", "administrator"),
        "SubmitLine": _text(job, "submit_line"),
        "JobName": _text(job, "name"),
    }


def _of_step(step: Any, job_id: str, place: int) -> dict[str, str]:
    """What of a step counts for its job. Use has memory in bytes."""
    identity = _at(step, "step", "id")
    name = _number(step, "step", "id", "step_id") or _text(step, "step", "id", "step_id")
    if isinstance(identity, str):
        name = identity.rpartition(".")[2]
    used = {_name_of(each): _number(each, "count") for each in _list(step, "tres", "requested", "max")}
    memory = used.get("mem", "")
    return {
        "JobID": f"{job_id}.{name or place}",
        "State": _state(step),
        "MaxRSS": f"{int(memory) // 1024}K" if memory else "",
        "NTasks": _number(step, "tasks", "count"),
        "TRESUsageInTot": _use(step),
        "ConsumedEnergyRaw": _number(step, "statistics", "energy", "consumed"),
    }


def _use(step: Any) -> str:
    """TRESUsageInTot: Slurm's JSON calls the use "requested", and counts CPU time in milliseconds."""
    words = []
    for each in _list(step, "tres", "requested", "total"):
        name, count = _name_of(each), _number(each, "count")
        if name and count:
            amount = int(count)
            shown = f"{amount // 1024}K" if name in _BYTES_OF_USE else str(amount // 1000) if name == "cpu" else count
            words.append(f"{name}={shown}")
    return ",".join(words)


def _job_id(job: dict[str, Any]) -> str:
    """JobID: of a task `12_7`, of tasks that never started `12_[1-3]`, of a part of a heterogeneous job `12+1`."""
    array, tasks = _number(job, "array", "job_id"), _text(job, "array", "task")
    task, listed = _number(job, "array", "task_id"), not tasks.isdigit() and tasks
    if array not in ("", "0") and listed:
        return f"{array}_[{tasks.strip('[]')}]"
    if array not in ("", "0") and (task or tasks):
        return f"{array}_{task or tasks}"
    first, offset = _number(job, "het", "job_id"), _number(job, "het", "job_offset")
    if first not in ("", "0") and offset:
        return f"{first}+{offset}"
    return _number(job, "job_id")


def _state(job: Any) -> str:
    """The state of a job, which older versions write as a word and newer ones as a list with flags in it."""
    state = _at(job, "state")
    current = state.get("current") if isinstance(state, dict) else state
    words = [str(word) for word in (current if isinstance(current, list) else [current]) if word]
    return next((word for word in words if word in _FLAGS_FIRST), words[0] if words else "")


def _exit_code(job: dict[str, Any]) -> str:
    code = _number(job, "exit_code", "return_code")
    of_signal = _at(job, "exit_code", "signal")
    signal = _number(of_signal, "id", is_time=True) or _number(of_signal, "signal_id", is_time=True)
    return f"{code or 0}:{signal or 0}" if code or signal else ""


def _requested_memory(job: dict[str, Any]) -> str:
    """Megabytes, of a processor (c) or of a node (n)."""
    for name, unit in (("memory_per_cpu", "Mc"), ("memory_per_node", "Mn")):
        amount = _number(job, "required", name)
        if amount not in ("", "0"):
            return amount + unit
    return ""


def _resources(job: dict[str, Any], *names: str) -> str:
    """Trackable resources, such as `cpu=8,mem=4096M,gres/gpu=2`."""
    listed = _at(job, *names)
    if isinstance(listed, str):
        return listed
    words = []
    for each in _list(job, *names):
        name, count = _name_of(each), _number(each, "count")
        if name and count:
            words.append(f"{name}={count}{'M' if name == 'mem' else ''}")
    return ",".join(words)


def _gpus(job: dict[str, Any]) -> str:
    """GPUs of fields beside the trackable resources, by the types that the job asked for; "" where these say none."""
    nodes = _number(job, "allocation_nodes")
    number, asked = gpus_of_job(job, int(nodes) if nodes else None)
    if not number:
        return _text(job, "used_gres")
    by_type = {kind: count for kind, count in asked.items() if kind and count}
    others = number - sum(by_type.values())
    words = [f"gpu:{kind}:{count}" for kind, count in sorted(by_type.items())] if others >= 0 else []
    return ",".join([*words, f"gpu:{others}"] if others > 0 else words) or f"gpu:{number}"


def _name_of(resource: Any) -> str:
    kind, name = _text(resource, "type"), _text(resource, "name")
    return f"{kind}/{name}" if name else kind


def _cpu_time(job: dict[str, Any]) -> str:
    seconds, rest = _number(job, "time", "total", "seconds"), _number(job, "time", "total", "microseconds")
    return f"00:{seconds}.{int(rest or 0):06d}" if seconds else ""


def _time(job: dict[str, Any], name: str) -> str:
    """Unix seconds. Slurm has 0 for a time that is not known."""
    seconds = _number(job, "time", name, is_time=True)
    return "Unknown" if seconds in ("", "0") else seconds


def _number(value: Any, *names: str, is_time: bool = False) -> str:
    """A whole number of at least 0, plain or as an object, as text; "" for one that is not set, infinite, or none."""
    value = _at(value, *names)
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    number = slurm_number(value, is_time)
    return "" if number is None or number < 0 else str(int(number))


def _text(value: Any, *names: str) -> str:
    """A text. A list of texts is joined by commas."""
    value = _at(value, *names)
    if isinstance(value, list):
        return ",".join(each for each in value if isinstance(each, str))
    return value if isinstance(value, str) else ""


def _list(value: Any, *names: str) -> list[Any]:
    value = _at(value, *names)
    return value if isinstance(value, list) else []


def _at(value: Any, *names: str) -> Any:
    """What is below names within names, None where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value
