"""Settings of slurm.conf and of `scontrol show config` as the scheduler's settings of a description.

What each word of SchedulerParameters, SelectTypeParameters and other lists of slurm.conf does to a schedule.

The facts are from the man page slurm.conf(5), of versions 2.6 to 26.05. Words are in lower case.
"""

from __future__ import annotations

from collections.abc import Mapping

from traces.cluster.description import Setting
from traces.cluster.notes import ASSUMED, MODELLED, NO_EFFECT, NOT_MODELLED, Entry, KnownKey, Notes
from traces.slurm.configuration.keys import GENERAL_KEYS, KEPT_APART, in_description, left_out, without_effect
from traces.slurm.configuration.parts import Attributes, note_weights
from traces.slurm.configuration.units import counted, is_unset, mib_of, slurm_setting, words_of

SCHEDULER_PARAMETERS = (
    in_description(
        "int",
        "batch_sched_delay bf_interval bf_job_part_count_reserve bf_max_job_assoc bf_max_job_part "
        "bf_max_job_start bf_max_job_test bf_max_job_user bf_max_job_user_part bf_max_time bf_min_age_reserve bf_min_prio_reserve "
        "bf_node_space_size bf_resolution bf_window bf_window_linear bf_yield_interval bf_yield_sleep default_queue_depth "
        "partition_job_depth sched_interval sched_max_job_start",
    )
    | in_description("bool", "bf_continue assoc_limit_stop preempt_youngest_first")
    | left_out(
        {
            "allow_zero_lic": "jobs may ask for more licences than there are, and wait",
            "bb_array_stage_cnt": "so many tasks of an array would stage data at once",
            "bf_allow_magnetic_slot": "backfill would use slots of magnetic reservations",
            "bf_busy_nodes": "plans would take nodes that are in use first",
            "bf_hetjob_immediate": "parts of a heterogeneous job would be tried as soon as all can start",
            "bf_hetjob_prio": "parts of a heterogeneous job would share a priority",
            "bf_licenses": "plans would count licences",
            "bf_max_job_array_resv": "so many tasks of an array would have plans; a log has each task as a job of its own",
            "bf_one_resv_per_job": "a job would have one plan in all its partitions; a log has one partition for each job",
            "bf_running_job_reserve": "running jobs would keep their whole nodes in plans",
            "bf_topopt_enable": "backfill would try later starts for a better place",
            "bf_topopt_iterations": "backfill would try so many later starts for a better place",
            "bf_yield_rpc_cnt": "a cycle would let go of its locks while so many requests are open",
            "build_queue_timeout": "building the queue would end after this time",
            "correspond_after_task_cnt": "so many dependencies of array tasks would be kept",
            "delay_boot": "nodes that must be rebooted would be passed over for so long",
            "disable_hetjob_steps": "steps could not span parts of a heterogeneous job",
            "enable_hetjob_steps": "steps could span parts of a heterogeneous job",
            "extra_constraints": "jobs may filter nodes by their extra text",
            "ignore_numa": "NUMA nodes of a socket would not count",
            "kill_invalid_depend": "jobs whose dependency can never hold would be cancelled",
            "max_array_tasks": "longer arrays would be refused",
            "max_depend_depth": "a chain of dependencies would be looked at so far only",
            "max_sched_time": "a pass of the main scheduler would end after so many seconds; ours take no time",
            "max_rpc_cnt": "scheduling would pause while so many requests are open",
            "max_switch_wait": "jobs may wait so long for few switches",
            "nohold_on_prolog_fail": "jobs whose prolog fails would not be held",
            "pack_serial_at_end": "jobs of one CPU would be put on the last nodes",
            "permit_job_expansion": "jobs may take over nodes of others of the user",
            "preempt_reorder_count": "preempted jobs would be chosen again so many times",
            "preempt_strict_order": "jobs would be preempted in strict order of priority",
            "preempt_min_exempt_priority": "jobs from this priority on would not be preempted",
            "preempt_reclaim_licenses": "jobs would be preempted for their licences, too",
            "reduce_completing_frag": "no job would start while jobs of fewer nodes are completing",
            "requeue_delay": "jobs that were requeued would wait for so long",
            "requeue_on_resume_failure": "jobs whose nodes do not come up would be requeued",
            "salloc_wait_nodes": "jobs begin when all nodes are ready",
            "sched_min_interval": "the main scheduler would run at most once in so many microseconds",
            "sbatch_wait_nodes": "jobs begin when all nodes are ready",
            "spec_cores_first": "cores for the system would be the first ones",
            "time_min_as_soft_limit": "the least time of a job would be the limit for planning",
            "whole_hetjob": "a fault of a part would end the whole heterogeneous job",
            "whole_pack": "a fault of a part would end the whole heterogeneous job",
        },
    )
    | without_effect(
        "enable_job_state_cache enable_user_top ignore_constraint_validation ignore_prefer_validation inventory_interval "
        "max_script_size max_submit_line_size no_backup_scheduling no_env_cache requeue_setup_env_fail step_retry_count "
        "step_retry_time disable_job_shrink defer defer_batch bf_ignore_newly_avail_nodes preempt_send_user_signal "
        "preempt_suspend_grace_time"
    )
)
"""Of SchedulerParameters. Words of PreemptParameters, where version 23.02 put them, begin with preempt_ here."""

