"""A keyword that a function does not have is refused with those that it has."""

from __future__ import annotations

import pytest

from tracehouse.keywords import refuse_unknown


def test_unknown_keywords_are_named() -> None:
    refuse_unknown("f", {"a": 1}, ("a", "b"))
    with pytest.raises(TypeError, match=r"f\(\) has no setting c, d: expected some of a, b"):
        refuse_unknown("f", {"d": 1, "a": 2, "c": 3}, ("a", "b"))
