"""Programs of formulas: from the syntax tree to the steps of the stack machine, and why a step has no finite value."""

from __future__ import annotations

import ast
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simulator.formula.language import (
    ATTRIBUTES,
    BINARY,
    COMPARISONS,
    DIVISION_OPS,
    LOGARITHM_OPS,
    caret_column,
    function_of,
    number_of,
    refused,
    slot_of,
    source_of,
)
from simulator.formula.machine import (
    AND_JUMP,
    CONST,
    JUMP,
    JUMP_IF_ZERO,
    LOAD,
    MAX_DEPTH,
    NEG,
    NOT,
    NUM_SLOTS,
    OR_JUMP,
    POW,
    SQRT,
    STACK_SIZE,
    USER_SHARE,
    evaluate,
)
from simulator.formula.text import FormulaError, syntax_tree, too_deep

MAX_OPS = 2000  # `a < b < c` writes b twice, so that a short text can still grow


class Step(NamedTuple):
    """One operation. `argument` is a number for CONST, a slot for LOAD, a distance for jumps. `node` is the source of the step."""

    op: int
    argument: float
    node: ast.expr


def compile_formula(text: str) -> list[Step]:
    """The steps of a formula. Raises FormulaError."""
    return _compile_node(syntax_tree(text), text)


def arrays_of(steps: list[Step]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Operations with their arguments, int64 (steps, 2), and constants, float64 (constants,), in the form that `evaluate` takes."""
    constants = [step.argument for step in steps if step.op == CONST]
    places = iter(range(len(constants)))
    ops = [(step.op, next(places) if step.op == CONST else int(step.argument)) for step in steps]
    return np.array(ops, dtype=np.int64), np.array(constants, dtype=np.float64)


def blamed_column(text: str, step: Step) -> int:
    """The column of the caret for a failure: a divisor, the argument of a root or logarithm, else the operator or the name."""
    if step.op in DIVISION_OPS or step.op in LOGARITHM_OPS or step.op == SQRT:
        return _operands(step.node)[-1].col_offset + 1
    return step.node.col_offset + 1 if step.op == CONST else caret_column(text, step.node)


def describe_failure(text: str, step: Step, slots: NDArray[np.float64]) -> tuple[str, str]:
    """What is wrong with a step that has no finite value, and what to do."""
    if step.op == LOAD:
        return (
            f"`{source_of(step.node, text)}` is {slots[int(step.argument)]}",
            "This is a mistake of tracehouse: report it.",
        )
    operands = _operands(step.node)
    values = [_value(operand, text, slots) for operand in operands]
    first, last = source_of(operands[0], text), source_of(operands[-1], text)
    value_texts = [
        f"`{source_of(operand, text)}` is {value:.10g}"
        for operand, value in zip(operands, values, strict=True)
        if not isinstance(operand, ast.Constant)
    ]
    with_values = f": {', '.join(value_texts)}" if value_texts else ""
    if step.op in DIVISION_OPS and values[1] == 0:
        remedy = f"Guard it: `... if {last} != 0 else 0`."
        if isinstance(operands[1], ast.Name):  # 1 is little for every attribute but a share
            remedy = f"Write max({last}, {0.001 if ATTRIBUTES[last] == USER_SHARE else 1}) in its place."
        return f"division by zero: `{last}` is 0", remedy
    if step.op in LOGARITHM_OPS and values[0] <= 0:
        return "only a number above 0 has a logarithm" + with_values, f"Write max({last}, 1) in its place."
    if step.op == SQRT and values[0] < 0:
        return "only a number from 0 up has a square root" + with_values, f"Write max({last}, 0) in its place."
    if step.op == POW and values[0] == 0 and values[1] < 0:
        return "0 has no negative power" + with_values, f"Write max({first}, 1) in its place."
    if step.op == POW and values[0] < 0 and not values[1].is_integer():
        return "a number below 0 has only whole powers" + with_values, f"Write max({first}, 0) in its place."
    return "the result is too large" + with_values, "Numbers reach to 1.7e308: scale it down."


def _compile_node(node: ast.expr, text: str) -> list[Step]:
    program = _Program(text)
    program.emit(node, 1)
    return program.steps


class _Program:
    """The steps so far. `emit` appends those of a node. A part without attributes becomes one constant."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.steps: list[Step] = []

    def emit(self, node: ast.expr, depth: int) -> None:
        """Appends the steps that put the value of `node` on the stack. depth: of the node in the tree, from 1."""
        if depth > MAX_DEPTH:
            raise too_deep(self.text, caret_column(self.text, node))
        start = len(self.steps)
        match node:
            case ast.Constant():
                self._add(node, CONST, number_of(node, self.text))
            case ast.Name():
                self._add(node, LOAD, slot_of(node, self.text))
            case ast.UnaryOp(op=ast.UAdd()):
                self.emit(node.operand, depth + 1)
            case ast.UnaryOp(op=ast.USub() | ast.Not()):
                self.emit(node.operand, depth + 1)
                self._add(node, NEG if isinstance(node.op, ast.USub) else NOT)
            case ast.BinOp() if type(node.op) in BINARY:
                self._emit_binary(node, depth)
            case ast.Compare() if all(type(op) in COMPARISONS for op in node.ops):
                self._emit_comparison(node, depth)
            case ast.BoolOp():
                self._emit_and_or(node, depth)
            case ast.IfExp():
                self._emit_condition(node, depth)
            case ast.Call(func=ast.Name(id=name), keywords=[]):
                self._emit_call(node, name, depth)
            case _:
                raise refused(node, self.text)
        self._fold(node, start)

    def _emit_binary(self, node: ast.BinOp, depth: int) -> None:
        self.emit(node.left, depth + 1)
        divisor = len(self.steps)
        self.emit(node.right, depth + 1)
        self._add(node, BINARY[type(node.op)])
        steps = self.steps
        by_zero = len(steps) == divisor + 2 and steps[divisor].op == CONST and steps[divisor].argument == 0
        if by_zero and steps[-1].op in DIVISION_OPS:
            raise _constant_failure(self.text, steps[-1])

    def _emit_comparison(self, node: ast.Compare, depth: int) -> None:
        jumps = []
        self.emit(node.left, depth + 1)
        for op, right in zip(node.ops, node.comparators, strict=True):
            first = len(self.steps)
            self.emit(right, depth + 1)
            operand = self.steps[first:]
            self._add(node, COMPARISONS[type(op)])
            if right is not node.comparators[-1]:  # a < b < c is a < b and b < c, with the steps of b copied
                jumps.append(self._jump(node, AND_JUMP))
                for step in operand:
                    self._add(node, step.op, step.argument, step.node)
        self._land(jumps)

    def _emit_and_or(self, node: ast.BoolOp, depth: int) -> None:
        jumps = []
        for value in node.values:
            if value is not node.values[0]:
                jumps.append(self._jump(node, AND_JUMP if isinstance(node.op, ast.And) else OR_JUMP))
            self.emit(value, depth + 1)
        self._land(jumps)

    def _emit_condition(self, node: ast.IfExp, depth: int) -> None:
        self.emit(node.test, depth + 1)
        to_else = self._jump(node, JUMP_IF_ZERO)
        self.emit(node.body, depth + 1)
        to_end = self._jump(node, JUMP)
        self._land([to_else])
        self.emit(node.orelse, depth + 1)
        self._land([to_end])

    def _emit_call(self, node: ast.Call, name: str, depth: int) -> None:
        function = function_of(name, node, self.text)
        for count, argument in enumerate(node.args):
            self.emit(argument, depth + 1)
            if count > 0 or len(node.args) == 1:
                self._add(node, function)

    def _add(self, node: ast.expr, op: int, argument: float = 0, source: ast.expr | None = None) -> None:
        """Appends a step of `node`. source: the node that the step is from, where that is another one."""
        if len(self.steps) >= MAX_OPS:
            raise too_deep(self.text, caret_column(self.text, node))
        self.steps.append(Step(op, argument, source or node))

    def _jump(self, node: ast.expr, op: int) -> int:
        self._add(node, op)
        return len(self.steps) - 1

    def _land(self, jumps: list[int]) -> None:
        for place in jumps:
            self.steps[place] = self.steps[place]._replace(argument=len(self.steps) - place)

    def _fold(self, node: ast.expr, start: int) -> None:
        """Makes the steps from `start` one constant where they read no attribute."""
        steps = self.steps[start:]
        if len(steps) > 1 and all(step.op != LOAD for step in steps):
            # computed by `evaluate` itself. Python would compute all digits of `10**10**10`
            value, failed_op = evaluate(*arrays_of(steps), np.zeros(NUM_SLOTS), np.empty(STACK_SIZE))
            if failed_op >= 0:
                raise _constant_failure(self.text, steps[failed_op])
            self.steps[start:] = [Step(CONST, value, node)]


def _constant_failure(text: str, step: Step) -> FormulaError:
    problem, _ = describe_failure(text, step, np.zeros(NUM_SLOTS))
    return FormulaError(text, blamed_column(text, step), problem, "It fails for every job: change the formula.")


def _operands(node: ast.expr) -> list[ast.expr]:
    match node:
        case ast.BinOp():
            return [node.left, node.right]
        case ast.Call():
            return node.args
        case _:
            return []


def _value(node: ast.expr, text: str, slots: NDArray[np.float64]) -> float:
    return float(evaluate(*arrays_of(_compile_node(node, text)), slots, np.empty(STACK_SIZE))[0])
