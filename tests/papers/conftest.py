from __future__ import annotations

from collections.abc import Iterator

import pytest

from papers.rlscheduler.published import published
from papers.rlscheduler.transfer import transfer
from tests.papers.ddppo.ddppo_runs import made
from tests.papers.experiment_runs import QUICK, materialize
from tests.pipelines.command_line import use_home
from tests.pipelines.conftest import catalogue  # noqa: F401
from tests.tiny import busy_log, warehouse_of
from tests.tracehouse.conftest import ingested, loaded, log  # noqa: F401
from warehouse import Warehouse


@pytest.fixture(scope="package")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Warehouse]:
    """A warehouse in which the published tables and the transfer were made on the source `mine`."""
    folder = tmp_path_factory.mktemp("experiments")
    with pytest.MonkeyPatch.context() as patch:
        use_home(patch, folder)
        warehouse = warehouse_of(folder, busy_log(10_100, days=700))
        few = QUICK | {"goals": ["bsld", "utilisation_as_coded"], "backfills": ["easy"]}
        materialize(published, warehouse, few)
        materialize(transfer, warehouse, {})
        yield warehouse


@pytest.fixture(scope="session")
def ddppo_done(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """Both assets of DD-PPO made, of the sources `mine` and `other`."""
    return made(tmp_path_factory.mktemp("ddppo"))
