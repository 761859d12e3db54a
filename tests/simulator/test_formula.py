"""Formulas: the values of Python's own eval, lazily, and an error that points at the place for everything else."""

from __future__ import annotations

import ast
import math
import pickle

import numba
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from simulator.formula import ATTRIBUTES, PBS_ONLY, Formula, explain_failure, parse_formula
from simulator.formula_machine import FREE, MAX_DEPTH, NUM_SLOTS, PROCS, STACK_SIZE, USER_SHARE, WAIT, evaluate
from simulator.formula_text import MAX_LENGTH, FormulaError

# In this order the slots are 100, 101, ...: no two attributes are equal.
SLOTS = np.arange(NUM_SLOTS, dtype=np.float64) + 100


def slots_with(**values: float) -> np.ndarray:
    slots = SLOTS.copy()
    for name, value in values.items():
        slots[ATTRIBUTES[name]] = value
    return slots


def run(formula: Formula, slots: np.ndarray = SLOTS) -> tuple[float, int]:
    return evaluate(formula.ops, formula.constants, slots, np.full(STACK_SIZE, np.nan))


def value(text: str, **values: float) -> float:
    number, failed = run(parse_formula(text), slots_with(**values))
    assert failed == -1
    return number


def failure(text: str, **values: float) -> FormulaError:
    formula, slots = parse_formula(text), slots_with(**values)
    number, failed = run(formula, slots)
    assert failed >= 0
    assert math.isnan(number)
    return explain_failure(formula, failed, slots)


# ---- Python's own values ---------------------------------------------------------------------------------------------


def finite(number: float) -> float:
    """What a formula demands of every step; Python alone goes on with infinity, and with complex roots."""
    if isinstance(number, complex) or not math.isfinite(number):
        raise OverflowError
    return number


PYTHON = {name: getattr(math, name) for name in ("sqrt", "log", "log2", "log10", "exp")} | {
    "min": min,
    "max": max,
    "abs": abs,
    "pow": pow,
    "floor": lambda x: float(math.floor(x)),  # Python's are integers, which do not overflow
    "ceil": lambda x: float(math.ceil(x)),
    "round": lambda x: float(round(x)),
    "finite": finite,
    "__builtins__": {},
}


class Checked(ast.NodeTransformer):
    """Puts `finite(...)` around everything that computes."""

    def visit(self, node: ast.AST) -> ast.AST:
        node = self.generic_visit(node)
        if isinstance(node, ast.BinOp | ast.Call | ast.UnaryOp):
            return ast.Call(ast.Name("finite", ast.Load()), [node], [])
        return node


def python_value(text: str, slots: np.ndarray) -> float | None:
    """The value by Python's own eval; None where Python raises or a step is not finite."""
    tree = ast.fix_missing_locations(Checked().visit(ast.parse(text, mode="eval")))
    names = {name: float(slots[slot]) for name, slot in ATTRIBUTES.items()}
    try:
        return float(eval(compile(tree, "formula", "eval"), PYTHON | names))
    except (ArithmeticError, ValueError):
        return None


def has_failing_constant(text: str) -> bool:
    """True when some part without attributes fails, or something is divided by such a part of value 0."""
    for node in ast.walk(ast.parse(text, mode="eval").body):
        if not isinstance(node, ast.expr):
            continue
        if any(isinstance(part, ast.Name) and part.id in ATTRIBUTES for part in ast.walk(node)):
            divides = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.FloorDiv | ast.Mod)
            constant = divides and not any(
                isinstance(part, ast.Name) and part.id in ATTRIBUTES for part in ast.walk(node.right)
            )
            if constant and not python_value(ast.unparse(node.right), SLOTS):
                return True
        elif not isinstance(node, ast.Name) and python_value(ast.unparse(node), SLOTS) is None:
            return True
    return False


