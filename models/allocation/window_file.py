"""A window as a JSON file: `{"tree": "16x8x4", "idle": [0, 1, 2], "jobs": [2, 1]}`, as users write it for `tracehouse place`.

The tree is a text as above, the path of a Slurm `topology.conf`, or an object with `nodes_per_leaf`, `leaves_per_pod` and `pods`. The
object has `hops` for each level if they are not `[2, 4, 6]`. Idle nodes are numbers from 0 on. With a `topology.conf` they are names.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from difflib import get_close_matches
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from models.allocation.window import Window
from simulator.topology.slurm_tree import read_topology
from simulator.topology.tree import MOST_HOPS, SwitchTree, default_hops, parse_tree, regular_tree
from traces.cluster.hostlists import expand_hostlist

WINDOW_EXAMPLE = '{"tree": "16x8x4", "idle": [0, 1, 2], "jobs": [2, 1]}'
MOST_TREE_NODES = 1_000_000
"""Most nodes of a tree. A typing error would otherwise fill the memory."""

_KEYS = ("tree", "idle", "jobs")
_SIZES = ("nodes_per_leaf", "leaves_per_pod", "pods")


def read_window(path: Path) -> Window:
    """The window of a file. Raises ValueError, with the file and what was expected, for one that cannot be read or makes no window."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise ValueError(f"{path}: no such file. Correct the path, or write {WINDOW_EXAMPLE} into it") from None
    except IsADirectoryError:
        raise ValueError(f"{path}: is a folder. Name a window file in it") from None
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror}). Expected a readable file") from None
    return window_of_json(content, str(path), path.parent)


