"""The code that decides what is read of a format cannot change unnoticed: either its version is raised, or nothing else is read."""

from __future__ import annotations

import ast
import hashlib
from pathlib import Path

import pytest

from traces.pbs.reader import PBS_READER_VERSION
from traces.slurm.reader import SLURM_READER_VERSION
from traces.swf.reader import SWF_READER_VERSION
from traces.vasp.runs import VASP_READER_VERSION

PROJECT = Path(__file__).resolve().parents[2]
READERS = {
    "swf": ("traces.swf.reader",),
    "slurm": ("traces.slurm.reader", "traces.common.pseudonyms"),
    "pbs": ("traces.pbs.reader", "traces.common.pseudonyms"),
    "vasp": ("traces.vasp.runs", "traces.vasp.folders"),
}
"""Where the reading of a format begins; all of `traces` that these modules import decides, too."""
HASHES = {
    "swf": (3, "3387ba364d20"),
    "slurm": (8, "4d89790383f0"),
    "pbs": (7, "324baccca526"),
    "vasp": ("4", "433e46eec787"),
}
"""Version of each reader, and the hash of its code."""
VERSIONS = {
    "swf": SWF_READER_VERSION,
    "slurm": SLURM_READER_VERSION,
    "pbs": PBS_READER_VERSION,
    "vasp": VASP_READER_VERSION,
}


def modules_of(*starts: str) -> list[str]:
    """The modules of `traces` that these import, directly or not, and they themselves."""
    modules, waiting = set(), list(starts)
    while waiting:
        module = waiting.pop()
        if module not in modules:
            modules.add(module)
            imports = [node for node in ast.walk(tree_of(module)) if isinstance(node, ast.ImportFrom)]
            waiting += [node.module for node in imports if node.module and node.module.startswith("traces.")]
    return sorted(modules)


def tree_of(module: str) -> ast.Module:
    return ast.parse((PROJECT / module.replace(".", "/")).with_suffix(".py").read_text())


def outline(node: object) -> object:
    """A syntax tree as tuples, without docstrings and empty parts, so that all versions of Python give the same."""
    if isinstance(node, list):
        return tuple(outline(each) for each in node if not is_text(each))
    if not isinstance(node, ast.AST):
        return node
    parts = ((name, outline(value)) for name, value in ast.iter_fields(node) if value is not None and value != [])
    return (type(node).__name__, *parts)


def is_text(node: object) -> bool:
    """Whether this is a statement that is nothing but a text: a docstring, or what is said below a constant."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def code_hash(*starts: str) -> str:
    """12 hexadecimal digits; comments, docstrings and the form of the text do not matter."""
    outlines = [(module, outline(tree_of(module))) for module in modules_of(*starts)]
    return hashlib.sha256(repr(outlines).encode()).hexdigest()[:12]


@pytest.mark.parametrize("log_format", READERS)
def test_code_that_reads_has_the_hash_of_its_version(log_format: str) -> None:
    current = (VERSIONS[log_format], code_hash(*READERS[log_format]))
    assert current == HASHES[log_format], (
        f"The code that reads {log_format} has changed: {', '.join(modules_of(*READERS[log_format]))}. Do the same bytes of a "
        f"log give other rows now? Then raise {log_format.upper()}_READER_VERSION, so that warehouses read their logs again. "
        f"In any case, write what is current into HASHES: {current}"
    )


def test_code_of_other_formats_does_not_count() -> None:
    for log_format, starts in READERS.items():
        others = [f"traces.{name}." for name in READERS if name != log_format]
        assert not [module for module in modules_of(*starts) if module.startswith(tuple(others))]
    assert {"traces.pbs.scan", "traces.pbs.values", "traces.common.blocks"} <= set(modules_of(*READERS["pbs"]))


def test_comments_and_form_do_not_count_and_code_does() -> None:
    plain = outline(ast.parse('def f(x):\n    return {"a": x}\n'))
    assert (
        outline(ast.parse('def f(\n    x,\n):  # why\n    """What."""\n    return {\n        "a": x,\n    }\n'))
        == plain
    )
    assert outline(ast.parse('def f(x):\n    return {"b": x}\n')) != plain
    assert outline(ast.parse('def f(x):\n    return {"a": None}\n')) != plain