def binary(operands: st.SearchStrategy[ast.expr]) -> st.SearchStrategy[ast.expr]:
    operators = st.sampled_from([ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow])
    return st.builds(lambda left, op, right: ast.BinOp(left, op(), right), operands, operators, operands)


def compared(operands: st.SearchStrategy[ast.expr]) -> st.SearchStrategy[ast.expr]:
    operators = st.sampled_from([ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq])
    rest = st.lists(st.tuples(operators, operands), min_size=1, max_size=3)
    return st.builds(
        lambda left, rest: ast.Compare(left, [op() for op, _ in rest], [r for _, r in rest]), operands, rest
    )


def called(operands: st.SearchStrategy[ast.expr]) -> st.SearchStrategy[ast.expr]:
    one = st.tuples(
        st.sampled_from(["abs", "sqrt", "log", "log2", "log10", "exp", "floor", "ceil", "round"]),
        st.lists(operands, min_size=1, max_size=1),
    )
    two = st.tuples(st.just("pow"), st.lists(operands, min_size=2, max_size=2))
    more = st.tuples(st.sampled_from(["min", "max"]), st.lists(operands, min_size=2, max_size=4))
    return (one | two | more).map(lambda call: ast.Call(ast.Name(call[0]), call[1], []))


def combined(operands: st.SearchStrategy[ast.expr]) -> st.SearchStrategy[ast.expr]:
    unary = st.builds(lambda op, x: ast.UnaryOp(op(), x), st.sampled_from([ast.USub, ast.UAdd, ast.Not]), operands)
    booleans = st.builds(
        lambda op, values: ast.BoolOp(op(), values),
        st.sampled_from([ast.And, ast.Or]),
        st.lists(operands, min_size=2, max_size=4),
    )
    conditional = st.builds(ast.IfExp, operands, operands, operands)
    return binary(operands) | compared(operands) | called(operands) | unary | booleans | conditional


NUMBERS = st.sampled_from([0.0, 0.5, 1.0, 2.0, 3.0, 10.0, 1e6]) | st.floats(0, 1e300, allow_nan=False)
LEAVES = st.sampled_from(list(ATTRIBUTES)).map(ast.Name) | NUMBERS.map(ast.Constant)
# Written by Python itself, with as few parentheses as it takes: precedence is tested too.
FORMULAS = st.recursive(LEAVES, combined, max_leaves=15).map(ast.unparse)
VALUES = st.sampled_from([0.0, 0.5, 1.0, 2.0, -1.0, -2.5, 64.0]) | st.integers(-1000, 10**7).map(float)


@settings(deadline=None, max_examples=1000)
@given(text=FORMULAS, values=st.lists(VALUES, min_size=NUM_SLOTS, max_size=NUM_SLOTS))
def test_values_are_those_of_pythons_eval(text: str, values: list[float]) -> None:
    slots = np.array(values)
    try:
        formula = parse_formula(text)
    except FormulaError:
        assert len(text) > MAX_LENGTH or has_failing_constant(text)
        return
    number, failed = run(formula, slots)
    expected = python_value(text, slots)
    if expected is None:
        assert failed >= 0
        error = explain_failure(formula, failed, slots)
        assert error.column == formula.columns[failed]
        assert str(error).splitlines()[2].endswith("^")
    else:
        assert failed == -1
        assert number == pytest.approx(expected, rel=1e-12, abs=0)


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes(name: str) -> None:
    assert value(name) == SLOTS[ATTRIBUTES[name]]
    assert parse_formula(name).uses == {ATTRIBUTES[name]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10*eligible_time/walltime + ncpus", 10 * 101 / 102 + 103),
        ("-2**2", -4),
        ("2**3**2", 512),
        ("-7//2", -4),
        ("-7 % 3", 2),
        ("7 % -3", -2),
        ("round(0.5) + round(2.5)", 2),
        ("1 < 2 < 3", 1),
        ("1 < 3 < 2", 0),
        ("3 and 5", 5),
        ("0 or 7", 7),
        ("not wait", 0),
        ("1_000 + 0x10 + .5", 1016.5),
        ("max(1, 5, 3) - min(4, 2)", 3),
        ("log(exp(1)) + log2(8) + log10(1000)", 7),
        ("(1 if wait > 100 else 2) * 10", 10),
        (" 1\t+\n1\r\n", 2),
        ("1if wait else 2", 1),
    ],
)
def test_examples(text: str, expected: float) -> None:
    assert value(text) == pytest.approx(expected)


