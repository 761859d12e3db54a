"""Jobs: which assets run together."""

import dagster as dg

from assets.common.partitions import SOURCES, VASP

COSTLY = dg.AssetSelection.tag("cost", "hours")
"""Made when somebody asks for them."""
INGEST = dg.AssetSelection.groups("ingest", "operations")
LATE_COMPARISON = dg.AssetSelection.assets("marts/prediction_error")
"""Of the group of predictions, and made with what evaluates."""
TRAIN = dg.AssetSelection.groups("policies", "predictions") - LATE_COMPARISON - COSTLY
EVALUATE = (
    (dg.AssetSelection.groups("evaluation", "replay", "report") | LATE_COMPARISON)
    - COSTLY
    - dg.AssetSelection.tag("needs", "topology")  # which is the user's to give
)
RLSCHERT = dg.AssetSelection.tag("paper", "rlschert")
"""Of the folders of VASP runs, not of the logs."""
TOPOLOGY = dg.AssetSelection.tag("paper", "neural_annealing")
"""Of no source: it generates its jobs."""
EXPERIMENTS = dg.AssetSelection.groups("experiments") - RLSCHERT - TOPOLOGY - dg.AssetSelection.tag("paper", "ddppo")
"""Those of any source; DD-PPO's are of large logs."""


def _job(name: str, selection: dg.AssetSelection | str, description: str):
    """A job of a source. selection: also the key of one asset."""
    if isinstance(selection, str):
        selection = dg.AssetSelection.assets(selection)
    return dg.define_asset_job(name, selection, partitions_def=SOURCES, description=description)


ingest = _job("ingest", INGEST, "Read a source's logs into canonical jobs")
train = _job("train", TRAIN, "Features, run-time model and scheduling policies of a source")
evaluate = _job("evaluate", EVALUATE, "Replay all policies on unseen jobs; what-if runs, leaderboard and report")
everything = _job("everything", INGEST | TRAIN | EVALUATE, "From raw log to report")
predict = _job(
    "predict",
    "predictions/runtime_predictions",
    "Predict run times with the champion as it is now",
)
replay_runs = _job("replay_runs", "replay/runs", "What-if replays of a source, saved by name")
population = _job(
    "population",
    "policies/population",
    "A policy by decentralised PPO on many workers, tuned by a population",
)
placement = _job(
    "placement",
    "replay/placement",
    "Replays of a source on nodes below switches, saved by name",
)
experiments = _job(
    "experiments",
    EXPERIMENTS,
    "Compare scheduling policies: later jobs, the tables of RLScheduler, training curves; takes long",
)
ddppo = _job(
    "ddppo",
    "experiments/ddppo",
    "Policies of a large log for four goals, on many workers; takes hours",
)
ddppo_transfer = _job(
    "ddppo_transfer",
    "experiments/ddppo_transfer",
    "Judge policies of large logs on a log that they have not seen",
)
report = _job("report", "marts/report", "Write the HTML report again")

vasp = dg.define_asset_job(
    "vasp",
    dg.AssetSelection.groups("vasp"),
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
    description="Train and compare schedulers that select and kill, after RLSchert, on synthetic VASP jobs; takes long",
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
    experiments,
    report,
]
