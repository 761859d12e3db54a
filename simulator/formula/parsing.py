"""Scheduling priorities given as text, like PBS Professional's `job_sort_formula`: the highest value goes first.

`parse_formula` turns a Python expression over the attributes of a waiting job into a program for a small stack machine.
`evaluate` runs such a program inside compiled loops; nothing is compiled per formula. Rules: docs/semantics.md.
"""

from __future__ import annotations

import ast
import difflib
import math
import re
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.formula.machine import (
    ABS,
    ADD,
    AND_JUMP,
    AREA,
    CEIL,
    CLUSTER,
    CONST,
    DIV,
    EQ,
    ESTIMATE,
    EXP,
    FLOOR,
    FLOORDIV,
    FREE,
    GE,
    GT,
    JUMP,
    JUMP_IF_ZERO,
    LE,
    LOAD,
    LOG,
    LOG2,
    LOG10,
    LT,
    MAX,
    MAX_DEPTH,
    MIN,
    MOD,
    MUL,
    NE,
    NEG,
    NOT,
    NUM_SLOTS,
    OR_JUMP,
    POW,
    PROCS,
    QUEUED,
    ROUND,
    SQRT,
    STACK_SIZE,
    SUB,
    SUBMIT,
    USAGE,
    USER_SHARE,
    WAIT,
    evaluate,
)
from simulator.formula.text import FormulaError, check_characters, syntax_tree, too_deep