def test_what_is_not_needed_is_not_computed() -> None:
    assert value("estimate/wait if wait > 0 else 0", wait=0) == 0
    assert value("0 if wait == 0 else estimate/wait", wait=0) == 0
    assert value("wait > 0 and estimate/wait > 1", wait=0) == 0
    assert value("wait == 0 or estimate/wait > 1", wait=0) == 1
    assert value("0 > wait > 1/wait", wait=0) == 0
    assert failure("estimate/wait if wait == 0 else 0", wait=0).column == 10


def test_constant_parts_are_computed_once() -> None:
    formula = parse_formula("wait * (2 ** 10 / sqrt(4) + (3 if 1 < 2 else 4))")
    assert len(formula.ops) == 3
    assert formula.constants.tolist() == [515]


def test_what_a_formula_depends_on() -> None:
    assert parse_formula("-submit + area/cluster + walltime*ncpus").is_static
    for name in ("wait", "usage", "user_share", "free", "queued"):
        assert not parse_formula(f"procs + {name}").is_static
    assert parse_formula("free - procs").depends_on_free
    assert not parse_formula("wait").depends_on_free
    assert parse_formula("wait if free > ncpus else fairshare_tree_usage").uses == {WAIT, FREE, PROCS, USER_SHARE}


def test_equal_texts_are_equal_formulas() -> None:
    assert parse_formula(" wait") == parse_formula("wait\n")
    assert len({parse_formula("wait"), parse_formula("wait"), parse_formula("eligible_time")}) == 2


# ---- errors ----------------------------------------------------------------------------------------------------------

