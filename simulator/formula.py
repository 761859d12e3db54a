"""Scheduling priorities given as text, like PBS Professional's `job_sort_formula`: the highest value goes first.

`parse_formula` turns a Python expression over the attributes of a waiting job into a program for a small stack machine.
`evaluate` runs such a program inside compiled loops; nothing is compiled per formula. Rules: docs/semantics.md.
"""

from __future__ import annotations

import ast
import difflib
import math
import re
import unicodedata
import warnings
from dataclasses import dataclass, field
from typing import NamedTuple

import numba
import numpy as np
from numpy.typing import NDArray

SUBMIT, WAIT, ESTIMATE, PROCS, AREA, USAGE, USER_SHARE, FREE, CLUSTER, QUEUED = range(10)
NUM_SLOTS = 10

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

MAX_LENGTH = 1000  # characters
MAX_DEPTH = 100  # operations inside one another; keeps parsing clear of Python's recursion limit
MAX_OPS = 2000  # `a < b < c` writes b twice, so that a short text can still grow
STACK_SIZE = MAX_DEPTH + 2
"""Length of the stack that `evaluate` needs: every operation around a value holds back at most one other."""

# fmt: off
(
    CONST, LOAD, ADD, SUB, MUL, DIV, FLOORDIV, MOD, POW, MIN, MAX, LT, LE, GT, GE, EQ, NE,
    NEG, NOT, ABS, SQRT, LOG, LOG2, LOG10, EXP, FLOOR, CEIL, ROUND,
    JUMP, JUMP_IF_ZERO, AND_JUMP, OR_JUMP,
) = range(32)
# fmt: on
"""Operations. The argument of CONST and LOAD is an index, that of a jump the distance to go on from the jump itself."""

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

# What people write for an operator, or what a word processor makes of one.
MEANT = {"^": "**", "×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "≤": "<=", "≥": ">=", "≠": "!=", "&": "and"} | {
    "|": "or", "~": "not", "²": "**2", "³": "**3", "√": "sqrt(...)", "\xa0": "a plain blank",
    "?": "a if condition else b", ":": "a if condition else b", "[": "(", "{": "(", "]": ")", "}": ")",
}  # fmt: skip

# What Python's parser says, and how we say it.
SYNTAX_ERRORS = (
    ("never closed", "this parenthesis is never closed", "Add the missing `)`."),
    ("unmatched", "this parenthesis closes nothing", "Remove it, or add the missing `(`."),
    ("'else'", "an `if` without an `else`", "Write `a if condition else b`."),
    ("literal", "this is not a number", "Numbers look like 2, 0.5 or 1e6. Write 2*procs, not 2procs."),
    ("comma", "an operator or a comma is missing in what begins here", "Write 2*procs, not 2 procs."),
)


class FormulaError(ValueError):
    """A formula that cannot be understood or computed: shows it with a caret, and says what is wrong and what to do.

    text: the formula. column: where the caret stands, counted from 1. problem, remedy: what is wrong, what to do.
    """

    def __init__(self, text: str, column: int, problem: str, remedy: str) -> None:
        super().__init__(text, column, problem, remedy)
        self.text, self.column, self.problem, self.remedy = text, column, problem, remedy

    def __str__(self) -> str:
        start = max(0, self.column - 60)  # a long formula is shown around the caret, on one line of a terminal
        end = start + 100
        before, after = "..." * (start > 0), "..." * (end < len(self.text))
        shown = "".join(letter if letter.isprintable() else "?" for letter in self.text[start:end])
        caret = " " * (len(before) + self.column - 1 - start) + "^"
        return f"{self.problem} (column {self.column})\n  {before}{shown}{after}\n  {caret}\n{self.remedy}"


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


@numba.njit(cache=True, nogil=True, error_model="numpy")
def evaluate(ops, constants, slots, stack):
    """Runs the program of a `Formula`; returns (value, failed_op).

    ops int64 (num_ops, 2), constants float64 (num_constants,): of the formula. slots: float64 (NUM_SLOTS,).
    stack: float64 (STACK_SIZE,), to work in. failed_op: -1, or the index of the operation that has no finite value,
    which `explain_failure` puts into words; value is nan then.
    """
    top = 0.0  # the top of the stack; stack[0] is never more than the value below the first one
    depth = 0  # values on `stack`
    pc = 0
    while pc < len(ops):
        op = ops[pc, 0]
        argument = ops[pc, 1]
        if op <= LOAD:
            stack[depth] = top
            depth += 1
            top = constants[argument] if op == CONST else slots[argument]
        elif op <= NE:
            depth -= 1
            left = stack[depth]
            if op == ADD:
                top = left + top
            elif op == SUB:
                top = left - top
            elif op == MUL:
                top = left * top
            elif op == DIV:
                top = left / top
            elif op == FLOORDIV:
                top = left // top if top != 0.0 else np.nan
            elif op == MOD:
                top = left % top if top != 0.0 else np.nan
            elif op == POW:
                top = left**top
            elif op == MIN:
                top = min(left, top)
            elif op == MAX:
                top = max(left, top)
            elif op == LT:
                top = 1.0 if left < top else 0.0
            elif op == LE:
                top = 1.0 if left <= top else 0.0
            elif op == GT:
                top = 1.0 if left > top else 0.0
            elif op == GE:
                top = 1.0 if left >= top else 0.0
            elif op == EQ:
                top = 1.0 if left == top else 0.0
            else:
                top = 1.0 if left != top else 0.0
        elif op <= ROUND:
            if op == NEG:
                top = -top
            elif op == NOT:
                top = 1.0 if top == 0.0 else 0.0
            elif op == ABS:
                top = abs(top)
            elif op == SQRT:
                top = math.sqrt(top)
            elif op == LOG:
                top = math.log(top)
            elif op == LOG2:
                top = math.log2(top)
            elif op == LOG10:
                top = math.log10(top)
            elif op == EXP:
                top = math.exp(top)
            elif op == FLOOR:
                top = np.floor(top)
            elif op == CEIL:
                top = np.ceil(top)
            else:
                top = np.rint(top)
        elif op == JUMP:
            pc += argument
            continue
        else:
            # JUMP_IF_ZERO drops the condition; AND_JUMP and OR_JUMP keep it where they jump: it is the result
            jump = (top == 0.0) != (op == OR_JUMP)
            if op == JUMP_IF_ZERO or not jump:
                depth -= 1
                top = stack[depth]
            pc += argument if jump else 1
            continue
        if not math.isfinite(top):  # IEEE arithmetic turns every failure into inf or nan, so that one test finds all
            return np.nan, pc
        pc += 1
    return top, -1


