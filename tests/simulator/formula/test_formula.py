"""Tests of simulator/formula: parsing, language, machine, program, text."""

from __future__ import annotations

import ast
import math
import pickle

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.formula.language import ATTRIBUTES, PBS_ONLY
from simulator.formula.machine import FREE, NUM_SLOTS, STACK_SIZE, USER_SHARE, WAIT, evaluate
from simulator.formula.machine import PROCS as MACHINE_PROCS
from simulator.formula.machine import PROCS as PARSING_PROCS
from simulator.formula.parsing import explain_failure, formula_scores, parse_formula
from simulator.formula.text import MAX_LENGTH, FormulaError
from tests.simulator.busy import PROCS, busy_jobs
from tests.simulator.formula.formulas import SLOTS, failure, run, value

# fixed: Scores of formulas that do not change while a job waits.


def test_the_highest_value_has_the_lowest_score() -> None:
    jobs = busy_jobs(200)
    scores = formula_scores(parse_formula("area / cluster - 2 * submit + min(estimate, 600) * procs"), jobs, PROCS)
    submit = jobs.submit - jobs.origin
    value = jobs.estimate * jobs.procs / PROCS - 2 * submit + np.minimum(jobs.estimate, 600) * jobs.procs
    assert scores == pytest.approx(-value, rel=1e-12)


def test_a_job_without_a_value_is_an_error_that_shows_it() -> None:
    jobs = busy_jobs(200)
    with pytest.raises(FormulaError, match=f"(?s)division by zero.*procs = {jobs.procs[3]}") as caught:
        formula_scores(parse_formula(f"1 / (procs - {jobs.procs[3]})"), jobs, PROCS)
    assert caught.value.column == 6


# language: Attributes of formulas, and the terms of PBS that there is no value for.


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_attributes(name: str) -> None:
    assert value(name) == SLOTS[ATTRIBUTES[name]]
    assert parse_formula(name).uses == {ATTRIBUTES[name]}


@pytest.mark.parametrize("name", PBS_ONLY)
def test_terms_of_pbs_without_a_value_are_named(name: str) -> None:
    with pytest.raises(FormulaError, match="term of PBS"):
        parse_formula(f"2*{name}")


# machine: The stack machine: one compiled loop runs every formula.


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
            np.where(table[:, FREE] > 500, 2 * table[:, WAIT] + table[:, MACHINE_PROCS], -1),
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


# parsing: Formulas have the values of Python's own eval, lazily, and one compiled loop runs them all.


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


@settings(deadline=None, max_examples=400)
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


def test_what_a_formula_depends_on() -> None:
    assert parse_formula("-submit + area/cluster + walltime*ncpus").is_static
    for name in ("wait", "usage", "user_share", "free", "queued"):
        assert not parse_formula(f"procs + {name}").is_static
    assert parse_formula("free - procs").depends_on_free
    assert not parse_formula("wait").depends_on_free
    assert parse_formula("wait if free > ncpus else fairshare_tree_usage").uses == {
        WAIT,
        FREE,
        PARSING_PROCS,
        USER_SHARE,
    }


def test_equal_texts_are_equal_formulas() -> None:
    assert parse_formula(" wait") == parse_formula("wait\n")
    assert len({parse_formula("wait"), parse_formula("wait"), parse_formula("eligible_time")}) == 2


# program: Programs of formulas: what is computed once, and what is not computed at all.


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


# text: The text of a formula, and errors that point at it.


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