REFUSED = [
    # formula, caret, part of the problem, part of the remedy
    ("", "^", "empty", "for example"),
    ("10*walltme + 1", "   ^", "no attribute `walltme`", "Did you mean `walltime`? Attributes: submit, wait,"),
    ("NCPUS", "^", "no attribute", "Did you mean `ncpus`?"),
    ("wait + zzz", "       ^", "no attribute `zzz`", "Attributes: submit"),
    ("wait + queue_priority", "       ^", "term of PBS", "Leave it out"),
    ("2 * sqrt", "    ^", "is a function", "sqrt(...)"),
    ("2 * wait(3)", "    ^", "not a function", "wait*(...)"),
    ("1 + sqr(2)", "    ^", "no function `sqr`", "Did you mean `sqrt`?"),
    ("1 + print(2)", "    ^", "no function `print`", "Functions: min, max"),
    ("1 + max(wait)", "    ^", "2 values or more, not 1", "max(a, b)"),
    ("log(wait, 2)", "^", "1 value, not 2", "log(x) / log(base)"),
    ("round(wait, 2)", "^", "1 value, not 2", "round(a)"),
    ("pow(wait)", "^", "2 values, not 1", "pow(a, b)"),
    ("sqrt()", "^", "1 value, not 0", "sqrt(a)"),
    ("2*(wait + 1", "  ^", "never closed", "`)`"),
    ("2*max(wait, 1", "     ^", "never closed", "`)`"),
    ("wait + 1)", "        ^", "closes nothing", "Remove it"),
    ("wait +", "      ^", "ends too early", "Finish it"),
    ("* wait", "^", "does not belong here", "between two values"),
    ("2 wait", "  ^", "does not belong here", "2*procs"),
    ("min(1 2)", "    ^", "operator or a comma is missing", "2*procs"),
    ("1 + 2wait", "    ^", "not a number", "2*procs"),
    ("1 + 08", "    ^", "not a number", "0.5"),
    ("1 if wait", "^", "without an `else`", "a if condition else b"),
    ("wait = 3", "     ^", "cannot set a value", "`==`"),
    ("max(wait, key=1)", "             ^", "cannot set a value", "`==`"),
    ("wait ^ 2", "     ^", "`^` does not belong", "Did you mean `**`?"),
    ("wait & 1", "     ^", "`&` does not belong", "Did you mean `and`?"),
    ("2 × wait", "  ^", "MULTIPLICATION SIGN (U+00D7)", "Did you mean `*`?"),
    ("wait\xa0+ 1", "    ^", "NO-BREAK SPACE", "a plain blank"),
    ("1 + wаit", "     ^", "CYRILLIC SMALL LETTER A", "numbers, names and operators"),
    ("wait # often", "     ^", "`#` does not belong", "numbers, names and operators"),
    ("wait\0", "    ^", "U+0000", "numbers, names and operators"),
    ("wait\x1b[31m", "    ^", "U+001B", "numbers, names and operators"),
    ("wait\udcff", "    ^", "U+DCFF", "numbers, names and operators"),
    ("wait + 1e999", "       ^", "too large", "1.7e308"),
    ("wait + " + "9" * 400, "       ^", "too large", "1.7e308"),
    ("2*nan", "  ^", "not a number of a formula", "1e300"),
    ("2*inf", "  ^", "not a number of a formula", "1e300"),
    ("2*True", "  ^", "not a number of a formula", "1"),
    ("2*3j", "  ^", "not a number of a formula", "1"),
    ("wait << 2", "     ^", "this operator", "Operators: +"),
    ("1 < wait in 2", "         ^", "this operator", "Operators: +"),
    ("(wait).real", "      ^", "a dot after a name", "Operators: +"),
    ("wait, procs", "    ^", "a comma outside", "Operators: +"),
    ("2*()", "  ^", "an empty pair", "Operators: +"),
    ("wait / 0", "       ^", "division by zero", "for every job"),
    ("wait // (3 - 3)", "         ^", "division by zero: `3 - 3` is 0", "for every job"),
    ("wait % -0.0", "       ^", "division by zero", "for every job"),
    ("wait + 1/(2-2)", "          ^", "division by zero", "for every job"),
    ("wait * log(0)", "           ^", "only a number above 0 has a logarithm", "for every job"),
    ("wait * sqrt(-1)", "            ^", "only a number from 0 up", "for every job"),
    ("wait * 0**-1", "        ^", "0 has no negative power", "for every job"),
    ("wait * (-8)**0.5", "           ^", "only whole powers", "for every job"),
    ("wait * exp(1000)", "       ^", "too large", "for every job"),
    ("10**10**10", "  ^", "too large", "for every job"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "caret", "problem", "remedy"), REFUSED, ids=[repr(case[0][:20]) for case in REFUSED])
def test_errors_point_at_the_place(text: str, caret: str, problem: str, remedy: str) -> None:
    with pytest.raises(FormulaError) as caught:
        parse_formula(text)
    error = caught.value
    assert error.column == len(caret)
    assert problem in error.problem
    assert remedy in error.remedy
    first, shown, pointer, last = str(error).split("\n")
    assert first == f"{error.problem} (column {len(caret)})"
    assert pointer == "  " + caret
    assert last == error.remedy
    assert shown.isprintable()  # nothing that a terminal would act on


@pytest.mark.parametrize("name", PBS_ONLY)
def test_terms_of_pbs_without_a_value_are_named(name: str) -> None:
    with pytest.raises(FormulaError, match="term of PBS"):
        parse_formula(f"2*{name}")


