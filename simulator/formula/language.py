"""The language of formulas: attributes, functions and operators, and errors for everything else."""

from __future__ import annotations

import ast
import difflib
import math

from simulator.formula.machine import (
    ABS,
    ADD,
    AREA,
    CEIL,
    CLUSTER,
    DIV,
    EQ,
    ESTIMATE,
    EXP,
    FLOOR,
    FLOORDIV,
    FREE,
    GE,
    GT,
    LE,
    LOG,
    LOG2,
    LOG10,
    LT,
    MAX,
    MIN,
    MOD,
    MUL,
    NE,
    POW,
    PROCS,
    QUEUED,
    ROUND,
    SQRT,
    SUB,
    SUBMIT,
    USAGE,
    USER_SHARE,
    WAIT,
)
from simulator.formula.text import FormulaError

ATTRIBUTES: dict[str, int] = {
    "submit": SUBMIT,  # submit time, s, counted from the trace's origin
    "wait": WAIT,  # waited so far, s
    "eligible_time": WAIT,
    "estimate": ESTIMATE,  # run time that the scheduler uses, s
    "walltime": ESTIMATE,
    "procs": PROCS,  # processors of the job
    "ncpus": PROCS,
    "area": AREA,  # estimate * procs, processor-seconds
    "usage": USAGE,  # decayed processor-seconds of the job's user
    "fairshare_usage": USAGE,
    "user_share": USER_SHARE,  # usage / usage of all users, 0 to 1
    "fairshare_tree_usage": USER_SHARE,
    "free": FREE,  # free processors now
    "cluster": CLUSTER,  # processors of the cluster
    "queued": QUEUED,  # jobs that wait now
}
"""Names as users write them, PBS Professional's next to ours, and the slot that `evaluate` reads for each."""

STATIC_SLOTS = frozenset({SUBMIT, ESTIMATE, PROCS, AREA, CLUSTER})
"""Slots that do not change while a job waits."""

PBS_ONLY = (
    "queue_priority",
    "job_priority",
    "fairshare_perc",
    "fair_share_perc",
    "fairshare_factor",
    "accrue_type",
    "mem",
    "vmem",
    "pmem",
    "cput",
    "mpiprocs",
    "ngpus",
    "nodect",
)
"""Terms of PBS Professional's formulas for which a replay has no value."""

BINARY: dict[type[ast.AST], int] = {
    ast.Add: ADD,
    ast.Sub: SUB,
    ast.Mult: MUL,
    ast.Div: DIV,
    ast.FloorDiv: FLOORDIV,
    ast.Mod: MOD,
    ast.Pow: POW,
}
COMPARISONS: dict[type[ast.AST], int] = {ast.Lt: LT, ast.LtE: LE, ast.Gt: GT, ast.GtE: GE, ast.Eq: EQ, ast.NotEq: NE}
FUNCTIONS = {
    "min": MIN,
    "max": MAX,
    "pow": POW,
    "abs": ABS,
    "sqrt": SQRT,
    "log": LOG,
    "log2": LOG2,
    "log10": LOG10,
    "exp": EXP,
    "floor": FLOOR,
    "ceil": CEIL,
    "round": ROUND,
}

DIVISION_OPS = (DIV, FLOORDIV, MOD)
LOGARITHM_OPS = (LOG, LOG2, LOG10)


def number_of(node: ast.Constant, text: str) -> float:
    """The value of a number. Raises FormulaError for text, for true and false, and for a number that no float64 can hold."""
    column = node.col_offset + 1
    if isinstance(node.value, bool) or not isinstance(node.value, int | float):
        shown = source_of(node, text)
        raise FormulaError(
            text, column, f"`{shown}` is not a number of a formula", "Write a number such as 1, 0.5 or 1e6."
        )
    try:
        value = float(node.value)
    except OverflowError:  # of an integer. Of a decimal number, Python makes infinity
        value = math.inf
    if not math.isfinite(value):
        raise FormulaError(text, column, "this number is too large", "Numbers reach to 1.7e308: write a smaller one.")
    return value