def window_of_json(content: bytes, name: str, folder: Path) -> Window:
    """The window that a JSON document describes. name: for messages. folder: that the path of a topology.conf begins in.

    Idle nodes may be in any order. Raises ValueError with name, what was expected and what to do. For bad JSON it has line and column.
    """
    document = _document(content, name)
    try:
        _check_keys(document, "window", _KEYS)
        tree = _tree(document["tree"], folder)
        idle = _idle(document["idle"], tree)
        return Window(tree, np.array(idle, dtype=np.int64), _sizes(document["jobs"], tree.nodes, len(idle)))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _document(content: bytes, name: str) -> Any:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{name}:{line}: byte {content[error.start]:#04x} is no UTF-8 text: expected a JSON file. Save it as UTF-8"
        ) from None
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise ValueError(
            f"{name}:{error.lineno}:{error.colno}: not JSON ({error.msg}): expected a window such as {WINDOW_EXAMPLE}. "
            "Correct it there"
        ) from None
    except RecursionError:
        raise ValueError(f"{name}: brackets within brackets without end: expected {WINDOW_EXAMPLE}") from None
    except ValueError as error:  # of the two functions below, and of numbers with thousands of digits
        raise ValueError(f"{name}: {error}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    for key, times in Counter(key for key, _ in pairs).items():
        if times > 1:
            raise ValueError(f"the key {_shown(key)} comes {times} times: expected it once. Keep one")
    return dict(pairs)


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number of JSON: expected a whole number. Correct it")


def _check_keys(document: Any, what: str, keys: Sequence[str], optional: str = "") -> None:
    """Raises ValueError for a value that is not an object, for a missing key, and for an unknown one."""
    expected = ", ".join(f'"{key}"' for key in keys)
    if not isinstance(document, dict):
        raise ValueError(
            f"the {what} is {_shown(document)}: expected an object with {expected}. Write {WINDOW_EXAMPLE}"
        )
    every = (*keys, optional) if optional else tuple(keys)
    for key in document:
        if key not in every:
            close = get_close_matches(key, every, n=1)
            advice = f'Did you mean "{close[0]}"?' if close else "Take it out"
            raise ValueError(f"unknown key {_shown(key)} of the {what}: expected {expected}. {advice}")
    for key in keys:
        if key not in document:
            raise ValueError(f'the {what} has no "{key}": expected {expected}. Add it, as in {WINDOW_EXAMPLE}')


def _tree(value: Any, folder: Path) -> SwitchTree:
    if isinstance(value, str):
        return _named_tree(value, folder)
    if not isinstance(value, dict):
        raise ValueError(
            f'"tree" is {_shown(value)}: expected a text such as "16x8x4", a topology.conf, or an object with '
            f"{', '.join(_SIZES)}. Correct it"
        )
    _check_keys(value, "tree", _SIZES, "hops")
    sizes = tuple(_whole(value[key], f'"{key}"', 1) for key in _SIZES)
    hops = value.get("hops", list(default_hops(len(sizes))))
    if not isinstance(hops, list) or len(hops) != len(sizes):
        raise ValueError(
            f'"hops" is {_shown(hops)}: expected {len(sizes)} numbers, one a level, such as [2, 4, 6]. Correct it'
        )
    hops = [_whole(one, f'number {k} of "hops"', 0, MOST_HOPS) for k, one in enumerate(hops, start=1)]
    if hops != sorted(hops):
        raise ValueError(
            f'"hops" is {hops}: expected numbers that do not decrease from the leaf up, such as [2, 4, 6]. Correct it'
        )
    return _regular(sizes, tuple(hops))


def _named_tree(text: str, folder: Path) -> SwitchTree:
    if re.fullmatch(r"[\d\s.*x-]+", text):
        sizes = [int(part[:9]) for part in re.findall(r"\d+", text)]
        return _regular(tuple(sizes), None) if _product(sizes) > MOST_TREE_NODES else parse_tree(text)
    path = folder / text
    try:
        is_there = path.exists()
    except OSError:  # a name that is too long
        is_there = False
    if not is_there:
        raise ValueError(
            f'"tree" is {_shown(text)}, and there is no such file in {folder}: expected a text such as "16x8x4", or the path of a '
            "topology.conf from there. Correct it"
        )
    return read_topology(path)


def _regular(sizes: tuple[int, ...], hops: tuple[int, ...] | None) -> SwitchTree:
    if _product(sizes) > MOST_TREE_NODES:
        raise ValueError(
            f'"tree" has more than {MOST_TREE_NODES:,} nodes: expected at most as many. Give a smaller one'
        )
    return regular_tree(sizes, hops)


def _product(sizes: Sequence[int]) -> int:
    nodes = 1
    for size in sizes:
        nodes *= size
    return nodes


def _idle(value: Any, tree: SwitchTree) -> list[int]:
    """Numbers of the idle nodes, ascending."""
    what = "names of nodes" if tree.node_names else "numbers of nodes"
    if not isinstance(value, list):
        raise ValueError(f'"idle" is {_shown(value)}: expected a list of {what}. Put it in square brackets')
    nodes = _named_nodes(value, tree) if tree.node_names else _numbered_nodes(value, tree.nodes)
    nodes.sort()
    for node, after in pairwise(nodes):
        if node == after:
            raise ValueError(f'"idle": node {tree.name_of(node)} comes twice: expected different nodes. Take one out')
    return nodes


def _numbered_nodes(value: list[Any], nodes: int) -> list[int]:
    idle = [_whole(one, f'number {k} of "idle"', None) for k, one in enumerate(value, start=1)]
    for node in idle:
        if not 0 <= node < nodes:
            raise ValueError(
                f'"idle": node {node} is not in the tree: expected 0 to {nodes - 1}. Take it out, or give a larger tree'
            )
    return idle


def _named_nodes(value: list[Any], tree: SwitchTree) -> list[int]:
    node_of = {name: node for node, name in enumerate(tree.node_names)}
    idle = []
    for k, text in enumerate(value, start=1):
        if not isinstance(text, str):
            raise ValueError(
                f'number {k} of "idle" is {_shown(text)}: expected the name of a node in quotation marks, such as '
                f'"{tree.node_names[0]}". Correct it'
            )
        try:
            names = expand_hostlist(text)
        except ValueError as error:
            raise ValueError(f'number {k} of "idle": {error}. Correct it') from None
        for name in names:
            if name not in node_of:
                close = get_close_matches(name, tree.node_names, n=1) or tree.node_names[:1]
                raise ValueError(
                    f'"idle": node {_shown(name)} is not in the tree: expected names such as "{close[0]}". Correct it'
                )
            idle.append(node_of[name])
    return idle


def _sizes(value: Any, nodes: int, idle: int) -> np.ndarray:
    if not isinstance(value, list):
        raise ValueError(f'"jobs" is {_shown(value)}: expected a list of sizes. Put it in square brackets')
    sizes = [_whole(size, f'the size of job {k} in "jobs"', 1) for k, size in enumerate(value, start=1)]
    for k, size in enumerate(sizes, start=1):
        if size > nodes:
            raise ValueError(
                f'"jobs": job {k} needs {size} nodes: expected at most {nodes}, as many as the tree has. Make it smaller, or give a '
                "larger tree"
            )
    if sum(sizes) > idle:
        raise ValueError(
            f'"jobs" need {sum(sizes)} nodes together: expected at most {idle}, as many as are idle. Take jobs out, or list more '
            "idle nodes"
        )
    return np.array(sizes, dtype=np.int64)


def _whole(value: Any, what: str, least: int | None, most: int | None = None) -> int:
    """The number, which must be whole. Raises ValueError for anything else, also for true, and outside of the limits."""
    is_whole = (isinstance(value, int) and not isinstance(value, bool)) or (
        isinstance(value, float) and value.is_integer()
    )
    if is_whole and (least is None or value >= least) and (most is None or value <= most):
        return int(value)
    limits = "" if least is None else f" from {least}" + (" on" if most is None else f" to {most}")
    raise ValueError(f"{what} is {_shown(value)}: expected a whole number{limits}. Correct it")


def _shown(value: Any) -> str:
    """A value as JSON, shortened."""
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
