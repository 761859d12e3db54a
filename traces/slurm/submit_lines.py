"""GPUs that sbatch, srun and salloc were asked for, from the SubmitLine of sacct.

Options: Slurm's man page sbatch(1). What comes behind the name of the script is not sbatch's.
"""

from __future__ import annotations

import re

import polars as pl

from traces.slurm.asked_gpus import gpus_of_list

_NAMES_GPUS = r"(?:^|\s)(?:-G|--gpus|--gres)"
_PROGRAM = re.compile(r"(?:\S*/)?(?:sbatch|srun|salloc)")
_WITHOUT_VALUE = """
contiguous exclusive get-user-env help hold ignore-pbs kill-on-invalid-dep no-kill nice no-requeue overcommit oversubscribe parsable
propagate quiet reboot requeue share spread-job test-only usage use-min-nodes verbose version wait disable-status exact immediate label
multi-prog no-allocate overlap preserve-env pty unbuffered no-shell bell no-bell
"""
"""Long options that have no value, or have it behind a = only."""
_SHORT_WITHOUT_VALUE = "hHkOQsvVXEIKlu"
_LONG_OF = {"G": "gpus", "n": "ntasks", "N": "nodes"}
_COLUMNS = dict.fromkeys(
    ("_total", "_per_node", "_per_task", "_per_socket", "_tasks", "_tasks_per_node", "_sockets"), pl.Int64
)


def submission_options(line: str) -> dict[str, str]:
    """The options before the name of the script, those with a letter that we need by their long name. {} for another program."""
    words = line.split()
    options: dict[str, str] = {}
    place = 1
    if not words or not _PROGRAM.fullmatch(words[0]):
        return options
    while place < len(words) and words[place].startswith("-") and len(words[place]) > 1:
        word, place = words[place], place + 1
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            takes_next = not equals and name not in _WITHOUT_VALUE.split()
        else:
            name, value = _LONG_OF.get(word[1], word[1]), word[2:].removeprefix("=")
            is_wait = word[1] == "W" and words[0].endswith("sbatch")  # srun's has a value
            takes_next = not value and not is_wait and word[1] not in _SHORT_WITHOUT_VALUE
        if takes_next and place < len(words):
            value, place = words[place], place + 1
        options[name] = value
        if name == "wrap":
            break
    return options


def with_submitted_gpus(jobs: pl.DataFrame) -> pl.DataFrame:
    """The jobs with `submitted_gpus`, and `names_gpus`: whether the line asks for any. submitted_gpus is null where it does not say of
    how many nodes, tasks or sockets. Needs in_submitline and nodes."""
    lines = jobs.filter(pl.col("in_submitline").str.contains(_NAMES_GPUS))["in_submitline"].unique()
    amounts = [row for row in (_amounts(line) for line in lines) if row]
    if not amounts:
        return jobs.with_columns(submitted_gpus=pl.lit(None, pl.Int64), names_gpus=pl.lit(False))
    table = pl.DataFrame(amounts, schema={"in_submitline": pl.Utf8, **_COLUMNS})
    nodes = pl.col("nodes")
    tasks = pl.coalesce("_tasks", pl.col("_tasks_per_node") * nodes, nodes)
    total = pl.coalesce(
        "_total",
        pl.col("_per_node") * nodes,
        pl.col("_per_task") * tasks,
        pl.col("_per_socket") * pl.col("_sockets") * nodes,
    )
    jobs = jobs.join(table.with_columns(names_gpus=pl.lit(True)), on="in_submitline", how="left", maintain_order="left")
    return jobs.with_columns(submitted_gpus=total, names_gpus=pl.col("names_gpus").fill_null(False)).drop(*_COLUMNS)


def _amounts(line: str) -> dict[str, str | int | None] | None:
    """The row of a line; None for one that asks for no GPU. Behind --wrap, whose command has no quotes here,
    options may be those of the command, so nobody knows how many GPUs they are."""
    options = submission_options(line)
    gres = options.get("gres", "")
    asked = {name: _gpus(options.get(name)) for name in ("gpus", "gpus-per-task", "gpus-per-socket")}
    per_node = _gpus(options.get("gpus-per-node"))
    if per_node is None and (of_node := gpus_of_list(gres)):
        per_node = sum(of_node.values())
    is_behind = "wrap" in options and re.search(_NAMES_GPUS, line.partition("--wrap")[2]) is not None
    if per_node is None and not any(amount is not None for amount in asked.values()) and not is_behind:
        return None
    return {
        "in_submitline": line,
        "_total": asked["gpus"],
        "_per_node": per_node,
        "_per_task": asked["gpus-per-task"],
        "_per_socket": asked["gpus-per-socket"],
        "_tasks": _count(options.get("ntasks")),
        "_tasks_per_node": _count(options.get("ntasks-per-node")),
        "_sockets": _count(options.get("sockets-per-node")),
    }


def _gpus(value: str | None) -> int | None:
    """The number in `8`, `h100:2` or `a100:1,v100:1`."""
    return None if not value else sum(sum(gpus_of_list(f"gpu:{word}").values()) for word in value.split(","))


def _count(value: str | None) -> int | None:
    return int(value) if value and re.fullmatch(r"\d{1,9}", value) else None