OLD_PARAMETERS = {"max_job_bf": "bf_max_job_test", "bf_max_job_count": "bf_max_job_test", "interval": "bf_interval"}
"""Parameter of older versions -> that of today."""

DEFAULTS: Mapping[str, tuple[Setting, ...]] = {
    **dict.fromkeys(
        (f"priorityweight{name}" for name in ("age", "assoc", "fairshare", "jobsize", "partition", "qos")), (0,)
    ),
    "fairsharedampeningfactor": (1,),
    "jobrequeue": (True,),
    "killwait": (30,),
    "minjobage": (300,),
    "preemptexempttime": (0,),
    "preemptmode": ("off",),
    "preempttype": ("preempt/none",),
    "prioritycalcperiod": (300,),
    "prioritydecayhalflife": (604_800,),
    "priorityfavorsmall": (False,),
    "prioritymaxage": (604_800,),
    "schedulertype": ("sched/backfill",),
    "topologyplugin": ("topology/none", "topology/default", "topology/flat"),
}
"""What Slurm has where slurm.conf says nothing: one value, or what several versions call the same."""

SELECT_PARAMETERS = (
    in_description(
        "word",
        "cr_cpu cr_cpu_memory cr_core cr_core_memory cr_memory none",
    )
    | left_out(
        {
            "cr_socket": "jobs would get whole sockets",
            "cr_socket_memory": "jobs would get whole sockets",
            "cr_lln": "jobs would be put on the nodes that are least loaded",
            "cr_one_task_per_core": "each task would get a core",
            "cr_pack_nodes": "tasks would be packed on as few nodes as they fit on",
            "other_cons_res": "another way of choosing nodes would be used",
            "other_cons_tres": "another way of choosing nodes would be used",
            "multiple_sharing_gres_pj": "a job may use several shared GPUs of a node",
            "enforce_binding_gres": "jobs would get cores next to their GPUs only",
            "one_task_per_sharing_gres": "tasks would not share a GPU",
            "ll_shared_gres": "shared GPUs would be filled evenly",
        }
    )
    | without_effect("cr_core_default_dist_block cr_no_dist_topo_block")
)
"""Of SelectTypeParameters."""

PRIORITY_FLAGS = (
    in_description(
        "word",
        "accrue_always fair_tree no_fair_tree no_normal_all no_normal_assoc no_normal_part no_normal_qos no_normal_tres "
        "max_tres incr_only",
    )
    | left_out(
        {
            "depth_oblivious": "shares would count without the depth of accounts",
            "max_tres_gres": "a job would be billed for its dearest resource and its GPUs",
            "small_relative_to_time": "the size of a job would count by its time limit",
            "ticket_based": "fair share would be given out as tickets",
        }
    )
    | without_effect("calculate_running")
)
"""Of PriorityFlags."""

ENFORCED = (
    in_description("word", "limits safe all none 0 1")
    | left_out(
        {
            "nojobs": "jobs would not be in the accounting",
            "nosteps": "steps would not be in the accounting",
            "wckeys": "jobs without a known workload key would be refused",
        }
    )
    | without_effect("associations qos")
)
"""Of AccountingStorageEnforce. Without limits, associations and qos refuse jobs alone, which no log has."""

