"""Jobs: which assets run together."""

import dagster as dg

from assets.common.partitions import SOURCES, VASP

INGEST = dg.AssetSelection.groups("ingest", "operations")
POPULATION = dg.AssetSelection.assets("policies/population")
"""It trains on many workers, for hours if it is asked to."""
TRAIN = (
    dg.AssetSelection.groups("policies", "predictions")
    - dg.AssetSelection.assets("marts/prediction_error")
    - POPULATION
)
PLACEMENT = dg.AssetSelection.assets("replay/placement")
"""It needs a tree of switches, which is the user's to give."""
PREDICTION_SEARCH = dg.AssetSelection.assets("replay/prediction_search")
"""It replays a log hundreds of times."""
EVALUATE = (
    (dg.AssetSelection.groups("evaluation", "what_if", "report") | dg.AssetSelection.assets("marts/prediction_error"))
    - PLACEMENT
    - PREDICTION_SEARCH
)
DDPPO = dg.AssetSelection.assets("experiments/ddppo")
DDPPO_TRANSFER = dg.AssetSelection.assets("experiments/ddppo_transfer")
"""Of large logs, and of logs that others have learned from: not of every source."""
RLSCHERT = dg.AssetSelection.assets("experiments/rlschert")
"""Of the folders of VASP runs, not of the logs."""
TOPOLOGY = dg.AssetSelection.assets("experiments/topology")
"""Of no source: it generates its jobs."""

VASP_RUNS = dg.AssetSelection.groups("vasp")
NIGHTLY = INGEST | TRAIN | EVALUATE | VASP_RUNS
"""What the schedules materialize every night. All else is made when somebody asks for it, and is never due."""


def _job(name: str, selection: dg.AssetSelection, description: str):
    return dg.define_asset_job(name, selection, partitions_def=SOURCES, description=description)


ingest = _job("ingest", INGEST, "Read a source's logs into canonical jobs")
train = _job("train", TRAIN, "Features, run-time model and scheduling policies of a source")
evaluate = _job("evaluate", EVALUATE, "Replay all policies on unseen jobs; what-if runs, leaderboard and report")
everything = _job("everything", INGEST | TRAIN | EVALUATE, "From raw log to report")
predict = _job(
    "predict",
    dg.AssetSelection.assets("predictions/runtime_predictions"),
    "Predict run times with the champion as it is now",
)
replay_runs = _job("replay_runs", dg.AssetSelection.assets("replay/runs"), "What-if replays of a source, saved by name")
population = _job("population", POPULATION, "A policy by decentralised PPO on many workers, tuned by a population")
placement = _job("placement", PLACEMENT, "Replays of a source on nodes below switches, saved by name")
prediction_search = _job(
    "prediction_search", PREDICTION_SEARCH, "Which use of predicted run times shortens waits; takes a while"
)
experiments = _job(
    "experiments",
    dg.AssetSelection.groups("experiments") - RLSCHERT - TOPOLOGY - DDPPO - DDPPO_TRANSFER,
    "Compare scheduling policies: later jobs, the tables of RLScheduler, training curves; takes long",
)
ddppo = _job("ddppo", DDPPO, "Policies of a large log for four goals, on many workers; takes hours")
ddppo_transfer = _job("ddppo_transfer", DDPPO_TRANSFER, "Judge policies of large logs on a log that they have not seen")
report = _job("report", dg.AssetSelection.assets("marts/report"), "Write the HTML report again")

vasp = dg.define_asset_job(
    "vasp",
    VASP_RUNS,
    partitions_def=VASP,
    description="From a folder of VASP runs to remaining times of those that run",
)
vasp_ingest = dg.define_asset_job(
    "vasp_ingest",
    dg.AssetSelection.assets("raw/vasp_runs", "core/vasp_jobs"),
    partitions_def=VASP,
    description="Read what has changed in a folder of VASP runs",
)
vasp_watch = dg.define_asset_job(
    "vasp_watch",
    dg.AssetSelection.assets("raw/vasp_runs", "core/vasp_jobs", "predictions/remaining_times"),
    partitions_def=VASP,
    description="Read what has changed in a folder of VASP runs and predict remaining times again",
)

rlschert = dg.define_asset_job(
    "rlschert",
    RLSCHERT,
    partitions_def=VASP,
    description="Train and compare RLSchert's schedulers on synthetic VASP jobs; takes long",
)

topology = dg.define_asset_job(
    "topology",
    TOPOLOGY,
    description="Compare ways of choosing nodes on generated jobs, as in Neural Simulated Annealing. Needs no source",
)

JOBS = [
    vasp,
    rlschert,
    topology,
    vasp_ingest,
    vasp_watch,
    ingest,
    train,
    predict,
    evaluate,
    everything,
    replay_runs,
    population,
    ddppo,
    ddppo_transfer,
    placement,
    prediction_search,
    experiments,
    report,
]
