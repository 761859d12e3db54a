"""The nodes that jobs of PBS and Torque held, of what their records list: exec_vnode where there is one, else exec_host."""

from __future__ import annotations

import re

import numpy as np
import polars as pl

from traces.pbs.rules import kilobytes

_NODE = re.compile(r"([^\s/:+()=]+)((?::[^\s:+()=]+=[^\s:+()]+)*)")
_HOST = re.compile(r"([^\s/+]+)/(\d{1,6})(?:-(\d{1,6}))?(?:\*(\d{1,6}))?")
_AMOUNTS = ("procs", "gpus", "memory_kb")


def pbs_nodes_held(texts: pl.Series) -> pl.DataFrame:
    """One row a job and node: place (of the text in `texts`), node_name, procs, gpus and memory_kb, null where the text does not tell.

    texts: `(n1:ncpus=4:mem=2gb+n2:ncpus=4)+(n1:ncpus=1)` (exec_vnode), or `n1/0*16+n2/0-3+n2/7` (exec_host). Texts that are neither have
    no row.
    """
    places: list[int] = []
    names: list[str] = []
    amounts: list[tuple[int | None, ...]] = []
    for place, text in enumerate(texts):
        nodes = _nodes_of(text) if text else {}
        places += [place] * len(nodes)
        names += nodes
        amounts += nodes.values()
    rows = pl.DataFrame({"place": np.array(places, dtype=np.int64), "node_name": pl.Series(names, dtype=pl.Utf8)})
    columns = zip(*amounts, strict=True) if amounts else ((),) * len(_AMOUNTS)
    return rows.with_columns(
        pl.Series(name, column, dtype=pl.Int64) for name, column in zip(_AMOUNTS, columns, strict=True)
    )


def _nodes_of(text: str) -> dict[str, tuple[int | None, ...]]:
    """Processors, GPUs and kilobytes by node."""
    chunks = text.replace("(", "").replace(")", "").split("+")
    nodes: dict[str, tuple[int | None, ...]] = {}
    for chunk in chunks:
        if host := _HOST.fullmatch(chunk):
            name, first, last, times = host.groups()
            amounts: tuple[int | None, ...] = (
                int(times) if times else int(last or first) - int(first) + 1,
                None,
                None,
            )
        elif vnode := _NODE.fullmatch(chunk):
            name, told = vnode.group(1), dict(pair.split("=", 1) for pair in vnode.group(2).split(":")[1:])
            amounts = (_count(told, "ncpus"), _count(told, "ngpus"), kilobytes(told.get("mem", "")))
        else:
            return {}
        before = nodes.get(name, (None,) * len(_AMOUNTS))
        nodes[name] = tuple(b if a is None else a if b is None else a + b for a, b in zip(before, amounts, strict=True))
    return nodes


def _count(told: dict[str, str], resource: str) -> int | None:
    word = told.get(resource, "")
    return int(word) if re.fullmatch(r"[0-9]{1,9}", word) else None
