"""Used time from accounting alone."""

from __future__ import annotations

import pytest

from studies.slurm.usage import compare_usage
from tests.shared import shared_file


@pytest.mark.parametrize("scenario", ["S6", "S11"])
def test_usage_is_that_of_the_controller(scenario: str) -> None:
    errors = compare_usage(shared_file("golden", "slurm", scenario, "run1"))
    assert errors.values > 600 and errors.median < 0.002 and errors.ninth_decile < 0.01
