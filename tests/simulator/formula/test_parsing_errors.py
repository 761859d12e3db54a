"""What is no formula, or has no value, is refused with an error that points at the place; nothing else is ever run."""

from __future__ import annotations

import math

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from simulator.formula.language import ATTRIBUTES
from simulator.formula.machine import MAX_DEPTH
from simulator.formula.parsing import explain_failure, parse_formula
from simulator.formula.text import FormulaError
from tests.simulator.formula.formulas import SLOTS, failure, run, value

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
