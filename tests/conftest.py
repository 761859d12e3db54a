"""Fixtures shared by the tests of several rooms."""

from __future__ import annotations

import pytest

from tests.tiny import Home


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A home in which the whole pipeline has run once, undisturbed. Tests may read it and run it again, not change it."""
    home = Home(tmp_path_factory.mktemp("finished"))
    done = home.run_tiny()
    assert done.returncode == 0, done.stderr
    home.printed = done.stdout
    return home