def test_a_failure_names_the_values_and_a_way_out() -> None:
    error = failure("10 * walltime / eligible_time + ncpus", walltime=3600, wait=0, procs=4)
    assert str(error) == (
        "division by zero: `eligible_time` is 0 (column 17)\n"
        "  10 * walltime / eligible_time + ncpus\n"
        "                  ^\n"
        "For this job, eligible_time = 0, ncpus = 4, walltime = 3600. Write max(eligible_time, 1) in its place."
    )


@pytest.mark.parametrize(
    ("text", "values", "column", "problem", "remedy"),
    [
        ("estimate / (wait*2)", {"wait": 0}, 13, "division by zero: `wait*2` is 0", "if wait*2 != 0 else 0"),
        ("estimate // wait", {"wait": 0}, 13, "division by zero", "max(wait, 1)"),
        ("estimate % wait", {"wait": 0}, 12, "division by zero", "max(wait, 1)"),
        ("1 / user_share", {"user_share": 0}, 5, "division by zero", "max(user_share, 0.001)"),
        ("2 * log10(wait - 5)", {"wait": 5}, 11, "above 0 has a logarithm: `wait - 5` is 0", "max(wait - 5, 1)"),
        ("sqrt(wait - 5)", {"wait": 1}, 6, "from 0 up has a square root: `wait - 5` is -4", "max(wait - 5, 0)"),
        ("(wait) ** -2", {"wait": 0}, 8, "0 has no negative power: `wait` is 0", "max(wait, 1)"),
        ("pow(wait - 5, 0.5)", {"wait": 1}, 1, "only whole powers: `wait - 5` is -4", "max(wait - 5, 0)"),
        ("wait**200", {"wait": 1e6}, 5, "too large: `wait` is 1000000", "scale it down"),
        ("1 + exp(wait)", {"wait": 1000}, 5, "too large: `wait` is 1000", "scale it down"),
        ("1e308 * (wait + 1)", {"wait": 1}, 7, "too large: `wait + 1` is 2", "scale it down"),
        ("1 + usage", {"usage": math.nan}, 5, "`usage` is nan", "mistake of tracehouse"),
    ],
)
def test_failures_of_evaluation(text: str, values: dict[str, float], column: int, problem: str, remedy: str) -> None:
    error = failure(text, **values)
    assert error.column == column
    assert problem in error.problem
    assert remedy in error.remedy


def test_an_error_shows_a_long_formula_around_the_caret() -> None:
    text = " + ".join(["wait"] * 40) + " + $ + " + " + ".join(["procs"] * 40)
    with pytest.raises(FormulaError) as caught:
        parse_formula(text)
    _, shown, pointer, _ = str(caught.value).split("\n")
    assert len(shown) < 120
    assert shown[pointer.index("^")] == "$"


def test_an_error_survives_the_way_from_another_process() -> None:
    error = FormulaError("wait/0", 6, "division by zero", "Change it.")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


# ---- safety ----------------------------------------------------------------------------------------------------------

ATTACKS = [
    "__import__('os')",
    "__import__",
    "().__class__",
    "().__class__.__bases__",
    "wait.__class__",
    "(1).real",
    "lambda: 1",
    "(lambda x: x)(1)",
    "(x := 1)",
    "f'{wait}'",
    "[x for x in wait]",
    "(x for x in wait)",
    "{x: 1}",
    "{1, 2}",
    "[1, 2]",
    "wait[0]",
    "'a' * 10**9",
    '"a"',
    "b'a'",
    "...",
    "None",
    "wait; wait",
    "wait\\",
    "print(1)",
    "eval(1)",
    "open(1)",
    "exec(1)",
    "max(*wait)",
    "sqrt(*wait)",
    "max(**wait)",
    "max(1, 2, **wait)",
    "sqrt(sqrt)",
    "sqrt(1)(2)",
    "await wait",
    "(yield)",
    "(yield from wait)",
    "import os",
    "10**10**10",
    "2**9**9**9",
    "9**9**9 % 1",
    "1 << 10**9",
    "wait\0",
    "\ufeffwait",
    "ｗａｉｔ",
    "٣",
    "(" * 150 + "1",
    "(" * 450 + "1" + ")" * 450,
    "-" * 900 + "1",
    "not " * 200 + "1",
    "2" + "**2" * 300,
    "wait" + "+1" * 400,
    "1 if 1 else " * 80 + "(1",
    "sqrt(" * 150 + "1" + ")" * 150,
    "()" * 400,
    "x" + ".y" * 400,
    "1<(" * 150 + "1" + ")<1" * 150,
    "wait" * 10**6,
    "9" * 10**6,
    "(" * 10**6,
]


