"""For each key of Slurm that is called modelled: two values with two different replays, or why no replay can show that it holds.

The cluster has two nodes of 4 CPUs, the partitions p and q of both, and a few users. A place is a part of its files, to which a case adds.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.assets.replaying.own.effects import Effect, Places, Table, joined
from traces.cluster.notes import MODELLED, KnownKey
from traces.slurm.configuration import keys, settings
from traces.slurm.configuration.accounts.options import ASSOCIATION_KEYS, LIMIT_KEYS, QOS_KEYS
from traces.slurm.configuration.nodes import DOWN_KEYS, GPU_KEYS
from traces.slurm.configuration.partitions import NODE_SET_KEYS
from traces.slurm.configuration.shown import RESERVATION_FIELDS
from traces.slurm.configuration.switches import SWITCH_KEYS

E = Effect
NODE = "CPUs=4 RealMemory=1000"
USERS = {"ann": "a", "bob": "a", "cat": "b", "dan": "d"}
BETWEEN = {"conf": "\n", "more": "\n", "sched": ",", "normal": ";", "high": ";", "ann": "", "cat": "", "a": ""}
CONF = """ClusterName=c
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
PriorityType=priority/multifactor
AccountingStorageEnforce=limits
SchedulerParameters={sched}
{conf}
{n1}
{n2}
{more}
PartitionName=p Nodes=ALL Default=YES {p}
PartitionName=q Nodes=ALL {q}
"""


def files_of(places: Mapping[str, str]) -> dict[str, str]:
    """The files of the cluster by name. Places: lines of slurm.conf (conf, more), words of SchedulerParameters (sched), ends of the
    lines of nodes (n1, n2; the whole line after !), partitions (p, q), accounts and users, options of a QOS (normal, high), whole files."""
    texts = dict.fromkeys(("sched", "conf", "more", "p", "q"), "") | dict(places)
    for node in ("n1", "n2"):
        text = places.get(node, "")
        texts[node] = f"NodeName={node} {text[1:]}" if text.startswith("!") else f"NodeName={node} {NODE} {text}"
    lines = ["Cluster - 'c':Fairshare=1", "Parent - 'root'", "User - 'root':DefaultAccount='root':Fairshare=1"]
    accounts = sorted(set(USERS.values()))
    lines += [f"Account - '{name}':Fairshare=1{places.get(name, '')}" for name in accounts]
    for account in accounts:
        mine = [user for user, of in USERS.items() if of == account]
        lines.append(f"Parent - '{account}'")
        lines += [f"User - '{user}':DefaultAccount='{account}':Fairshare=1{places.get(user, '')}" for user in mine]
    lines += [places["dump"]] if "dump" in places else []
    qualities = {
        name: dict(word.split("=", 1) for word in places.get(name, "").split(";") if word)
        for name in ("normal", "high")
    }
    columns = list(dict.fromkeys(key for quality in qualities.values() for key in quality))
    rows = ["|".join(["Name", *columns])]
    rows += ["|".join([name, *(quality.get(key, "") for key in columns)]) for name, quality in qualities.items()]
    return {
        "slurm.conf": CONF.format(**texts),
        "sacctmgr.dump": "\n".join(lines) + "\n",
        "qos.txt": "\n".join(rows) + "\n",
        **{file: places[file] for file in ("gres.conf", "topology.conf", "reservations.txt") if file in places},
    }


def more(*parts: Mapping[str, str]) -> Places:
    """The texts of several parts together."""
    return joined(BETWEEN, *parts)


def modelled(table: Mapping[str, KnownKey]) -> set[str]:
    """The keys that a table calls modelled."""
    return {name for name, row in table.items() if row.kind == MODELLED}


TWO, THREE = "0 600 2; 10 600 2", "0 600 1; 10 600 1; 20 600 1"
FULL = "0 600 4; 10 600 4"
ORDER = "0 1000 8 nodes=2; 10 500 8 nodes=2; 20 500 8 nodes=2"
OF_HIGH, OF_Q, OF_CAT = f"{ORDER} qos=high", f"{ORDER} queue=q", f"{ORDER} user=cat account=b"
LARGE_LAST = "0 1000 8 nodes=2; 10 500 2; 20 500 8 nodes=2"
BEHIND = "0 1000 6 nodes=2; 10 500 8 nodes=2; 20 300 1"
"""The last job fits beside the first one, and is over before the second one can start."""
PLANS = "0 1000 3 features=y; 0 1000 3 features=x; 10 500 4 features=y; 20 500 4 features=x; 30 5000 1 features=x"
"""Each node has a job that waits for it whole, and the last one would delay the second of them."""
DEEP = PLANS.replace("5000", "300")
"""The last one fits, once a cycle comes to it."""
XY = {"n1": "Feature=y", "n2": "Feature=x"}
BY_TIME = {"sched": "bf_yield_interval=1000,bf_yield_sleep=9999000,bf_continue"}
PREEMPTS = "0 1000 8 nodes=2; 100 500 8 nodes=2 qos=high"
OF_TIER = PREEMPTS.replace("qos=high", "queue=q")
BY_QOS = {"conf": "PreemptType=preempt/qos\nPreemptMode=REQUEUE", "high": "Preempt=normal"}
BY_TIER = {"conf": "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE", "q": "PriorityTier=10"}
QOS_COUNTS = {"conf": "PriorityWeightQOS=1000", "high": "Priority=10"}
SHARES = {"conf": "PriorityWeightFairshare=1000"}
TWO_USED = "1000 1000 8 nodes=2 user=dan account=d; 1010 500 8 nodes=2; 1020 500 8 nodes=2 user=cat account=b"
"""Behind jobs of ann and cat: who of them has used less comes first."""
USED = "0 600 2; 700 600 2"
HELD = "0 1000 6 nodes=2; 10 500 8 nodes=2; 400 300 1"
"""The first job runs over its limit, and the last one fits where the second is planned late enough."""

GENERAL = {
    "schedulertype": E("sched/backfill", "sched/builtin", BEHIND),
    "selecttype": E("select/cons_tres", "select/linear", THREE),
    "prioritytype": E("priority/basic", "priority/multifactor", OF_HIGH, QOS_COUNTS),
    "preempttype": E("preempt/none", "preempt/qos", PREEMPTS, {"conf": "PreemptMode=REQUEUE", "high": "Preempt=normal"}),
    "priorityweighttres": E("CPU=0", "CPU=1000", LARGE_LAST),
    "priorityweighttres of memory": E("Mem=0", "Mem=1000", ORDER + " mem=900"),
    "priorityweighttres of nodes": E("Node=0", "Node=1000", LARGE_LAST),
    "priorityweighttres of GPUs": E(
        "GRES/gpu=0", "GRES/gpu=1000", "0 1000 8 nodes=2; 10 500 8 nodes=2; 20 500 1 gpus=2",
        {"conf": "GresTypes=gpu", "n1": "Gres=gpu:2"},
    ),
    "priorityweighttres of GPUs of a type": E(
        "GRES/gpu:a100=0", "GRES/gpu:a100=1000", "0 1000 8 nodes=2; 10 500 8 nodes=2; 20 500 1 gpus=2 requested_gpu_types=A100=2",
        {"conf": "GresTypes=gpu", "n1": "Gres=gpu:A100:2"},
    ),
    "priorityweighttres of memory with a unit": E("Mem=0G", "Mem=1000000.5G", ORDER + " mem=900"),
    "topologyplugin": E(
        "topology/tree", "topology/flat", "0 600 8 nodes=2; 10 300 4 features=x",
        {"more": f"NodeName=n[3-4] {NODE}", "n2": "Feature=x",
         "topology.conf": "SwitchName=s1 Nodes=n1,n3\nSwitchName=s2 Nodes=n2,n4\nSwitchName=s3 Switches=s[1-2]\n"},
    ),
    "priorityweightage": E("0", "100000000", OF_HIGH, QOS_COUNTS),
    "prioritymaxage": E("16:40:00", "7-0", OF_HIGH, more(QOS_COUNTS, {"conf": "PriorityWeightAge=10000000"})),
    "priorityweightassoc": E("0", "1000", OF_CAT, {"cat": ":Priority=5"}),
    "priorityweightfairshare": E("0", "1000", OF_CAT),
    "priorityweightjobsize": E("0", "1000", LARGE_LAST),
    "priorityweightpartition": E("0", "1000", OF_Q, {"q": "PriorityJobFactor=10"}),
    "priorityweightqos": E("0", "1000", OF_HIGH, {"high": "Priority=10"}),
    "fairsharedampeningfactor": E(
        "1", "1000", "0 1000 8 nodes=2; 10 500 8 nodes=2 user=cat account=b; 20 500 8 nodes=2 qos=high",
        more(SHARES, {"conf": "PriorityFlags=NO_FAIR_TREE\nPriorityWeightQOS=100", "high": "Priority=10"}),
    ),
    "prioritydecayhalflife": E(
        "5", "7-0",
        "0 1000 8 nodes=2; 3000 100 8 nodes=2 user=cat account=b; 4000 1000 8 nodes=2 user=dan account=d; "
        "4010 500 8 nodes=2; 4020 500 8 nodes=2 user=cat account=b",
        SHARES,
    ),
    "prioritycalcperiod": E("5", "10000", OF_HIGH, more(QOS_COUNTS, {"conf": "PriorityWeightAge=100000000"})),
    "preemptexempttime": E("0", "10", PREEMPTS, BY_QOS),
    "killwait": E("30", "2000", HELD, {"p": "MaxTime=5"}),
    "minjobage": E(
        "600", "3000",
        "0 100 1 features=y; 0 5000 4 features=x; 1 2000 3 features=y; 20 500 4 features=x; 30 500 4 features=y qos=high",
        more(BY_QOS, XY, {"conf": "PreemptExemptTime=10"}),
    ),
    "priorityfavorsmall": E("NO", "YES", f"{ORDER.rpartition(';')[0]}; 20 500 2", {"conf": "PriorityWeightJobSize=1000"}),
    "jobrequeue": E("1", "0", FULL, {"n1": 'State=DOWN Reason="x [root@2024-01-01T00:05:00]"'}),
}  # fmt: skip
IN_THE_LOG = "it is for jobs that do not say, and a log has what each job got"
ITS_WORDS = "its words are tested one by one"
GENERAL_BY_HAND = {
    **dict.fromkeys(("schedulerparameters", "preemptparameters", "selecttypeparameters", "priorityflags"), ITS_WORDS),
    **dict.fromkeys(("preemptmode", "accountingstorageenforce"), ITS_WORDS),
    **dict.fromkeys(("defmempercpu", "defmempernode", "defmempergpu", "defcpupergpu", "jobdefaults"), IN_THE_LOG),
}
SCHED = {
    "batch_sched_delay": E("3", "40", "0 600 1; 1 600 1"),
    "bf_interval": E("30", "600", BEHIND),
    **dict.fromkeys(("bf_max_job_assoc", "bf_max_job_part", "bf_max_job_user", "bf_max_job_user_part"), E("0", "2", DEEP, XY)),
    "bf_job_part_count_reserve": E("0", "1", PLANS, XY),
    "bf_max_job_start": E("0", "1", f"{BEHIND}; 20 300 1", {"sched": "default_queue_depth=1"}),
    "bf_max_job_test": E("500", "2", DEEP, XY),
    "bf_max_time": E("30", "10", DEEP, more(XY, BY_TIME)),
    "bf_min_age_reserve": E("0", "10000", PLANS, XY),
    "bf_min_prio_reserve": E("0", "10000", PLANS, XY),
    "bf_node_space_size": E("500", "1", DEEP, XY),
    "bf_resolution": E("60", "3600", BEHIND),
    "bf_window": E("1440", "10", BEHIND.replace("300", "5000")),
    "bf_window_linear": E(
        "0", "30",
        "0 300 1 limit=600; 0 100 4; 0 200 2 limit=400 features=x; 10 200 2; 10 500 4; 10 500 2 features=y; 10 500 1 limit=1000", XY,
    ),
    "bf_yield_interval": E("2000000", "1000", DEEP, more(XY, {"sched": "bf_yield_sleep=20000000,bf_continue"})),
    "bf_yield_sleep": E("0", "20000000", DEEP, more(XY, {"sched": "bf_yield_interval=1000,bf_continue"})),
    "default_queue_depth": E("100", "0", "0 600 1; 0 600 1; 0 600 1"),
    "partition_job_depth": E("0", "1", "0 600 1; 0 600 1; 0 600 1"),
    "sched_interval": E(
        "60", "600", "100 300 8 nodes=2 limit=600; 110 100 1 limit=200; 140 1000 2",
        {"conf": "SchedulerType=sched/builtin", "sched": "default_queue_depth=0"},
    ),
    "sched_max_job_start": E("0", "1", "0 600 1; 0 600 1; 0 600 1"),
    "bf_continue": E(
        None, "yes", "0 200 8 nodes=2 limit=400 features=y; 30 200 4 features=x; 30 1000 8 nodes=2; 30 100 8 nodes=2 limit=200 features=y",
        more(XY, {"sched": "bf_yield_interval=1000,bf_yield_sleep=1000000"}),
    ),
    "assoc_limit_stop": E(None, "yes", "0 600 2; 10 600 2; 20 100 2 qos=high", {"normal": "GrpTRES=cpu=2"}),
    "preempt_youngest_first": E(None, "yes", "0 1000 4; 50 1000 4; 100 500 4 qos=high", BY_QOS),
}  # fmt: skip
MEMORY = "0 600 1 mem=900; 10 600 1 mem=900; 20 600 1 mem=900"
LINEAR = E("CR_Memory", "NONE", "0 600 1 mem=2000", {"conf": "SelectType=select/linear"})
NORMAL = {
    "conf": "PriorityWeightQOS=10\nPriorityWeightPartition=100",
    "q": "PriorityJobFactor=10",
    "high": "Priority=100",
}
TREE = E(
    "FAIR_TREE",
    "NO_FAIR_TREE",
    "10 1000 2 user=cat account=b; 10 1000 8 nodes=2 limit=2000; 10 200 3 limit=400; 40 1000 1 user=cat account=b",
    SHARES,
)
WORDS = {
    "selecttypeparameters": {
        **dict.fromkeys(("cr_cpu", "cr_cpu_memory"), E("CR_CPU", "CR_CPU_Memory", MEMORY)),
        **dict.fromkeys(("cr_core", "cr_core_memory"), E("CR_Core", "CR_Core_Memory", MEMORY)),
        **dict.fromkeys(("cr_memory", "none"), LINEAR),
    },
    "priorityflags": {
        "accrue_always": E(
            None, "ACCRUE_ALWAYS", ORDER.replace("10 500 8", "10 500 8 eligible=900").replace("0 1000", "0 2000"),
            {"conf": "PriorityWeightAge=10000000"},
        ),
        "fair_tree": TREE,
        "no_fair_tree": TREE,
        "max_tres": E(
            None, "MAX_TRES", f"0 600 4 mem=4; 0 600 6 nodes=2 user=cat account=b; {TWO_USED}",
            {**SHARES, "p": "TRESBillingWeights=CPU=1,Mem=1"},
        ),
        "incr_only": E(None, "INCR_ONLY", OF_CAT, SHARES),
        "no_normal_all": E(
            None, "NO_NORMAL_ALL", ORDER.replace("10 500 8", "10 500 8 user=cat account=b") + " qos=high",
            {"conf": "PriorityWeightQOS=10\nPriorityWeightFairshare=100", "high": "Priority=100"},
        ),
        "no_normal_qos": E(None, "NO_NORMAL_QOS", ORDER.replace("10 500 8", "10 500 8 queue=q") + " qos=high", NORMAL),
        "no_normal_part": E(
            None, "NO_NORMAL_PART", ORDER.replace("10 500 8", "10 500 8 qos=high") + " queue=q",
            {"conf": "PriorityWeightQOS=100\nPriorityWeightPartition=10", "q": "PriorityJobFactor=100", "high": "Priority=100"},
        ),
        "no_normal_assoc": E(
            None, "NO_NORMAL_ASSOC", ORDER.replace("10 500 8", "10 500 8 qos=high") + " user=cat account=b",
            {"conf": "PriorityWeightQOS=100\nPriorityWeightAssoc=10", "cat": ":Priority=100", "high": "Priority=100"},
        ),
        "no_normal_tres": E(
            None, "NO_NORMAL_TRES", "0 1000 8 nodes=2; 10 500 2 qos=high; 20 500 8 nodes=2",
            {"conf": "PriorityWeightQOS=50\nPriorityWeightTRES=CPU=10", "high": "Priority=100"},
        ),
    },
    "accountingstorageenforce": {
        word: E(word, "none" if word in ("limits", "all") else "limits", TWO, {"normal": "GrpJobs=1"})
        for word in ("limits", "all", "none", "0", "1")
    } | {"safe": E("safe", "limits", "0 600 2", {"normal": "GrpTRESMins=cpu=15"})},
    "preemptmode": {
        **dict.fromkeys(("off", "requeue"), E("OFF", "REQUEUE", PREEMPTS, BY_QOS)),
        "cancel": E("CANCEL", "REQUEUE", PREEMPTS, BY_QOS),
        "suspend": E("SUSPEND,GANG", "REQUEUE", OF_TIER, BY_TIER),
    },
}  # fmt: skip
FLAGS = {"noreserve": E("", "NoReserve", BEHIND.replace("10 500 8", "10 500 8 qos=high").replace("300", "5000"))}
OF_X = "0 600 4 features=x"
NODES = {
    "nodename": E("n3", "n[3-4]", "0 600 12 nodes=3; 10 600 4", place="more", text="NodeName={} " + NODE),
    "gres": E("gpu:1", "gpu:2", "0 600 1 gpus=1; 10 600 1 gpus=1", {"conf": "GresTypes=gpu"}),
    "feature": E("x", "y", "0 600 1 features=x", {"n2": "Feature=z"}),
    "state": E("IDLE", "DOWN", FULL),
    "reason": E("05", "59", "0 600 1; 400 600 4; 410 600 4", {"n1": "State=DOWN"}, text='Reason="x [root@2024-01-01T00:{}:00]"'),
    "boards": E("1", "2", OF_X, {"n1": "!SocketsPerBoard=2 CoresPerSocket=1 RealMemory=1000 Feature=x"}),
    "cpus": E("4", "8", "0 600 8"),
    "corespersocket": E("2", "4", OF_X, {"n1": "!Sockets=1 RealMemory=1000 Feature=x"}),
    "sockets": E("1", "2", OF_X, {"n1": "!CoresPerSocket=2 RealMemory=1000 Feature=x"}),
    "socketsperboard": E("1", "2", OF_X, {"n1": "!CoresPerSocket=2 RealMemory=1000 Feature=x"}),
    "threadspercore": E("1", "2", OF_X, {"n1": "!Sockets=1 CoresPerSocket=2 RealMemory=1000 Feature=x"}),
    "weight": E("1", "10", "0 600 4; 10 600 4 features=y", XY),
    "corespeccount": E("0", "1", OF_X.replace("x", "y"), XY),
    "realmemory": E("1000", "100", "0 600 1 mem=500 features=y", XY),
    "memspeclimit": E("0", "800", "0 600 1 mem=500 features=y", XY),
}  # fmt: skip
PARTITIONS = {
    "nodes": E("ALL", "n1", FULL),
    "default": E("NO", "YES", FULL, {"q": "Nodes=n1"}, place="q", text="Default={}"),
    "maxtime": E("5", "60", BEHIND.replace("300", "600")),
    **dict.fromkeys(("priority", "prioritytier"), E("1", "10", OF_Q, place="q")),
    "priorityjobfactor": E("1", "10", OF_Q, {"conf": "PriorityWeightPartition=1000"}, place="q"),
    "qos": E("normal", "high", TWO, {"high": "GrpJobs=1"}),
    "oversubscribe": E("NO", "EXCLUSIVE", THREE),
    "tresbillingweights": E("CPU=1", "CPU=1,Mem=1", f"0 600 2 mem=900; 0 600 3 user=cat account=b mem=1; {TWO_USED}", SHARES),
    "preemptmode": E("REQUEUE", "OFF", OF_TIER, BY_TIER),
    "gracetime": E("0", "300", OF_TIER, {"conf": BY_TIER["conf"].replace("REQUEUE", "CANCEL"), "q": "PriorityTier=10"}),
}  # fmt: skip
PARTITIONS_BY_HAND = {
    "partitionname": "a log has the names of its partitions, and a job of another one is refused with an error",
    "defaulttime": IN_THE_LOG,
    **dict.fromkeys(("defmempercpu", "defmempernode", "defmempergpu", "defcpupergpu", "jobdefaults"), IN_THE_LOG),
}
GPUS = {"conf": "GresTypes=gpu", "n1": "Gres=gpu:a:2"}
OF_GPU = "0 600 1 gpus=1; 10 600 1 gpus=1"
LIMITS = {
    **dict.fromkeys(("grpjobs", "maxjobs", "maxjobspu", "maxjobspa"), E("1", "9", TWO)),
    **dict.fromkeys(("grpsubmit", "maxsubmit", "maxsubmitpu", "maxsubmitpa"), E("1", "9", TWO)),
    **dict.fromkeys(("grptres", "maxtrespu", "maxtrespa"), E("cpu=2", "cpu=9", TWO)),
    **dict.fromkeys(
        ("grptresrunmins", "maxtresrunmins", "maxtresrunminspu", "maxtresrunminspa"), E("cpu=20", "cpu=99", TWO)
    ),
    "grptres of memory": E("mem=1000", "mem=9000", "0 600 1 mem=600; 10 600 1 mem=600"),
    "grptres of nodes": E("node=1", "node=9", "0 600 4; 10 600 4"),
    "grptres of GPUs": E("gres/gpu=1", "gres/gpu=9", OF_GPU, GPUS),
    "grptres of a type": E(
        "gres/gpu:A=1", "gres/gpu:A=9", OF_GPU.replace("gpus=1", "gpus=1 requested_gpu_types=a=1"), GPUS
    ),
    "grptresmins": E("cpu=10", "cpu=99", USED),
    "maxtres": E("cpu=1", "cpu=9", TWO),
    "maxwall": E("5", "99", TWO),
}
UNDER_E = "Account - 'e':Fairshare=1\nParent - 'e'\n"
ASSOCIATIONS = {
    "fairshare": E(
        "1",
        "1000",
        "0 500 8 nodes=2; 0 400 8 nodes=2 user=bob; 0 1000 8 nodes=2 user=dan account=d; 30 500 8 nodes=2 user=bob; 40 500 8 nodes=2",
        SHARES,
        text=":Fairshare={}",
    ),
    "defaultqos": E("normal", "high", TWO, {"high": "GrpJobs=1"}, text=":DefaultQOS='{}'"),
    "priority": E("0", "5", OF_CAT, {"conf": "PriorityWeightAssoc=1000"}, place="cat", text=":Priority={}"),
    "parent": E(
        "a",
        "b",
        "0 600 2 account=e user=eva; 10 600 2",
        {"a": ":GrpJobs=1"},
        place="dump",
        text="Parent - '{}'\n" + UNDER_E + "User - 'eva':DefaultAccount='e':Fairshare=1",
    ),
    "defaultaccount": E(
        "a",
        "e",
        TWO,
        {"a": ":GrpJobs=1"},
        place="dump",
        text="Parent - 'root'\n" + UNDER_E + "User - 'ann':DefaultAccount='{}':Fairshare=1",
    ),
}
QUALITIES = {
    "priority": E("0", "10", OF_HIGH, {"conf": "PriorityWeightQOS=1000"}),
    "preempt": E("", "normal", PREEMPTS, {"conf": BY_QOS["conf"]}),
    "preemptmode": E("cluster", "off", PREEMPTS, BY_QOS, place="normal"),
    "gracetime": E(
        "00:00:00",
        "00:05:00",
        PREEMPTS,
        BY_QOS | {"conf": BY_QOS["conf"].replace("REQUEUE", "CANCEL")},
        place="normal",
    ),
    "usagefactor": E("1", "0", OF_CAT, SHARES, place="normal"),
}
TYPED = {"conf": "GresTypes=gpu", "n1": "Gres=gpu:2", "n2": "Gres=gpu:a:1,gpu:b:1"}
OF_A = "; ".join(["0 600 1 gpus=1 requested_gpu_types=a=1"] * 3)
GRES = {
    "nodename": E("n1", "n3", OF_A, TYPED, text="NodeName={} Name=gpu Type=a Count=2"),
    "name": E("gpu", "mps", OF_A, TYPED, text="NodeName=n1 Name={} Type=a Count=2"),
    "type": E("a", "b", OF_A, TYPED, text="NodeName=n1 Name=gpu Type={} Count=2"),
    "count": E("1", "2", OF_A, TYPED, text="NodeName=n1 Name=gpu Type=a Count={}"),
    "file": E("/dev/nvidia0", "/dev/nvidia[0-1]", OF_A, TYPED, text="NodeName=n1 Name=gpu Type=a File={}"),
}
FOUR = {"conf": "TopologyPlugin=topology/tree", "more": f"NodeName=n[3-4] {NODE}", "n2": "Feature=x"}
SWITCHES = {
    "nodes": E(
        "n1,n3",
        "n1,n2",
        "0 600 8 nodes=2; 10 300 4 features=x",
        FOUR,
        text="SwitchName=s1 Nodes={}\nSwitchName=s2 Nodes=n2,n4\nSwitchName=s3 Switches=s[1-2]\n",
    ),
    "switches": E(
        "s1",
        "s[1-2]",
        "0 600 12 nodes=3",
        FOUR,
        text="SwitchName=s1 Nodes=n1,n3\nSwitchName=s2 Nodes=n2,n4\nSwitchName=s3 Switches={}\n",
    ),
}
NAME = "a name, which stands for what its line has"
SETS = {
    "feature": E("x", "y", FULL, {"n1": "Feature=x", "n2": "Feature=x,y", "p": "Nodes=s"}, text="NodeSet=s Feature={}"),
    "nodes": E("n1", "n[1-2]", FULL, {"p": "Nodes=s"}, text="NodeSet=s Nodes={}"),
}
DOWNS = {
    "downnodes": E("n1", "n2", "0 600 4 features=x", {"n1": "Feature=x"}, text="DownNodes={} State=DOWN"),
    "state": E("DOWN", "UP", FULL, text="DownNodes=n1 State={}"),
    "reason": E("05", "59", NODES["reason"].jobs, text='DownNodes=n1 State=DOWN Reason="x [root@2024-01-01T00:{}:00]"'),
}
RESERVED = "ReservationName=r StartTime=2024-01-01T00:{}:00 EndTime=2024-01-01T{}:00:00 Duration=1 Nodes={}\n"
RESERVATIONS = {
    "starttime": E("01", "59", FULL, text=RESERVED.format("{}", "03", "n[1-2]")),
    "endtime": E("01", "03", FULL, text=RESERVED.format("01", "{}", "n[1-2]")),
    "nodes": E("n1", "n[1-2]", FULL, text=RESERVED.format("01", "03", "{}")),
}
RESERVATIONS_BY_HAND = dict.fromkeys(("users", "groups", "accounts"), "a log has which jobs are of the reservation")
TABLES = {
    "slurm.conf": Table(modelled(keys.GENERAL_KEYS), GENERAL, GENERAL_BY_HAND, ("conf", "KEY={}")),
    "SchedulerParameters": Table(modelled(settings.SCHEDULER_PARAMETERS), SCHED, {}, ("sched", "KEY={}")),
    **{
        key: Table(modelled(settings.WORD_LISTS[key]), effects, {}, ("conf", f"{key}={{}}"))
        for key, effects in WORDS.items()
    },
    "nodes": Table(modelled(keys.SLURM_NODE_KEYS), NODES, {}, ("n1", "KEY={}")),
    "partitions": Table(modelled(keys.PARTITION_KEYS), PARTITIONS, PARTITIONS_BY_HAND, ("p", "KEY={}")),
    "limits": Table(modelled(LIMIT_KEYS), LIMITS, {}, ("normal", "KEY={}")),
    "accounts": Table(modelled(ASSOCIATION_KEYS), ASSOCIATIONS, {}, ("ann", "KEY={}")),
    "QOS": Table(modelled(QOS_KEYS), QUALITIES, {"flags": ITS_WORDS}, ("high", "KEY={}")),
    "flags of a QOS": Table(modelled(settings.QOS_FLAGS), FLAGS, {}, ("high", "Flags={}")),
    "gres.conf": Table(GPU_KEYS, GRES, {}, ("gres.conf", "")),
    "topology.conf": Table(SWITCH_KEYS, SWITCHES, {"switchname": NAME}, ("topology.conf", "")),
    "NodeSet": Table(NODE_SET_KEYS, SETS, {"nodeset": NAME}, ("more", "")),
    "DownNodes": Table(DOWN_KEYS, DOWNS, {}, ("more", "")),
    "reservations": Table(
        RESERVATION_FIELDS, RESERVATIONS, RESERVATIONS_BY_HAND | {"reservationname": NAME}, ("reservations.txt", "")
    ),
}
SHARED = {"yes": "YES:4", "force": "FORCE:8"}
"""Words of OverSubscribe that no replay follows, as partitions have them."""