PREEMPT_MODES = (in_description("word", "off cancel requeue suspend") | without_effect("gang")) | left_out(
    {
        "checkpoint": "preempted jobs would go on from a checkpoint",
        "within": "jobs of one QOS or partition would preempt each other by priority",
        "priority": "only jobs of a lower priority would be preempted",
    }
)
"""Of PreemptMode. Slurm asks for gang beside suspend; whether other jobs share CPUs is for OverSubscribe to say."""

TOPOLOGY_PARAMETERS = left_out(
    {
        "dragonfly": "the tree would be a dragonfly network",
        "toponoptional": "jobs would be placed by switches only where they ask for it",
        "topooptional": "jobs would be placed by switches only where they ask for it",
        "routepart": "messages would go by partition",
        "routetree": "messages would go by the tree",
        "blockasnoderank": "nodes would be in the order of blocks",
        "switchasnoderank": "nodes would be in the order of switches",
        "topomaxsizeunroll": "blocks may be split up to this size",
    }
) | without_effect("nosctrlinaddrany noctldinaddrany noinaddrany noinaddranyany blockaspoolrank none (null)")
"""Of TopologyParam."""

QOS_FLAGS = (in_description("word", "noreserve") | without_effect("notset")) | left_out(
    {
        "denyonlimit": "jobs over a limit would be refused instead of waiting; a log has only those that were taken",
        "enforceusagethreshold": "jobs under the threshold would wait",
        "partitionmaxnodes": "jobs may go over the partition's most nodes",
        "partitionminnodes": "jobs may go under the partition's least nodes",
        "overpartqos": "limits would go before those of the partition's QOS",
        "partitiontimelimit": "jobs may go over the partition's time limit",
        "requiresreservation": "jobs need a reservation",
        "nodecay": "usage would never decay",
        "usagefactorsafe": "limits would count with the usage factor",
        "relative": "limits would be percentages of the cluster",
    }
)
"""Of a QOS."""

WORD_LISTS: dict[str, dict[str, KnownKey]] = {
    "selecttypeparameters": SELECT_PARAMETERS,
    "priorityflags": PRIORITY_FLAGS,
    "accountingstorageenforce": ENFORCED,
    "preemptmode": PREEMPT_MODES,
    "topologyparam": TOPOLOGY_PARAMETERS,
}
"""Key of slurm.conf -> its words."""


# --- settings


_OF_PARTITIONS = (
    "defmempercpu", "defmempernode", "defmempergpu", "defcpupergpu", "maxmempercpu", "maxmempernode", "jobdefaults",
)  # fmt: skip
"""Partitions that do not say have these."""


def merged_settings(configured: Attributes, shown: Attributes, notes: Notes) -> Attributes:
    """The settings of slurm.conf with those that scontrol shows, which count. A remark says where the two differ."""
    merged = dict(configured)
    for key, other in shown.items():
        entry, row = configured.get(key), GENERAL_KEYS.get(key)
        if entry is None:
            merged[key] = other
        elif row is None or not _is_kept(key):
            notes.by_table(GENERAL_KEYS, other, key)
        elif key == "accountingstoragetres" or _compared(entry, row.form) == _compared(other, row.form):
            _note_setting(key, other, notes)
        else:
            notes.assumed(entry, f"{other.file}:{other.line} has {other.value}, which is what runs")
            merged[key] = other
    return merged


def _is_kept(key: str) -> bool:
    """Whether a setting is in the description."""
    row = GENERAL_KEYS.get(key)
    return row is not None and (row.kind == MODELLED or key in KEPT_APART)


def _note_setting(key: str, entry: Entry, notes: Notes) -> None:
    """A remark on a setting that is in the description, or on each of its words."""
    if key in WORD_LISTS:
        note_words(WORD_LISTS[key], entry, f"scheduler.{key}", notes)
    elif key in KEPT_APART:
        notes.by_table(GENERAL_KEYS, entry, key)
    else:
        notes.modelled(entry, f"scheduler.{key}")
    if key == "priorityweighttres":
        note_weights(entry, notes)


def _compared(entry: Entry, form: str) -> object:
    if entry.value.strip().lower() in ("", "(null)", "n/a"):
        return None
    value = slurm_setting(entry, form)
    return sorted(value.split(",")) if isinstance(value, str) else value


