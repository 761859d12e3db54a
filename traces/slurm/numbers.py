"""Numbers in Slurm's JSON: plain ones of old versions, objects with "set", "infinite" and "number" of newer ones."""

from __future__ import annotations

from typing import Any

_UNSET = frozenset(2**bits - below for bits in (32, 64) for below in (1, 2))
"""INFINITE and NO_VAL of slurm.h, with which Slurm says that a number is not set. Old versions print them."""
_UNSET_SHORT = frozenset((2**16 - 1, 2**16 - 2))
"""INFINITE16 and NO_VAL16, which other numbers may well have."""
_TOO_LARGE = 2**63


def slurm_number(value: Any, is_time: bool = False) -> int | float | None:
    """A number, plain or as an object; None where it is not set or infinite, whichever way its version says so.

    is_time: of a moment or a limit, or another number that cannot be as small as 65,534 is for one of 16 bits.
    """
    if isinstance(value, dict):
        value = None if value.get("infinite") or value.get("set") is False else value.get("number")
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) < _TOO_LARGE:
        return None
    return None if value in _UNSET or (is_time and value in _UNSET_SHORT) else value