ATTRIBUTES: dict[str, int] = {
    "submit": SUBMIT,  # submit time, s, counted from the trace's origin
    "wait": WAIT,  # waited so far, s
    "eligible_time": WAIT,
    "estimate": ESTIMATE,  # what the scheduler believes that the job will run, s
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
"""Names as users write them, PBS Professional's beside ours, and the slot that `evaluate` reads each from."""

STATIC_SLOTS = frozenset({SUBMIT, ESTIMATE, PROCS, AREA, CLUSTER})
"""Slots that do not change while a job waits."""

PBS_ONLY = (
    "queue_priority", "job_priority", "fairshare_perc", "fair_share_perc", "fairshare_factor", "accrue_type", "mem",
    "vmem", "pmem", "cput", "mpiprocs", "ngpus", "nodect",
)  # fmt: skip
"""Terms of PBS Professional's formulas that a replay has no value for."""

MAX_OPS = 2000  # `a < b < c` writes b twice, so that a short text can still grow
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

DIVISIONS = (DIV, FLOORDIV, MOD)
LOGARITHMS = (LOG, LOG2, LOG10)


@dataclass(frozen=True)
class Formula:
    """A formula ready to be evaluated; two with the same text are equal.

    text: without blanks around it, every tab or line break a blank. ops: operation and argument, int64 (num_ops, 2).
    constants: float64 (num_constants,). columns: where in `text` an error of an operation is shown, counted from 1,
    int64 (num_ops,). uses: slots of the attributes that the text names.
    """

    text: str
    ops: NDArray[np.int64] = field(compare=False, repr=False)
    constants: NDArray[np.float64] = field(compare=False, repr=False)
    columns: NDArray[np.int64] = field(compare=False, repr=False)
    uses: frozenset[int] = field(compare=False)

    @property
    def is_static(self) -> bool:
        """True when the priority of a job does not change while it waits, so that a queue can stay sorted."""
        return self.uses <= STATIC_SLOTS

    @property
    def depends_on_free(self) -> bool:
        """True when every start of a job changes the priorities of the others."""
        return FREE in self.uses


def parse_formula(text: str) -> Formula:
    """Turns the text of a formula into a program for `evaluate`.

    Raises FormulaError for whatever is not a formula, and for a part without attributes that has no finite value: that
    part would fail for every job.
    """
    text = re.sub(r"[\t\r\n]", " ", text).strip(" ")
    check_characters(text)
    program = _compile(text)
    return Formula(
        text,
        *_arrays(program),
        columns=np.array([_blamed_column(text, step) for step in program], dtype=np.int64),
        uses=frozenset(int(step.argument) for step in program if step.op == LOAD),
    )


def explain_failure(formula: Formula, failed_op: int, slots: NDArray[np.float64]) -> FormulaError:
    """Puts a failure of `evaluate` into words, with the values of the attributes that the formula uses.

    failed_op: the index that `evaluate` returned. slots: the values that it read, float64 (NUM_SLOTS,).
    """
    step = _compile(formula.text)[failed_op]
    problem, remedy = _failure(formula.text, step, slots)
    names = {
        node.id for node in ast.walk(syntax_tree(formula.text)) if isinstance(node, ast.Name) and node.id in ATTRIBUTES
    }
    values = ", ".join(f"{name} = {slots[ATTRIBUTES[name]]:g}" for name in sorted(names))
    return FormulaError(formula.text, int(formula.columns[failed_op]), problem, f"For this job, {values}. {remedy}")


class _Step(NamedTuple):
    """One operation: `argument` is a number for CONST, a slot for LOAD, a distance for jumps; `node` is where it is from."""

    op: int
    argument: float
    node: ast.expr


def _compile(text: str) -> list[_Step]:
    program: list[_Step] = []
    _emit(syntax_tree(text), text, program, 1)
    return program


def _emit(node: ast.expr, text: str, program: list[_Step], depth: int) -> None:
    """Appends the steps that put the value of `node` on the stack; a part without attributes becomes one constant."""
    start = len(program)
    if depth > MAX_DEPTH:
        raise too_deep(text, _column(text, node))

    def emit(child: ast.expr) -> None:
        _emit(child, text, program, depth + 1)

    def add(op: int, argument: float = 0, source: ast.expr = node) -> None:
        if len(program) >= MAX_OPS:
            raise too_deep(text, _column(text, node))
        program.append(_Step(op, argument, source))

    def jump(op: int) -> int:
        add(op)
        return len(program) - 1

    def land(*jumps: int) -> None:
        for place in jumps:
            program[place] = program[place]._replace(argument=len(program) - place)

    match node:
        case ast.Constant():
            add(CONST, _number(node, text))
        case ast.Name():
            add(LOAD, _slot(node, text))
        case ast.UnaryOp(op=ast.UAdd()):
            emit(node.operand)
        case ast.UnaryOp(op=ast.USub() | ast.Not()):
            emit(node.operand)
            add(NEG if isinstance(node.op, ast.USub) else NOT)
        case ast.BinOp() if type(node.op) in BINARY:
            emit(node.left)
            divisor = len(program)
            emit(node.right)
            add(BINARY[type(node.op)])
            by_zero = len(program) == divisor + 2 and program[divisor].op == CONST and program[divisor].argument == 0
            if by_zero and program[-1].op in DIVISIONS:
                raise _constant_failure(text, program[-1])
        case ast.Compare() if all(type(op) in COMPARISONS for op in node.ops):
            jumps = []
            emit(node.left)
            for op, right in zip(node.ops, node.comparators, strict=True):
                first = len(program)
                emit(right)
                operand = program[first:]
                add(COMPARISONS[type(op)])
                if right is not node.comparators[-1]:  # a < b < c is a < b and b < c, with the steps of b copied
                    jumps.append(jump(AND_JUMP))
                    for step in operand:
                        add(*step)
            land(*jumps)
        case ast.BoolOp():
            jumps = []
            for value in node.values:
                if value is not node.values[0]:
                    jumps.append(jump(AND_JUMP if isinstance(node.op, ast.And) else OR_JUMP))
                emit(value)
            land(*jumps)
        case ast.IfExp():
            emit(node.test)
            to_else = jump(JUMP_IF_ZERO)
            emit(node.body)
            to_end = jump(JUMP)
            land(to_else)
            emit(node.orelse)
            land(to_end)
        case ast.Call(func=ast.Name(id=name), keywords=[]):
            function = _function(name, node, text)
            for count, argument in enumerate(node.args):
                emit(argument)
                if count > 0 or len(node.args) == 1:
                    add(function)
        case _:
            raise _refused(node, text)

    steps = program[start:]
    if len(steps) > 1 and all(step.op != LOAD for step in steps):
        # Folded by `evaluate` itself: Python would compute 10**10**10 to the last digit.
        nothing = np.zeros(NUM_SLOTS)
        value, failed = evaluate(*_arrays(steps), nothing, np.empty(STACK_SIZE))
        if failed >= 0:
            raise _constant_failure(text, steps[failed])
        program[start:] = [_Step(CONST, value, node)]


def _arrays(program: list[_Step]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    constants = [step.argument for step in program if step.op == CONST]
    places = iter(range(len(constants)))
    ops = [(step.op, next(places) if step.op == CONST else int(step.argument)) for step in program]
    return np.array(ops, dtype=np.int64), np.array(constants, dtype=np.float64)


def _number(node: ast.Constant, text: str) -> float:
    column = node.col_offset + 1
    if isinstance(node.value, bool) or not isinstance(node.value, int | float):
        shown = _source(node, text)
        raise FormulaError(
            text, column, f"`{shown}` is not a number of a formula", "Write a number such as 1, 0.5 or 1e6."
        )
    try:
        value = float(node.value)
    except OverflowError:  # of an integer; of a decimal number, Python makes infinity
        value = math.inf
    if not math.isfinite(value):
        raise FormulaError(text, column, "this number is too large", "Numbers reach to 1.7e308: write a smaller one.")
    return value


def _slot(node: ast.Name, text: str) -> int:
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


def _function(name: str, node: ast.Call, text: str) -> int:
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


def _refused(node: ast.expr, text: str) -> FormulaError:
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
    return FormulaError(text, _column(text, node), f"{what} has no meaning in a formula", remedy)


def _source(node: ast.expr, text: str) -> str:
    source = text[node.col_offset : node.end_col_offset]
    return source if len(source) <= 40 else f"{source[:40]}..."


def _operands(node: ast.expr) -> list[ast.expr]:
    match node:
        case ast.BinOp():
            return [node.left, node.right]
        case ast.Call():
            return node.args
        case _:
            return []


def _column(text: str, node: ast.expr) -> int:
    """Where the operator of `node` stands, or where the node begins, counted from 1."""
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


def _blamed_column(text: str, step: _Step) -> int:
    """Where the caret of a failure stands: a divisor, what a root or logarithm is of, else the operator or the name."""
    if step.op in DIVISIONS or step.op in LOGARITHMS or step.op == SQRT:
        return _operands(step.node)[-1].col_offset + 1
    return step.node.col_offset + 1 if step.op == CONST else _column(text, step.node)


def _constant_failure(text: str, step: _Step) -> FormulaError:
    problem, _ = _failure(text, step, np.zeros(NUM_SLOTS))
    return FormulaError(text, _blamed_column(text, step), problem, "It fails for every job: change the formula.")


def _failure(text: str, step: _Step, slots: NDArray[np.float64]) -> tuple[str, str]:
    """What is wrong with a step that has no finite value, and what to do."""
    if step.op == LOAD:
        return (
            f"`{_source(step.node, text)}` is {slots[int(step.argument)]}",
            "This is a mistake of tracehouse: report it.",
        )
    operands = _operands(step.node)
    values = [_value(operand, text, slots) for operand in operands]
    first, last = _source(operands[0], text), _source(operands[-1], text)
    told = [
        f"`{_source(operand, text)}` is {value:.10g}"
        for operand, value in zip(operands, values, strict=True)
        if not isinstance(operand, ast.Constant)
    ]
    known = f": {', '.join(told)}" if told else ""
    if step.op in DIVISIONS and values[1] == 0:
        remedy = f"Guard it: `... if {last} != 0 else 0`."
        if isinstance(operands[1], ast.Name):  # 1 is little for every attribute but a share
            remedy = f"Write max({last}, {0.001 if ATTRIBUTES[last] == USER_SHARE else 1}) in its place."
        return f"division by zero: `{last}` is 0", remedy
    if step.op in LOGARITHMS and values[0] <= 0:
        return "only a number above 0 has a logarithm" + known, f"Write max({last}, 1) in its place."
    if step.op == SQRT and values[0] < 0:
        return "only a number from 0 up has a square root" + known, f"Write max({last}, 0) in its place."
    if step.op == POW and values[0] == 0 and values[1] < 0:
        return "0 has no negative power" + known, f"Write max({first}, 1) in its place."
    if step.op == POW and values[0] < 0 and not values[1].is_integer():
        return "a number below 0 has only whole powers" + known, f"Write max({first}, 0) in its place."
    return "the result is too large" + known, "Numbers reach to 1.7e308: scale it down."


def _value(node: ast.expr, text: str, slots: NDArray[np.float64]) -> float:
    program: list[_Step] = []
    _emit(node, text, program, 1)
    return float(evaluate(*_arrays(program), slots, np.empty(STACK_SIZE))[0])