def slot_of(node: ast.Name, text: str) -> int:
    """The slot of an attribute. Raises FormulaError for a name that is not an attribute."""
    if node.id in ATTRIBUTES:
        return ATTRIBUTES[node.id]
    column = node.col_offset + 1
    if node.id in FUNCTIONS:
        raise FormulaError(text, column, f"`{node.id}` is a function", f"Write what it is of: {node.id}(...).")
    if node.id.lower() in PBS_ONLY:
        remedy = f"Leave it out, or write a number in its place. Attributes: {', '.join(ATTRIBUTES)}."
        raise FormulaError(text, column, f"`{node.id}` is a term of PBS that a replay has no value for", remedy)
    if node.id.lower() in ("nan", "inf", "infinity"):
        raise FormulaError(
            text, column, f"`{node.id}` is not a number of a formula", "Write a large number such as 1e300."
        )
    remedy = f"{_nearest(node.id, [*ATTRIBUTES, *FUNCTIONS])}Attributes: {', '.join(ATTRIBUTES)}."
    raise FormulaError(text, column, f"there is no attribute `{node.id}`", remedy)


def function_of(name: str, node: ast.Call, text: str) -> int:
    """The operation of a function. Raises FormulaError for an unknown one, and for a wrong number of values."""
    column = node.col_offset + 1
    if name in ATTRIBUTES:
        raise FormulaError(
            text, column, f"`{name}` is an attribute, not a function", f"To multiply, write {name}*(...)."
        )
    if name not in FUNCTIONS:
        remedy = f"{_nearest(name, list(FUNCTIONS))}Functions: {', '.join(FUNCTIONS)}."
        raise FormulaError(text, column, f"there is no function `{name}`", remedy)
    given = len(node.args)
    if name == "log" and given == 2:
        raise FormulaError(text, column, "`log` takes 1 value, not 2", "For another base, write log(x) / log(base).")
    if name in ("min", "max") and given < 2:
        raise FormulaError(text, column, f"`{name}` takes 2 values or more, not {given}", f"Write {name}(a, b).")
    expected = 2 if name == "pow" else 1
    if name not in ("min", "max") and given != expected:
        remedy = f"Write {name}({', '.join('ab'[:expected])})."
        raise FormulaError(text, column, f"`{name}` takes {expected} value{'s' * (expected > 1)}, not {given}", remedy)
    return FUNCTIONS[name]


def _nearest(name: str, names: list[str]) -> str:
    near = difflib.get_close_matches(name.lower(), names, n=1)
    return f"Did you mean `{near[0]}`? " if near else ""


def refused(node: ast.expr, text: str) -> FormulaError:
    """What to raise for a piece of Python that formulas do not have."""
    match node:
        case ast.Attribute():
            what = "a dot after a name"
        case ast.Tuple():
            what = "a comma outside of a function" if node.elts else "an empty pair of parentheses"
        case ast.Call():
            what = "this call"
        case ast.BinOp() | ast.UnaryOp() | ast.Compare():
            what = "this operator"
        case _:
            what = "this expression"
    remedy = (
        "Operators: + - * / // % ** < <= > >= == != and or not, a if condition else b. "
        f"Functions: {', '.join(FUNCTIONS)}."
    )
    return FormulaError(text, caret_column(text, node), f"{what} has no meaning in a formula", remedy)


def source_of(node: ast.expr, text: str) -> str:
    """The text of a node, shortened to 40 characters."""
    source = text[node.col_offset : node.end_col_offset]
    return source if len(source) <= 40 else f"{source[:40]}..."


def caret_column(text: str, node: ast.expr) -> int:
    """The column of the operator of `node`, or of the beginning of the node, counted from 1."""
    match node:
        case ast.BinOp(left=before) | ast.Attribute(value=before) | ast.Tuple(elts=[before, *_]):
            pass
        case ast.Compare():
            unknown = next((place for place, op in enumerate(node.ops) if type(op) not in COMPARISONS), 0)
            before = [node.left, *node.comparators][unknown]
        case _:
            return node.col_offset + 1
    assert before.end_col_offset is not None
    end = before.end_col_offset
    return end + len(text[end:]) - len(text[end:].lstrip(" )")) + 1