@pytest.mark.parametrize("text", ATTACKS, ids=[repr(text[:20]) for text in ATTACKS])
def test_attacks_are_refused(text: str) -> None:
    with pytest.raises(FormulaError):
        parse_formula(text)


def test_nested_comparisons_do_not_double_the_work() -> None:
    """Every level writes its middle operand twice: 2**60 steps if each were compiled again."""
    text = "(" * 60 + "1" + "<1<2)" * 60
    assert value(text) in (0, 1)
    with pytest.raises(FormulaError, match="nested too deeply"):
        parse_formula("1<(" * 90 + "wait" + ")<2" * 90)


def test_deep_formulas_run_up_to_the_limit() -> None:
    levels = MAX_DEPTH - 1
    assert value("1+(" * levels + "wait" + ")" * levels, wait=1) == levels + 1
    assert value("wait" + "+1" * levels, wait=1) == levels + 1
    for text in ("1+(" * (levels + 1) + "wait" + ")" * (levels + 1), "wait" + "+1" * (levels + 1)):
        with pytest.raises(FormulaError, match="nested too deeply"):
            parse_formula(text)


WORDS = [
    *ATTRIBUTES,
    *"+-*/%(),.<>=! ",
    "0",
    "1",
    "2.5",
    "1e9",
    "min(",
    "log(",
    "if",
    "else",
    "and",
    "or",
    "not",
    "in",
    "for",
]


@settings(deadline=None, max_examples=1000)
@given(
    text=st.text() | st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join) | st.text("wait0. +-*/()", max_size=15)
)
@example("\udcff")
def test_every_text_is_a_formula_or_a_formula_error(text: str) -> None:
    try:
        formula = parse_formula(text)
    except FormulaError as refused:
        error = refused
    else:
        _, failed = run(formula)
        if failed < 0:
            return
        error = explain_failure(formula, failed, SLOTS)
    assert 1 <= error.column <= len(error.text) + 1
    assert len(str(error).split("\n")) == 4


# ---- compiled code ---------------------------------------------------------------------------------------------------


@numba.njit
def priorities(ops, constants, table, stack, values):
    for job in range(len(table)):
        values[job], failed = evaluate(ops, constants, table[job], stack)
        if failed >= 0:
            return job, failed
    return -1, -1


def test_one_compiled_loop_runs_every_formula() -> None:
    table = np.random.default_rng(1).uniform(1, 1000, (1000, NUM_SLOTS))
    values, stack = np.empty(1000), np.empty(STACK_SIZE)
    for text, expected in [
        ("7", np.full(1000, 7.0)),
        ("wait", table[:, WAIT]),
        (
            "2*wait + ncpus if free > 500 else -1",
            np.where(table[:, FREE] > 500, 2 * table[:, WAIT] + table[:, PROCS], -1),
        ),
    ]:
        formula = parse_formula(text)
        assert priorities(formula.ops, formula.constants, table, stack, values) == (-1, -1)
        np.testing.assert_array_equal(values, expected)
    assert len(priorities.signatures) == 1

    table[17, WAIT] = 0
    formula = parse_formula("estimate / wait")
    assert priorities(formula.ops, formula.constants, table, stack, values) == (17, 2)
    assert "`wait` is 0" in str(explain_failure(formula, 2, table[17]))
    assert len(priorities.signatures) == 1