def parse_formula(text: str) -> Formula:
    """Turns the text of a formula into a program for `evaluate`.

    Raises FormulaError for whatever is not a formula, and for a part without attributes that has no finite value: that
    part would fail for every job.
    """
    text = re.sub(r"[\t\r\n]", " ", text).strip(" ")
    _check_characters(text)
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
    names = {node.id for node in ast.walk(_tree(formula.text)) if isinstance(node, ast.Name) and node.id in ATTRIBUTES}
    values = ", ".join(f"{name} = {slots[ATTRIBUTES[name]]:g}" for name in sorted(names))
    return FormulaError(formula.text, int(formula.columns[failed_op]), problem, f"For this job, {values}. {remedy}")


class _Step(NamedTuple):
    """One operation: `argument` is a number for CONST, a slot for LOAD, a distance for jumps; `node` is where it is from."""

    op: int
    argument: float
    node: ast.expr


def _check_characters(text: str) -> None:
    if not text:
        raise FormulaError(text, 1, "the formula is empty", "Write one, for example 10*eligible_time/walltime + ncpus.")
    if len(text) > MAX_LENGTH:
        raise FormulaError(
            text,
            MAX_LENGTH + 1,
            f"the formula has {len(text)} characters",
            f"At most {MAX_LENGTH} are read: shorten it.",
        )
    if stray := re.search(r"[^A-Za-z0-9_ .,()+*/%<>=!-]", text):
        letter = stray.group()
        name = unicodedata.name(letter, "a character")
        shown = f"`{letter}`" if letter.isprintable() and letter.isascii() else f"{name} (U+{ord(letter):04X})"
        remedy = (
            f"Did you mean `{MEANT[letter]}`?" if letter in MEANT else "A formula has numbers, names and operators."
        )
        raise FormulaError(text, stray.start() + 1, f"{shown} does not belong in a formula", remedy)
    if assignment := re.search(r"(?<![<>=!])=(?!=)", text):
        raise FormulaError(text, assignment.start() + 1, "a formula cannot set a value", "To compare, write `==`.")


def _tree(text: str) -> ast.expr:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python warns of "1if", which it understands
            return ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise _syntax_error(text, error) from None
    except (ValueError, MemoryError, RecursionError):  # Python's own limits
        raise _too_deep(text, 1) from None


def _syntax_error(text: str, error: SyntaxError) -> FormulaError:
    column = error.offset or len(text) + 1  # Python says 0 where it misses something at the end
    if "too many nested" in error.msg:
        return _too_deep(text, column)
    for said, problem, remedy in SYNTAX_ERRORS:
        if said in error.msg:
            return FormulaError(text, column, problem, remedy)
    if column > len(text):
        return FormulaError(text, column, "the formula ends too early", "Finish it, or remove what comes last.")
    return FormulaError(
        text, column, "this does not belong here", "Operators stand between two values: 2*procs + wait."
    )


def _too_deep(text: str, column: int) -> FormulaError:
    remedy = f"At most {MAX_DEPTH} operations may be nested or in one chain: group a long sum in parentheses."
    return FormulaError(text, column, "the formula is nested too deeply", remedy)


def _compile(text: str) -> list[_Step]:
    program: list[_Step] = []
    _emit(_tree(text), text, program, 1)
    return program


def _emit(node: ast.expr, text: str, program: list[_Step], depth: int) -> None:
    """Appends the steps that put the value of `node` on the stack; a part without attributes becomes one constant."""
    start = len(program)
    if depth > MAX_DEPTH:
        raise _too_deep(text, _column(text, node))

    def emit(child: ast.expr) -> None:
        _emit(child, text, program, depth + 1)

    def add(op: int, argument: float = 0, source: ast.expr = node) -> None:
        if len(program) >= MAX_OPS:
            raise _too_deep(text, _column(text, node))
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
