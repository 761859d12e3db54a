"""The teaching pictures of the documents show the system as it is: what each shows is computed again, and compared by its hash."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from PIL import Image

from docs import draw_pictures, picture_data, picture_drawing
from docs.draw_pictures import HASHES, MOST_BYTES, hash_in, hash_of
from docs.picture_data import DATA, IMAGES, KEPT_WALK
from docs.picture_drawing import DRAWN_BY
from tests.pipelines.command_line import use_home

COMPUTED = DATA | {"job-row": picture_data.job_row_again}
"""How a test computes what each picture shows: all of it but for the prediction of the walk, which takes minutes of training."""
PROJECT = Path(__file__).resolve().parents[1]


@pytest.fixture
def _empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the bundled sources alone, so that nothing but the code decides what is drawn."""
    use_home(monkeypatch, tmp_path)


@pytest.mark.usefixtures("_empty_home")
@pytest.mark.parametrize("name", DATA)
def test_pictures_show_the_system_as_it_is(name: str) -> None:
    drawn, is_now = json.loads(HASHES.read_text())[name], hash_of(COMPUTED[name]())
    assert drawn == is_now, f"docs/images/{name}.png is stale: run python -m docs.draw_pictures {name}"


@pytest.mark.parametrize("name", DATA)
def test_pictures_were_drawn_from_the_data_whose_hash_is_kept(name: str) -> None:
    picture = IMAGES / f"{name}.png"
    kept = json.loads(HASHES.read_text())[name]
    assert hash_in(picture) == kept, f"{picture.name} is not what was drawn: run python -m docs.draw_pictures {name}"


def test_the_kept_walk_is_the_one_that_was_drawn() -> None:
    assert hash_of(json.loads(KEPT_WALK.read_text())) == json.loads(HASHES.read_text())["job-row"]


def test_every_picture_has_data_a_drawing_and_a_hash() -> None:
    assert DATA.keys() == DRAWN_BY.keys() == json.loads(HASHES.read_text()).keys()


@pytest.mark.parametrize("name", DATA)
def test_pictures_are_small_and_fit_a_page(name: str) -> None:
    picture = IMAGES / f"{name}.png"
    assert picture.stat().st_size < MOST_BYTES
    with Image.open(picture) as image:
        assert 1000 <= image.width <= 1200 and image.height <= 800


@pytest.mark.parametrize("name", sorted(DATA))
def test_pictures_are_on_a_page(name: str) -> None:
    pages = [PROJECT / "README.md", *(PROJECT / "docs").rglob("*.md")]
    shown = [page.name for page in pages if re.search(rf"!\[[^\]]+\]\([^)]*images/{name}\.png\)", page.read_text())]
    assert shown, f"no page shows docs/images/{name}.png"


def test_a_drawing_carries_the_hash_of_its_data(tmp_path: Path) -> None:
    jobs = {"submit": 0, "start": 60, "runtime": 300, "procs": 2, "backfilled": True}
    data = {"cluster_procs": 4, "short_job_s": 900, "schedules": {"none": [jobs], "easy": [jobs]}}
    path = draw_pictures.draw("gantt", data, tmp_path)
    assert hash_in(path) == hash_of(data) != hash_of(data | {"cluster_procs": 5})


@pytest.mark.usefixtures("_empty_home")
def test_groups_are_joined_by_no_arrow_that_a_longer_way_implies() -> None:
    data = picture_data.asset_groups()
    assert ["ingest", "predictions"] in data["arrows"] and ["predictions", "policies"] in data["arrows"]
    assert ["ingest", "policies"] not in data["arrows"]


@pytest.mark.usefixtures("_empty_home")
def test_the_walk_needs_a_home_in_which_the_source_has_run() -> None:
    with pytest.raises(ValueError, match="run `tracehouse run birch` first"):
        picture_data.job_row()


def test_a_group_without_a_place_is_named() -> None:
    with pytest.raises(ValueError, match="no place for billing"):
        picture_drawing.draw_asset_groups({"groups": {"billing": ["marts/bills"]}, "arrows": []})
