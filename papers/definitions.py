"""The papers' assets, which `pipelines.definitions` loads."""

from papers.ddppo.ddppo import ddppo
from papers.ddppo.ddppo_transfer import ddppo_transfer
from papers.deep_back_filling.backfilling import backfilling
from papers.neural_annealing.topology import topology
from papers.rlscheduler.curves import curves
from papers.rlscheduler.held_out import held_out
from papers.rlscheduler.published import published
from papers.rlscheduler.transfer import transfer
from papers.rlschert.rlschert import rlschert
from papers.schedinspector.inspector import inspector

ASSETS_OF_PAPERS = (
    backfilling,
    curves,
    ddppo,
    ddppo_transfer,
    held_out,
    inspector,
    published,
    rlschert,
    topology,
    transfer,
)
