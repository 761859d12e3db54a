"""Formulas have the values of Python's own eval, lazily, and one compiled loop runs them all."""

from __future__ import annotations

import ast
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.formula.language import ATTRIBUTES
from simulator.formula.machine import FREE, NUM_SLOTS, PROCS, USER_SHARE, WAIT
from simulator.formula.parsing import explain_failure, parse_formula
from simulator.formula.text import MAX_LENGTH, FormulaError
from tests.simulator.formula.formulas import SLOTS, run, value


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
    assert parse_formula("wait if free > ncpus else fairshare_tree_usage").uses == {WAIT, FREE, PROCS, USER_SHARE}


def test_equal_texts_are_equal_formulas() -> None:
    assert parse_formula(" wait") == parse_formula("wait\n")
    assert len({parse_formula("wait"), parse_formula("wait"), parse_formula("eligible_time")}) == 2
