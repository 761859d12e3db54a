"""A cluster with something in each part, to write, read and break in tests."""

from __future__ import annotations

from traces.cluster.accounts import Account, AccountUser, Limit, ServiceQuality
from traces.cluster.description import (
    Absence,
    AdvanceReservation,
    ClusterDescription,
    Gate,
    Node,
    Partition,
    SchedulerSettings,
    Switch,
)
from traces.cluster.notes import ASSUMED, MODELLED, NO_EFFECT, NOT_MODELLED, DescribedCluster, Remark

THIN = {"cores": 16, "memory_mib": 64000, "features": ("ib",)}
CLUSTER = ClusterDescription(
    "mine",
    (
        Node("n02", **THIN),  # type: ignore[arg-type]
        Node("n01", **THIN),  # type: ignore[arg-type]
        Node("g1", 16, gpus={"": 4}, threads_per_core=2, cpus=16),
        Node("g2", 16, gpus={"a100": 2, "": 1}, resources={"mps": 200}, threads_per_core=2),
        Node("box[0]", 4, absences=(Absence(100, None, "drain"), Absence(5, 9))),
        Node("box[1]", 4, absences=(Absence(100, None, "drain"), Absence(5, 9))),
    ),
    (
        Partition("batch", ("n02", "g1"), True, max_time_s=90000, billing={"mem": 0.5, "gpu:a": 2.0}, extra={"odd key": True, "n": 3}),
        Partition("x.y", oversubscribe="exclusive", allow_qos=("high",), default_memory_mib=2000),
    ),
    (Account("lab", shares=3, qos=("high",)),),
    (AccountUser("ada", "lab", 2), AccountUser("bob", "lab", 2), AccountUser("eve", "lab", -1, partition="batch", is_default=True)),
    (ServiceQuality("high", 100, ("low",), usage_factor=2.0, usage_threshold=0.5),),
    (Limit("qos", "high", "running", "user", "gpu:a100", 2, source="qos.txt:3 MaxTRESPU"),),
    (AdvanceReservation("maint", 100, 200, nodes=("g1",), flags=("maint",), timezone="Europe/Berlin"),),
    (Gate((0, 1), 480, 960, over_time_s=14400),),
    {"matlab": 10},
    SchedulerSettings("slurm", "22.05.8", {"bf_window": 2880, "bf_continue": True, "factor": 0.5, "odd.key": 'a "b"'}),
    switches=(Switch("leaf", ("n02", "n01")), Switch("top", (), ("leaf",))),
    valid_from_s=1_772_323_200,
)  # fmt: skip
REMARKS = (
    Remark("slurm.conf", 4, "NodeName", "n[01-02]", MODELLED, place="nodes.n[01-02].name"),
    Remark("slurm.conf", 3, "RealMemory", "64000", MODELLED, place="nodes.n[01-02].memory_mib"),
    Remark("slurm.conf", 9, "MaxTime", "1-01", MODELLED, place="partitions.batch.max_time_s"),
    Remark("slurm.conf", 2, "SchedulerParameters bf_window", "2880", MODELLED, place="scheduler.bf_window"),
    Remark("slurm.conf", 1, "Prolog", "/bin/true", NOT_MODELLED, "a job would start later"),
    Remark("gres.conf", 1, "AutoDetect", "off", NO_EFFECT),
    Remark("qos.txt", 0, "QOS", "", ASSUMED, "no file has the QOS"),
)
DESCRIBED = DescribedCluster(CLUSTER, REMARKS)
