"""The stack machine that runs formulas (simulator/formula/parsing.py) inside compiled loops. No formula is compiled by itself."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from simulator.compiled import ieee

SUBMIT, WAIT, ESTIMATE, PROCS, AREA, USAGE, USER_SHARE, FREE, CLUSTER, QUEUED = range(10)
NUM_SLOTS = 10
"""What `evaluate` reads, by place. Attributes of formulas name these places."""

MAX_DEPTH = 100  # nested operations. It keeps parsing below Python's recursion limit
STACK_SIZE = MAX_DEPTH + 2
"""Length of the stack that `evaluate` needs: every operation around a value keeps at most one other value waiting."""

CONST, LOAD = range(2)
ADD, SUB, MUL, DIV, FLOORDIV, MOD, POW, MIN, MAX, LT, LE, GT, GE, EQ, NE = range(2, 17)
NEG, NOT, ABS, SQRT, LOG, LOG2, LOG10, EXP, FLOOR, CEIL, ROUND = range(17, 28)
JUMP, JUMP_IF_ZERO, AND_JUMP, OR_JUMP = range(28, 32)
"""Operations. The argument of CONST and LOAD is an index, that of a jump is the distance from the jump itself."""


_inlined = partial(ieee, forceinline=True)


@ieee
def evaluate(ops, constants, slots, stack):
    """Runs the program of a `Formula`. Returns (value, failed_op).

    ops int64 (num_ops, 2), constants float64 (num_constants,): of the formula. slots: float64 (NUM_SLOTS,).
    stack: float64 (STACK_SIZE,), to work in. failed_op: -1, or the index of the operation that has no finite value. The value is
    nan then, and `explain_failure` describes what is wrong.
    """
    top = 0.0  # the top of the stack. stack[0] is never more than the value below the first one
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
            top = _of_two(op, stack[depth], top)
        elif op <= ROUND:
            top = _of_one(op, top)
        elif op == JUMP:
            pc += argument
            continue
        else:
            # JUMP_IF_ZERO drops the condition. AND_JUMP and OR_JUMP keep it where they jump, because it is the result
            jump = (top == 0.0) != (op == OR_JUMP)
            if op == JUMP_IF_ZERO or not jump:
                depth -= 1
                top = stack[depth]
            pc += argument if jump else 1
            continue
        if not math.isfinite(top):
            return np.nan, pc
        pc += 1
    return top, -1


@_inlined
def _of_two(op, left, right):
    """The value of an operation of two numbers, ADD to NE."""
    if op == ADD:
        result = left + right
    elif op == SUB:
        result = left - right
    elif op == MUL:
        result = left * right
    elif op == DIV:
        result = left / right
    elif op == FLOORDIV:
        result = left // right if right != 0.0 else np.nan
    elif op == MOD:
        result = left % right if right != 0.0 else np.nan
    elif op == POW:
        result = left**right
    elif op == MIN:
        result = min(left, right)
    elif op == MAX:
        result = max(left, right)
    elif op == LT:
        result = 1.0 if left < right else 0.0
    elif op == LE:
        result = 1.0 if left <= right else 0.0
    elif op == GT:
        result = 1.0 if left > right else 0.0
    elif op == GE:
        result = 1.0 if left >= right else 0.0
    elif op == EQ:
        result = 1.0 if left == right else 0.0
    else:
        result = 1.0 if left != right else 0.0
    return result


@_inlined
def _of_one(op, value):
    """The value of an operation of one number, NEG to ROUND."""
    if op == NEG:
        result = -value
    elif op == NOT:
        result = 1.0 if value == 0.0 else 0.0
    elif op == ABS:
        result = abs(value)
    elif op == SQRT:
        result = math.sqrt(value)
    elif op == LOG:
        result = math.log(value)
    elif op == LOG2:
        result = math.log2(value)
    elif op == LOG10:
        result = math.log10(value)
    elif op == EXP:
        result = math.exp(value)
    elif op == FLOOR:
        result = np.floor(value)
    elif op == CEIL:
        result = np.ceil(value)
    else:
        result = np.rint(value)
    return result