def scheduler_values(settings: Attributes, notes: Notes) -> tuple[dict[str, Setting], dict[str, int]]:
    """Settings of the scheduler by name, and licences. A remark on each entry. Raises ConfigurationError for a value of another form."""
    values: dict[str, Setting] = {}
    licences: dict[str, int] = {}
    for key, entry in settings.items():
        row = GENERAL_KEYS.get(key)
        if row is None or not _is_kept(key):
            notes.by_table(GENERAL_KEYS, entry, key)
        elif entry.value.strip().lower() in ("", "(null)", "n/a"):
            notes.add(entry, NO_EFFECT, "it is not set")
        elif key in ("schedulerparameters", "preemptparameters"):
            _add_parameters(values, entry, notes)
        elif key == "licenses":
            licences = _licences(entry)
            _note_setting(key, entry, notes)
        elif key in _OF_PARTITIONS and (is_unset(entry.value) or entry.value.strip() == "0"):
            notes.add(entry, NO_EFFECT, "it is not set")
        elif key in _OF_PARTITIONS:
            values[key] = mib_of(entry) if "mem" in key else slurm_setting(entry, "text")
            _note_setting(key, entry, notes)
        else:
            values[key] = slurm_setting(entry, row.form)
            _note_setting(key, entry, notes)
    return values, licences


def note_words(table: Mapping[str, KnownKey], entry: Entry, place: str, notes: Notes) -> None:
    """A remark on a list of words, if a replay follows one of them, and on each word that it does not follow. Words without an effect
    have one only where they stand alone. place: of the list in the description."""
    rows = {word: table.get(word.lower()) for word in words_of(entry.value)}
    follows = any(row is not None and row.kind == MODELLED for row in rows.values())
    if follows:
        notes.modelled(entry, place)
    for word, row in rows.items():
        if row is None or row.kind == NOT_MODELLED or not follows:
            notes.by_table(table, Entry(entry.file, entry.line, entry.key, word), word.lower())


def _add_parameters(values: dict[str, Setting], entry: Entry, notes: Notes) -> None:
    """The words of SchedulerParameters, each a setting of its own."""
    text = entry.value
    if text.startswith("="):
        notes.assumed(entry, "a second = is passed over")
        text = text[1:]
    for word in words_of(text):
        name, equals, amount = word.partition("=")
        key = OLD_PARAMETERS.get(name.strip().lower(), name.strip().lower())
        if entry.key.lower() == "preemptparameters":
            key = f"preempt_{key}"
        single = Entry(entry.file, entry.line, f"{entry.key} {name.strip()}", amount.strip())
        row = SCHEDULER_PARAMETERS.get(key)
        if row is None or row.kind != MODELLED:
            if row is not None and row.kind == NOT_MODELLED and not equals:
                notes.unmodelled(single, row.effect)
            else:
                notes.by_table(SCHEDULER_PARAMETERS, single, key)
            continue
        if row.form == "bool":
            values[key] = amount.strip().lower() not in ("no", "0") if equals else True
        elif not equals:
            raise single.refuse("a number behind =")
        else:
            values[key] = counted(single, amount)
        notes.modelled(single, f"scheduler.{key}")


def _licences(entry: Entry) -> dict[str, int]:
    """How many of each in a list such as matlab:10,ansys@server:4."""
    licences: dict[str, int] = {}
    for word in words_of(entry.value):
        name, _, amount = word.replace("*", ":").partition(":")
        licences[name] = counted(entry, amount or "1")
    return licences


def assumed_settings(values: Mapping[str, Setting], notes: Notes, file: str) -> None:
    """Remarks on what the files do not say of the scheduler, and Slurm's defaults hold for."""
    for key in ("schedulertype", "selecttype", "prioritytype"):
        if key not in values:
            notes.add(Entry(file, 0, key, ""), ASSUMED, "no file says it, so the default of its version holds")


def add_enforcement(values: dict[str, Setting], notes: Notes, file: str) -> None:
    """Slurm enforces no limit where the configuration does not say so. A remark says that limits of the accounts do not hold."""
    if "accountingstorageenforce" not in values:
        values["accountingstorageenforce"] = "none"
        effect = (
            "no file says it, so limits of QOS and associations do not hold. Add limits to it in slurm.conf if they do"
        )
        notes.add(Entry(file, 0, "accountingstorageenforce", ""), ASSUMED, effect)
