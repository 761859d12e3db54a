"""For each key of PBS that is called modelled: two values with two different replays, or why no replay can show that it holds.

The site has two nodes of 4 processors and the queues w, the default one, and x. A place is a part of its files, to which a case adds.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.assets.replaying.own.effects import Effect, Places, Table, joined
from traces.cluster.notes import MODELLED, KnownKey
from traces.pbs.configuration import keys, maui_keys

E = Effect
BETWEEN = dict.fromkeys(("server", "sched", "config", "w", "x", "n1", "n2"), "; ")
ROLES = {
    "shares": "resource_group", "hours": "holidays", "dedicated": "dedicated_time", "torque": "nodes", "maui": "maui.cfg",
}  # fmt: skip


def settings_of(text: str) -> dict[str, str]:
    """Keys and values of a text such as `max_run=4; Priority=1`."""
    return dict(word.split("=", 1) for word in text.split("; ") if word)


def files_of(places: Mapping[str, str]) -> dict[str, str]:
    """The files of the site by name. Places: attributes of the server, its queues (w, x), its scheduler (sched) and its nodes (n1, n2),
    lines of qmgr (qmgr) and sched_config (config), and whole files (those of ROLES)."""

    def attributes(place: str, usual: Mapping[str, str]) -> dict[str, str]:
        return {**usual, **settings_of(places.get(place, ""))}

    queues = ["w", "x", *places.get("queues", "").split()]
    of_queue = {"queue_type": "Execution", "enabled": "True", "started": "True"}
    lines = [f"create queue {queue}" for queue in queues]
    lines += [
        f"set queue {queue} {key} = {value}" for queue in queues for key, value in attributes(queue, of_queue).items()
    ]
    of_server = {"scheduling": "True", "default_queue": "w"}
    lines += [f"set server {key} = {value}" for key, value in attributes("server", of_server).items()]
    config = {"strict_ordering": "true", "by_queue": "false", "preemptive_sched": "false"}
    nodes = []
    for node in ("n1", "n2"):
        usual = {"state": "free", "resources_available.ncpus": "4", "resources_available.host": node}
        nodes += [
            node,
            *(f"     {key} = {value}" for key, value in attributes(node, usual).items() if value != "none"),
            "",
        ]
    sched = attributes("sched", {"log_events": "1"})
    files = {
        "qmgr.txt": "\n".join([places.get("qmgr", ""), *lines, ""]),
        "qmgr_sched.txt": "".join(f"set sched default {key} = {value}\n" for key, value in sched.items()),
        "sched_config": "".join(f"{key}: {value} all\n" for key, value in attributes("config", config).items()),
        **({} if "torque" in places else {"pbsnodes.txt": "\n".join(nodes)}),
    }
    return files | {file: places[place] for place, file in ROLES.items() if place in places}


def more(*parts: Mapping[str, str]) -> Places:
    """The texts of several parts together."""
    return joined(BETWEEN, *parts)


def modelled(table: Mapping[str, KnownKey]) -> set[str]:
    """The keys that a table calls modelled."""
    return {name for name, row in table.items() if row.kind == MODELLED}


TWO, THREE, FULL = "0 600 2; 10 600 2", "0 600 1; 10 600 1; 20 600 1", "0 600 4; 10 600 4"
ORDER = "0 1000 8 nodes=2; 10 500 8 nodes=2; 20 500 8 nodes=2"
OF_CAT = f"{ORDER} user=cat"
OF_QUEUES = "0 1000 8 nodes=2; 10 500 8 nodes=2 queue=w; 20 500 8 nodes=2 queue=x"
LARGE_LAST = "0 1000 8 nodes=2; 10 500 2; 20 500 8 nodes=2"
BEHIND = "0 1000 6 nodes=2; 10 500 8 nodes=2; 20 5000 1"
"""The last job fits beside the first one, and would delay the second one."""
TWO_OF_ANN = "0 1000 4; 0 1000 4; 100 300 4 user=cat"
"""Ann is over a soft limit, so that the job of cat may take a node of hers."""
PLANS = (
    "0 1000 3 select=1:ncpus=3:host=n1; 0 1000 3 select=1:ncpus=3:host=n2; 10 500 4 select=1:ncpus=4:host=n1; "
    "20 500 4 select=1:ncpus=4:host=n2; 30 5000 1 select=1:ncpus=1:host=n2"
)
"""Each node has a job that waits for it whole, and the last one would delay the second of them."""
TO_N1 = "0 600 4; 10 600 4 select=1:ncpus=4:host=n1"
EXPRESS = "0 1000 8 nodes=2; 100 500 8 nodes=2 queue=x"
PREEMPTS = {"config": "preemptive_sched=true", "x": "Priority=200"}
SHARES = {"config": "fair_share=true", "shares": "ann 10 root 10\ncat 11 root 10\ndan 12 root 10\n"}
HOURS = {"hours": "YEAR 2024\nweekday 0100 0200\nsaturday none all\nsunday none all\n"}
OVER_HOURS = "0 600 4; 3000 1200 4"
"""The second job would run from one kind of hours into the other."""
BIG = {"n1": "resources_available.kind=big", "qmgr": "create resource kind type=string_array"}
IN_THE_LOG = "it is for jobs that do not say, and a log has what each job got"


def limits_of(word: str) -> dict[str, Effect]:
    """Limits of the server or of a queue. word: of the level that jobs over a soft limit have."""
    over = {"config": "preemptive_sched=true", "sched": f"preempt_prio=normal_jobs, {word}"}
    return {
        **dict.fromkeys(("max_run", "max_queued"), E("[u:PBS_GENERIC=1]", "[u:PBS_GENERIC=9]", TWO)),
        **dict.fromkeys(("max_running", "max_user_run", "max_queuable", "max_user_queuable"), E("1", "9", TWO)),
        "max_run_soft": E("[u:PBS_GENERIC=1]", "[u:PBS_GENERIC=9]", TWO_OF_ANN, over),
        "max_user_run_soft": E("1", "9", TWO_OF_ANN, over),
        **{
            key: E("[u:PBS_GENERIC=2]", "[u:PBS_GENERIC=9]", TWO, text=key + ".ncpus={}")
            for key in ("max_run_res", "max_queued_res")
        },
        "max_user_res": E("2", "9", TWO, text="max_user_res.ncpus={}"),
        "max_run_res_soft": E(
            "[u:PBS_GENERIC=4]", "[u:PBS_GENERIC=99]", TWO_OF_ANN, over, text="max_run_res_soft.ncpus={}"
        ),
        "max_user_res_soft": E("4", "99", TWO_OF_ANN, over, text="max_user_res_soft.ncpus={}"),
        "resources_available": E("2", "9", TWO, text="resources_available.ncpus={}"),
    }


ITERATION = E(
    "600",
    "60",
    "0 550 8 nodes=2; 560 400 8 nodes=2 user=dan; 570 100 8 nodes=2; 580 100 8 nodes=2 user=cat",
    SHARES,
)
"""Usage is counted in passes."""
FORMULA = E("ncpus", "-1*ncpus", LARGE_LAST)
DEPTH = E("1", "2", PLANS)
SERVER = limits_of("server_softlimits") | {
    "default_queue": E("w", "x", TWO, {"x": "max_running=1"}),
    "job_sort_formula": FORMULA,
    "backfill_depth": DEPTH,
    "scheduler_iteration": ITERATION,
}
QUEUE = limits_of("queue_softlimits") | {
    "resources_default": E("big", "small", FULL, {"n1": "properties=big"}, text="resources_default.neednodes={}"),
    "default_chunk": E("big", "none", FULL, BIG, text="default_chunk.kind={}"),
    "features_required": E("big", "small", FULL, {"n1": "properties=big"}),
    "Priority": E("1", "100", OF_QUEUES, {"config": "by_queue=true", "w": "Priority=50"}, place="x"),
    "backfill_depth": DEPTH,
}
LEVELS = E("express_queue, normal_jobs", "normal_jobs", EXPRESS, PREEMPTS)
EXPRESS_FROM = E("150", "250", EXPRESS, PREEMPTS)
SCHED = {
    "preempt_prio": LEVELS,
    "preempt_order": E("S", "R", EXPRESS, PREEMPTS),
    "preempt_queue_prio": EXPRESS_FROM,
    "job_sort_formula": FORMULA,
    "scheduler_iteration": ITERATION,
    "backfill_depth": DEPTH,
}
CONFIG = {
    "strict_ordering": E("true", "false", BEHIND),
    "by_queue": E("true", "false", OF_QUEUES, {"x": "Priority=100"}),
    "fair_share": E("true", "false", OF_CAT, {"shares": SHARES["shares"]}),
    "preemptive_sched": E("true", "false", EXPRESS, {"x": "Priority=200"}),
    "preempt_prio": LEVELS._replace(one='"express_queue, normal_jobs"'),
    "preempt_order": E("S", "R", EXPRESS, PREEMPTS),
    "preempt_order of checkpoints": E("C", "R", EXPRESS, PREEMPTS),
    "preempt_order of deletions": E("D", "R", EXPRESS, PREEMPTS),
    "preempt_queue_prio": EXPRESS_FROM,
    "job_sort_key": E('"ncpus HIGH"', '"ncpus LOW"', LARGE_LAST),
    "job_sort_key of times": E('"walltime HIGH"', '"walltime LOW"', ORDER.replace("20 500", "20 400")),
    "job_sort_key of shares": E(
        '"fair_share_perc HIGH"', '"fair_share_perc LOW"', OF_CAT, {"shares": "ann 10 root 10\ncat 11 root 90\n"}
    ),
    "node_sort_key": E('"sort_priority HIGH"', '"sort_priority LOW"', TO_N1, {"n1": "Priority=10"}),
    "fairshare_usage_res": E(
        "cput",
        "walltime",
        "0 200 8 nodes=2 limit=400 user=dan; 0 200 1; 30 2000 4 limit=4000; 30 100 4 user=dan",
        SHARES,
    ),
    "fairshare_decay_time": E(
        "00:05:00",
        "24:00:00",
        "10 1000 4 limit=2000; 10 2000 1 user=dan; 110 100 8 nodes=2 limit=200 user=dan; 140 2000 4",
        SHARES,
    ),
    "fairshare_decay_factor": E(
        "0.9",
        "0.01",
        "100 2000 8 nodes=2; 130 100 4 user=dan; 130 2000 4; 130 2000 1 user=dan",
        more(SHARES, {"config": "fairshare_decay_time=00:30:00"}),
    ),
    "unknown_shares": E(
        "1", "1000", "0 300 8 nodes=2 limit=600 user=eva; 0 200 2 limit=400; 0 500 8 nodes=2 user=eva", SHARES
    ),
    "backfill_prime": E("true", "false", OVER_HOURS, HOURS),
    "prime_exempt_anytime_queues": E("true", "false", OVER_HOURS, HOURS | {"config": "backfill_prime=true"}),
    "prime_spill": E("00:00:00", "10:00:00", OVER_HOURS, HOURS | {"config": "backfill_prime=true"}),
    "primetime_prefix": E("p_", "pp_", "0 600 4 queue=p_1", HOURS | {"queues": "p_1"}),
    "nonprimetime_prefix": E("np_", "nn_", "3700 600 4 queue=np_1", HOURS | {"queues": "np_1"}),
    "dedicated_prefix": E(
        "ded", "x", "1000 600 4 queue=ded1", {"queues": "ded1", "dedicated": "01/01/2024 00:00 01/01/2024 10:00\n"}
    ),
}
VNODES = {
    "resources_available": E("4", "8", "0 600 8 select=1:ncpus=8", text="resources_available.ncpus={}"),
    "queue": E("w", "x", FULL, {"n2": "queue=w"}),
    "sharing": E("default_shared", "force_excl", THREE, {"n2": "sharing=force_excl"}),
    "np": E("4", "8", "0 600 8 select=1:ncpus=8", {"n1": "resources_available.ncpus=none"}),
    "gpus": E("1", "2", "0 600 1 gpus=1; 10 600 1 gpus=1"),
    "properties": E(
        "big", "small", "0 600 4 select=1:ncpus=4:big; 10 600 4 select=1:ncpus=4:big", {"n2": "properties=big"}
    ),
    "Priority": E("1", "100", TO_N1, {"config": 'node_sort_key="sort_priority HIGH"', "n2": "Priority=50"}),
}
FILES = {
    "weekday": E("0100", "0200", "0 600 4 queue=p_1", {"queues": "p_1"}, "hours", "YEAR 2024\nweekday {} 0300\n"),
    "holiday": E("1", "2", "3700 600 4 queue=p_1", {"queues": "p_1"}, "hours", HOURS["hours"] + "{} Jan 1 none all\n"),
    "dedicated": E("01", "02", FULL, place="dedicated", text="01/01/2024 00:00 01/01/2024 {}:00\n"),
    "shares": E(
        "1",
        "1000",
        "0 300 8 nodes=2 limit=600 user=dan; 0 200 2 limit=400; 0 500 8 nodes=2 user=dan",
        {"config": "fair_share=true"},
        "shares",
        "ann 10 root 10\ndan 12 root {}\n",
    ),
}
TABLES = {
    "server": Table(
        modelled(keys.SERVER_KEYS),
        SERVER,
        dict.fromkeys(("resources_default", "default_chunk"), IN_THE_LOG),
        ("server", "KEY={}"),
    ),
    "queues": Table(
        modelled(keys.QUEUE_KEYS),
        QUEUE,
        {"queue_type": "jobs only pass a routing queue, and a log has the queue that they ended in"},
        ("w", "KEY={}"),
    ),
    "sched": Table(modelled(keys.SCHED_KEYS), SCHED, {}, ("sched", "KEY={}")),
    "sched_config": Table(modelled(keys.SCHED_CONFIG_KEYS), CONFIG, {}, ("config", "KEY={}")),
    "nodes": Table(modelled(keys.VNODE_KEYS), VNODES, {}, ("n1", "KEY={}")),
    "other files": Table(FILES, FILES, {}, ("", "")),
}

EMPTY = "60 600 4; 90 600 4; 120 600 8 nodes=2"
DAILY = "SRCFG[r] STARTTIME=00:{}:00 ENDTIME={}:00:00 HOSTLIST={}\n"
MAUI = {
    "USERCFG": {
        "MAXJOB": E("1", "9", TWO, text="USERCFG[DEFAULT] MAXJOB={}\n"),
        "MAXPROC": E("2", "9", TWO, text="USERCFG[DEFAULT] MAXPROC={}\n"),
        "MAXPS": E("1300", "9999", TWO, text="USERCFG[DEFAULT] MAXPS={}\n"),
        "MAXJOBPERUSERCOUNT": E("1", "9", TWO, text="MAXJOBPERUSERCOUNT {}\n"),
        "MAXPROCPERUSERCOUNT": E("2", "9", TWO, text="MAXPROCPERUSERCOUNT {}\n"),
        **{key: E("1300", "9999", TWO, text=key + " {}\n") for key in ("MAXPSPERUSER", "MAXPSPERUSERCOUNT")},
    },
    "SRCFG": {
        "STARTTIME": E("01", "59", EMPTY, text=DAILY.format("{}", "02", "ALL")),
        "ENDTIME": E("01", "02", EMPTY, text=DAILY.format("00", "{}", "ALL")),
        "HOSTLIST": E("n1", "n1,n2", EMPTY, text=DAILY.format("00", "01", "{}")),
        "PERIOD": E("DAY", "WEEK", EMPTY, text="SRCFG[r] STARTTIME=00:00:00 ENDTIME=01:00:00 PERIOD={}\n"),
        "TASKCOUNT": E("4", "8", EMPTY, text="SRCFG[r] STARTTIME=00:00:00 ENDTIME=01:00:00 TASKCOUNT={}\n"),
        "RESOURCES": E(
            "PROCS:2", "PROCS:4", EMPTY, text="SRCFG[r] STARTTIME=00:00:00 ENDTIME=01:00:00 TASKCOUNT=2 RESOURCES={}\n"
        ),
        "NODEFEATURES": E(
            "big",
            "any",
            EMPTY,
            {"n1": "properties=big,any", "n2": "properties=any"},
            text="SRCFG[r] STARTTIME=00:00:00 ENDTIME=01:00:00 NODEFEATURES={}\n",
        ),
    },
}
"""A cluster with Maui is replayed by an order of ours, under its limits and reservations."""
TABLES_OF_MAUI = {
    "parameters": Table(modelled(maui_keys.PARAMETER_KEYS), {}, {}, ("maui", "")),
    "credentials": Table(modelled(maui_keys.CREDENTIAL_KEYS), {}, {}, ("maui", "")),
    "limits": Table(modelled(maui_keys.MAUI_LIMITS), MAUI["USERCFG"], {}, ("maui", "")),
    "reservations": Table(modelled(maui_keys.RESERVATION_KEYS), MAUI["SRCFG"], {}, ("maui", "")),
}
