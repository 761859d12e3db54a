"""GPUs that sbatch, srun and salloc were asked for, from the SubmitLine of sacct, and generic resources of older versions.

Options: Slurm's man page sbatch(1). What comes behind the name of the script is not sbatch's.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import polars as pl

from traces.slurm.asked_gpus import gpu_words, gpus_of_list, times

_NAMES_GPUS = r"(?:^|\s)(?:-G|--gpus|--gres|--tres-per-task)"
_PROGRAM = re.compile(r"(?:\S*/)?(?:sbatch|srun|salloc)")
_WITHOUT_VALUE = """
contiguous exclusive get-user-env help hold ignore-pbs kill-on-invalid-dep no-kill nice no-requeue overcommit oversubscribe parsable
propagate quiet reboot requeue share spread-job test-only usage use-min-nodes verbose version wait disable-status exact immediate label
multi-prog no-allocate overlap preserve-env pty unbuffered no-shell bell no-bell
"""
"""Long options that have no value, or have it behind a = only."""
_SHORT_WITHOUT_VALUE = "hHkOQsvVXEIKlu"
_LONG_OF = {"G": "gpus", "n": "ntasks", "N": "nodes"}
_KIND = ("_line", "in_reqgres", "in_allocgres", "nodes")
_ASKED: dict[str, Any] = {"submitted_gpus": pl.Int64, "names_gpus": pl.Boolean, "asked_gpus": pl.Utf8}


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
    """The jobs with `submitted_gpus`, `asked_gpus` and `names_gpus`. Needs nodes, in_submitline, in_reqgres and in_allocgres.

    submitted_gpus: how many the options of the submission ask for, null where these do not say of how many nodes, tasks or sockets.
    names_gpus: whether they ask for any. asked_gpus: those by type (`gpu_words`) of the options, else of ReqGRES, else of AllocGRES.
    """
    line = pl.when(pl.col("in_submitline").str.contains(_NAMES_GPUS)).then("in_submitline").otherwise(pl.lit(""))
    jobs = jobs.with_columns(_line=line)
    kinds = jobs.select(_KIND).unique().filter(pl.any_horizontal(pl.col(name) != "" for name in _KIND[:3]))
    if kinds.is_empty():
        nothing = {name: pl.lit(None, dtype) for name, dtype in _ASKED.items()}
        return jobs.drop("_line").with_columns(**nothing | {"names_gpus": pl.lit(False)})
    rows = [(*kind, *_asked(*kind)) for kind in kinds.iter_rows()]
    table = pl.DataFrame(rows, schema={**dict.fromkeys(_KIND, pl.Utf8), "nodes": pl.Int64, **_ASKED}, orient="row")
    jobs = jobs.join(table, on=_KIND, how="left", maintain_order="left", nulls_equal=True).drop("_line")
    return jobs.with_columns(pl.col("names_gpus").fill_null(False))


def _asked(line: str, reqgres: str, allocgres: str, nodes: int | None) -> tuple[int | None, bool, str | None]:
    """The columns _ASKED of a job."""
    names_gpus, total, by_type = _submitted(line, nodes) if line else (False, None, Counter[str]())
    of_node = gpus_of_list(reqgres)
    words = gpu_words(by_type) or gpu_words(times(of_node, nodes or 1)) or gpu_words(gpus_of_list(allocgres))
    return total, names_gpus, words or None


def _submitted(line: str, nodes: int | None) -> tuple[bool, int | None, Counter[str]]:
    """Whether a line asks for GPUs, for how many, and for how many of each type. Behind --wrap, whose command has no quotes here, options
    may be those of the command, so nobody knows how many GPUs they are."""
    options = submission_options(line)
    tasks = _count(options.get("ntasks")) or _product(_count(options.get("ntasks-per-node")), nodes) or nodes
    parts = (
        (_gpus(options.get("gpus")), 1),
        (_gpus(options.get("gpus-per-node")) or _of_list(options.get("gres")), nodes),
        (_gpus(options.get("gpus-per-task")) or _of_list(options.get("tres-per-task")), tasks),
        (_gpus(options.get("gpus-per-socket")), _product(_count(options.get("sockets-per-node")), nodes)),
    )
    named = [(gpus, factor) for gpus, factor in parts if gpus is not None]
    is_behind = "wrap" in options and re.search(_NAMES_GPUS, line.partition("--wrap")[2]) is not None
    amounts = [times(gpus, factor) for gpus, factor in named if factor]
    if not amounts:
        return bool(named) or is_behind, None, Counter()
    total = amounts[0].total()
    typed = (each for each in amounts if each.total() == total and any(each))
    return True, total, next(typed, amounts[0])


def _gpus(value: str | None) -> Counter[str] | None:
    """GPUs by type of `8`, `h100:2` or `a100:1,v100:1`."""
    return gpus_of_list(",".join(f"gpu:{word}" for word in value.split(","))) if value else None


def _of_list(value: str | None) -> Counter[str] | None:
    """GPUs by type of a list such as `gpu:a100:4,nvme:1`, None where it has none."""
    return gpus_of_list(value or "") or None


def _product(count: int | None, nodes: int | None) -> int | None:
    return count * nodes if count and nodes else None


def _count(value: str | None) -> int | None:
    return int(value) if value and re.fullmatch(r"\d{1,9}", value) else None
