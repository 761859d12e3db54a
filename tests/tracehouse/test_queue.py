"""The queue as a source knows it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.tracehouse.cli.predicting.test_queue import job
from tracehouse.queue import read_snapshot
from traces.catalogue.sources import Source


def test_users_are_called_as_in_the_log(tmp_path: Path) -> None:
    """An SWF log has numbers for names, which stay."""
    file = tmp_path / "queue.json"
    file.write_text(json.dumps({"jobs": [job(1)]}))
    for log_format, keeps in (("swf", True), ("slurm", False)):
        source = Source("mine", log_format, tmp_path, pseudonyms=("user",))
        snapshot, _ = read_snapshot(source, str(file))
        assert ({each.user_name for each in snapshot.jobs} == {"8"}) == keeps
