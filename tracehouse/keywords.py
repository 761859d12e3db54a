"""Keywords of functions that take many."""

from __future__ import annotations

from collections.abc import Collection


def refuse_unknown(function: str, given: Collection[str], expected: Collection[str]) -> None:
    """Raises TypeError for keywords that a function does not have, with those that it has."""
    if unknown := sorted(set(given) - set(expected)):
        raise TypeError(f"{function}() has no setting {', '.join(unknown)}: expected some of {', '.join(expected)}")
