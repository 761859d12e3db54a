"""What cannot be judged is refused before anything is read."""

from __future__ import annotations

import pytest

from tracehouse.vasp import evaluate_transfer


def test_a_folder_is_not_judged_by_what_learned_from_it() -> None:
    with pytest.raises(ValueError, match="are both 'synthetic-vasp'"):
        evaluate_transfer("synthetic-vasp", "synthetic-vasp", "progress", 1)
