"""What a reader of configuration says about each key: where it went, or what it would have changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from traces.cluster.description import ClusterDescription

MODELLED = "modelled"
NOT_MODELLED = "not modelled"
NO_EFFECT = "no effect"
UNKNOWN_KEY = "unknown"
ASSUMED = "assumed"
REMARK_KINDS = (MODELLED, NOT_MODELLED, UNKNOWN_KEY, ASSUMED, NO_EFFECT)
"""modelled: it is in the description. not modelled: it changes schedules, and is left out. unknown: a key that no table of ours has.
assumed: the files do not say, or are a template. no effect: it does not change schedules, or has the value that does not."""

_MOST_LETTERS = 40
"""Of a value in a sentence."""


@dataclass(frozen=True)
class Remark:
    """One key of one file. kind: one of REMARK_KINDS. line: from 1, 0 where the format has none (JSON).

    effect: what the key would have changed (not modelled), what was taken instead (assumed), "" where nothing is to be said.
    place: of a modelled key, where it went in the description, as a dotted path: `partitions.high.tier`, `scheduler.backfill_depth`.

    Raises ValueError for another kind.
    """

    file: str
    line: int
    key: str
    value: str
    kind: str
    effect: str = ""
    place: str = ""

    def __post_init__(self) -> None:
        if self.kind not in REMARK_KINDS:
            raise ValueError(f"expected a kind of {', '.join(REMARK_KINDS)}, got {self.kind!r}")

    @property
    def where(self) -> str:
        """File and line, such as `slurm.conf:12`."""
        return f"{self.file}:{self.line}" if self.line else self.file

    def __str__(self) -> str:
        said = f"{self.where}: {self.key}={self.value}" if self.value else f"{self.where}: {self.key}"
        return f"{said}: {self.effect}" if self.effect else said


@dataclass(frozen=True)
class DescribedCluster:
    """A cluster as its configuration has it, and a remark for each key that was read, in the order of files and lines."""

    description: ClusterDescription
    remarks: tuple[Remark, ...]


class ConfigurationError(ValueError):
    """A configuration that cannot be used. The message has the file, the line, what was expected, and what to do."""

    def __init__(self, file: str, line: int, expected: str, remedy: str = "") -> None:
        where = f"{file}:{line}" if line else file
        super().__init__(f"{where}: expected {expected}" + (f". {remedy}" if remedy else ""))


def with_left_out(described: DescribedCluster) -> DescribedCluster:
    """The cluster, whose description names each key once that the remarks say is left out or unknown."""
    words = [
        f"{remark.key.split()[-1].lower()}={remark.value[:_MOST_LETTERS]}: {remark.effect}"
        for remark in remarks_of(described.remarks, NOT_MODELLED, UNKNOWN_KEY)
    ]
    return replace(described, description=replace(described.description, left_out=tuple(dict.fromkeys(words))))


def remarks_of(remarks: Iterable[Remark], *kinds: str) -> tuple[Remark, ...]:
    """The remarks of these kinds, in the same order."""
    return tuple(remark for remark in remarks if remark.kind in kinds)


def sources_by_place(remarks: Iterable[Remark]) -> dict[str, str]:
    """`slurm.conf:12` for each dotted place of the description that a file says. The last one counts, as it does for the schedulers."""
    return {remark.place: remark.where for remark in remarks if remark.kind == MODELLED and remark.place}
