"""The stack machine that runs formulas (simulator/formula/parsing.py) inside compiled loops; nothing is compiled per formula."""

from __future__ import annotations

import math

import numba
import numpy as np

SUBMIT, WAIT, ESTIMATE, PROCS, AREA, USAGE, USER_SHARE, FREE, CLUSTER, QUEUED = range(10)
NUM_SLOTS = 10

"""What `evaluate` reads, by place; attributes of formulas name these."""

MAX_DEPTH = 100  # operations inside one another; keeps parsing clear of Python's recursion limit
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
