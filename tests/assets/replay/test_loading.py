"""A log or a source as a trace, whether it is in the warehouse or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.replay.loading import catalogue_source, check_log_estimates, is_loaded, is_path, load_any_trace
from assets.replay.settings import RunSettings
from tests.pipelines.command_line import use_home
from tests.tiny import swf_line
from traces.catalogue.sources import CatalogueError, Source


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A log of two jobs; `mine` is its name in the catalogue of an empty home."""
    path = tmp_path / "mine.swf"
    path.write_text("; MaxProcs: 4\n" + swf_line(1, 0, 0, 60, 1, 90) + swf_line(2, 5, 0, 60, 4, 90))
    use_home(monkeypatch, tmp_path / "home").write_text(f'[sources.mine]\nformat = "swf"\npath = "{path}"\n')
    return path


def test_what_is_a_path_and_what_a_name(log: Path) -> None:
    assert is_path(str(log)) and not is_path("mine") and not is_path("")
    assert catalogue_source("mine").path == log
    for name, says in (("", "give a log"), ("none.swf", "no such log file"), ("nosuch", "unknown source 'nosuch'")):
        with pytest.raises((ValueError, CatalogueError), match=says):
            catalogue_source(name)


def test_a_source_that_is_not_loaded_is_read(log: Path) -> None:
    assert not is_loaded("mine")
    trace = load_any_trace(catalogue_source("mine"), RunSettings(), in_catalogue=True)
    assert trace.rows["job_id"].to_list() == ["1", "2"] and trace.cluster_procs == 4
    again = load_any_trace(Source(log.name, "auto", log), RunSettings(), in_catalogue=False)
    assert again.rows["submit_s"].to_list() == [0, 5]
    assert not is_loaded("mine")  # nothing was left behind


def test_predictions_are_those_of_a_source(log: Path) -> None:
    predicted = RunSettings(estimates="predicted")
    with pytest.raises(ValueError, match="a log has no predicted run times"):
        check_log_estimates(log, predicted)
    with pytest.raises(ValueError, match="has no predicted run times yet"):
        load_any_trace(catalogue_source("mine"), predicted, in_catalogue=True)
