"""Progress bars are silent where nobody looks at them."""

from __future__ import annotations

import pytest

from assets.common.progress import progress, progress_bar


def test_items_come_through_and_nothing_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert list(progress(range(3), "items")) == [0, 1, 2]
    with progress_bar("steps", 2) as bar:
        bar.update(2)
    assert capsys.readouterr() == ("", "")
