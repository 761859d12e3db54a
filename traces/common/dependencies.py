"""Jobs that name others which must leave before them, as core.jobs has it: Slurm's `afterok:12`, PBS's `afterany:12.pbs@pbs`.

Slurm: man page sbatch(1), --dependency. PBS: man page qsub(1B), -W depend.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from traces.common.arrays import id_parts

Named = tuple[tuple[str, int], ...]
"""Kind of dependency (of LOGGED_KINDS), and place of the job that is named."""

LOGGED_KINDS = ("after", "afterany", "afterok", "afternotok", "aftercorr")
"""The named job has started, left, ended well or not well. With the last kind the task of the same number has ended well."""
SINGLETON = "singleton"
"""Slurm's word for all earlier jobs of the user that have the same name."""
MOST_NAMED_JOBS = 100
"""A job that names more, such as a large array, counts as one that names none."""


def named_jobs(rows: pl.DataFrame) -> dict[int, Named]:
    """The jobs that each job names, by its place. rows: in the order of submission, with submit_s (seconds) and job_id, dependency,
    user_name and executable, as core.jobs has them.

    Left out are jobs that name one which is not here, or in a way that is none of LOGGED_KINDS and not SINGLETON. An id that several jobs
    have is that of the last one before the job. An array stands for all its tasks."""
    dependency = rows["dependency"]
    if dependency.null_count() == rows.height:
        return {}
    ids = rows.select(**id_parts(pl.col("job_id")))
    asking = np.flatnonzero(dependency.is_not_null().to_numpy()).tolist()
    asked = {place: _parts(dependency[place], ids["task"][place]) for place in asking}
    wanted = pl.Series([name for parts in asked.values() for _, name in parts], dtype=pl.Utf8).unique().implode()
    places: dict[str, list[int]] = {}
    is_named = ids.select(pl.any_horizontal(pl.col("job", "array").is_in(wanted))).to_series().to_numpy()
    for other in np.flatnonzero(is_named).tolist():
        for name in {ids["job"][other], ids["array"][other]}:
            places.setdefault(name, []).append(other)
    same = _earlier_of_name(rows) if any(kind == SINGLETON for parts in asked.values() for kind, _ in parts) else {}
    submit = rows["submit_s"].to_numpy()
    named = {}
    for place, parts in asked.items():
        each_part = [list(_found(part, place, places, same, submit)) for part in parts]
        together = tuple(one for each in each_part for one in each)
        if all(each_part) and 0 < len(together) <= MOST_NAMED_JOBS:
            named[place] = together
    return named


def _parts(text: str, task: str | None) -> list[tuple[str, str]]:
    """Kinds and ids of a dependency, [] where any part of it is left out. task: number of the task that has it."""
    parts = []
    for part in text.split(","):
        kind, *ids = part.split(":")
        # with a ? any of them is enough, and a + stands before minutes after a start
        if part != SINGLETON and (kind not in LOGGED_KINDS or not ids or "?" in text or "+" in text):
            return []
        corresponds = f"_{task}" if kind == "aftercorr" and task is not None else ""
        parts += [(kind, each.partition("@")[0].partition(".")[0] + corresponds) for each in ids or [""]]
    return parts


def _found(
    part: tuple[str, str],
    place: int,
    places: Mapping[str, Sequence[int]],
    same: Mapping[int, Sequence[int]],
    submit: np.ndarray,
) -> Iterator[tuple[str, int]]:
    """The jobs that one part of a dependency stands for, none where they are not here. Of several with one id those that were submitted
    last before the job at `place`, at one time."""
    kind, name = part
    if kind == SINGLETON:
        yield from (("afterany", other) for other in same[place])
        return
    of_name = places.get(name, ())
    begin = end = bisect_left(of_name, place)
    while begin > 0 and submit[of_name[begin - 1]] == submit[of_name[end - 1]] and end - begin <= MOST_NAMED_JOBS:
        begin -= 1
    yield from ((kind, other) for other in of_name[begin:end])


def _earlier_of_name(rows: pl.DataFrame) -> dict[int, list[int]]:
    """Of each job that is a SINGLETON the earlier ones of its user and name, back to the last that is one, too, and waits for the rest."""
    is_one = rows["dependency"].str.contains(SINGLETON, literal=True).fill_null(value=False)
    since: dict[tuple[str | None, str | None], list[int]] = {}
    earlier = {}
    for place, (user, name, waits) in enumerate(zip(rows["user_name"], rows["executable"], is_one, strict=True)):
        before = since.setdefault((user, name), [])
        if waits:
            earlier[place], since[user, name] = before, []
        since[user, name].append(place)
    return earlier
