"""What each key of PBS's server, queues, scheduler and nodes does to a schedule. Attributes of a resource, `resources_max.mem`, stand
under the name before the dot.

The facts are from the manual pages pbs_server_attributes, pbs_queue_attributes, pbs_sched_attributes and
pbs_node_attributes, from the chapter "Scheduling" of Altair's PBS Professional Administrator's Guide, and from the appendix "Server
parameters" of the Torque Administrator Guide.

A key is modelled if two of its values give two different replays, which `tests/assets/replaying/own/pbs` shows for each.
"""

from __future__ import annotations

from traces.cluster.notes import MODELLED, NO_EFFECT, NOT_MODELLED, KnownKey

_OFF = ("false", "no", "0", "off")
_ON = ("true", "yes", "1", "on")
OF_GROUPS = "each group would be limited by itself; a replay does not know the groups of jobs"
_REFUSES = "jobs that it keeps out are refused when they are submitted; a log has only those that were taken"


def _without_effect(names: str) -> dict[str, KnownKey]:
    return {name: KnownKey(NO_EFFECT) for name in names.split()}


def _modelled(form: str, names: str) -> dict[str, KnownKey]:
    return {name: KnownKey(MODELLED, form=form) for name in names.split()}


def _left_out(effects: dict[str, str], *harmless: str) -> dict[str, KnownKey]:
    return {name: KnownKey(NOT_MODELLED, effect, harmless) for name, effect in effects.items()}


LIMIT_ATTRIBUTES = (
    "max_run",
    "max_run_soft",
    "max_run_res",
    "max_run_res_soft",
    "max_queued",
    "max_queued_res",
    "max_running",
    "max_user_run",
    "max_user_run_soft",
    "max_group_run",
    "max_group_run_soft",
    "max_user_res",
    "max_user_res_soft",
    "max_group_res",
    "max_group_res_soft",
    "max_queuable",
    "max_user_queuable",
    "resources_max",
    "resources_min",
)
"""Of servers and queues, read by `traces.pbs.configuration.queues`."""

_NOT_FOLLOWED = dict.fromkeys(
    ("max_group_run", "max_group_run_soft", "max_group_res", "max_group_res_soft"), OF_GROUPS
) | {
    "resources_max": "jobs that ask for more are refused; a log has only those that were taken",
    "resources_min": "jobs that ask for less are refused; a log has only those that were taken",
}
_SERVER_AND_QUEUE = _modelled(
    "text", " ".join(name for name in LIMIT_ATTRIBUTES if name not in _NOT_FOLLOWED)
) | _left_out(
    {
        **_NOT_FOLLOWED,
        "queued_jobs_threshold": "submissions are refused while so many jobs wait",
        "queued_jobs_threshold_res": "submissions are refused while waiting jobs ask for so much",
        "node_group_key": "jobs would be put on nodes with the same value of this resource",
    }
)

_SCHEDULING = _left_out({"scheduling": "no job would start"}, *_ON) | _left_out(
    {"job_sort_formula_threshold": "jobs with a lower value of the formula would not start"}
)

SERVER_KEYS = (
    _SERVER_AND_QUEUE
    | _modelled("text", "default_queue resources_default default_chunk resources_available job_sort_formula")
    | _modelled("count", "backfill_depth scheduler_iteration")
    | _SCHEDULING
    | _left_out({"eligible_time_enable": "eligible_time of a formula would be 0; a replay counts it"}, *_ON)
    | _left_out(
        {
            "node_group_enable": "jobs would be put on nodes with the same value of node_group_key",
            "default_qsub_arguments": "submissions would get these options where they do not say; the log has the result",
            "queue_centric_limits": "limits would count jobs by their queue",
            "job_requeue_timeout": "a job whose requeue takes longer would end",
            "node_fail_requeue": "jobs of a node that fails would be queued again after this time",
            "server_dyn_res": "a script would say how much is free",
            "opt_backfill_fuzzy": "the start of a top job would be searched for in coarser steps",
            "peer_queue": "jobs would come from another server's queue",
        },
        *_OFF,
    )
    | _left_out(
        {
            "max_job_sequence_id": "numbers of jobs begin again after it",
            "max_array_size": "longer arrays are refused when they are submitted",
            "max_concurrent_provision": "fewer nodes are provisioned at the same time",
            "node_check_rate": "a node counts as down so late",
            "pbs_license_max": "jobs would wait where there are fewer licences of PBS than sockets in use",
        },
        "9999999",
        "10000",
        "5",
        "150",
        "600",
        "2147483647",
    )
    | _without_effect(
        "server_state server_host total_jobs state_count log_events mailer mail_from mail_domain query_other_jobs flatuid resv_enable "
        "resend_term_delay pbs_license_min pbs_license_linger_time pbs_license_info license_count pbs_version job_history_enable "
        "job_history_duration clear_topjob_estimates_enable estimated_start_time_freq est_start_time_freq FLicenses managers operators "
        "acl_hosts acl_host_enable acl_users acl_user_enable acl_resv_host_enable acl_resv_hosts acl_resv_user_enable acl_resv_users "
        "acl_resv_group_enable acl_resv_groups acl_roots comment default_node node_pack rpp_retry rpp_highwater rpp_max_pkt_check "
        "reserve_retry_init reserve_retry_cutoff reserve_retry_time resources_assigned svr_migrate_run job_stat_rate poll_jobs "
        "log_level tcp_timeout keep_completed mom_job_sync next_job_number moab_array_compatible nppcu log_file_max_size "
        "log_file_roll_depth log_keep_days allow_node_submit submit_hosts server_name auto_node_np kill_delay email_batch_seconds "
        "mail_body_fmt mail_subject_fmt job_nanny node_ping_rate no_mail_force rerunnable_jobs timeout_for_job_delete "
        "timeout_for_job_requeue job_start_timeout job_log_file_max_size job_log_keep_days job_log_file_roll_depth "
        "allow_proxy_user disable_server_id_check max_threads min_threads thread_idle_seconds acl_logic_or acl_group_sloppy acl_user_hosts "
        "authorized_users tcp_incoming_timeout record_job_info record_job_script cray_enabled python_restart_max_hooks "
        "python_restart_max_objects python_restart_min_interval python_gc_min_interval sync_mom_hookfiles_timeout jobscript_max_size "
        "power_provisioning show_hidden_attribs rpp_retry sched_version job_force_cancel_time legacy_vmem exit_code_canceled_job"
    )
)

QUEUE_KEYS = (
    _SERVER_AND_QUEUE
    | _modelled("text", "queue_type resources_default default_chunk resources_available features_required")
    | _left_out({"enabled": "new jobs would be refused", "started": "jobs of the queue would wait"}, *_ON)
    | _left_out(dict.fromkeys(("acl_users", "acl_groups", "acl_user_enable", "acl_group_enable"), _REFUSES), *_OFF)
    | _modelled("int", "Priority")
    | _modelled("count", "backfill_depth")
    | _left_out(
        {
            "route_held_jobs": "held jobs would go on to their queue",
            "route_waiting_jobs": "jobs that wait for their time would go on to their queue",
            "checkpoint_min": "jobs would be checkpointed this often",
            "partition": "a scheduler of its own would serve the queue",
            "disallowed_types": "submissions of these types are refused",
            "is_transit": "jobs would go on to another server",
        },
        *_OFF,
    )
    | _left_out({"route_destinations": "jobs go on to these queues; the log has the queue that they ended in"})
    | _without_effect(
        "total_jobs state_count hasnodes resources_assigned kill_delay from_route_only require_cred require_cred_enable "
        "acl_hosts acl_host_enable alt_router comment acl_group_sloppy acl_logic_or route_lifetime route_retry_time mtime "
        "keep_completed ghost_queue required_login_property max_slot_limit"
    )
)

_PREEMPT_SORT = _left_out(
    {"preempt_sort": "the job that has run longest would be preempted first; in a replay it is the youngest"},
    "min_time_since_start",
)

SCHED_KEYS = (
    _modelled("text", "preempt_prio preempt_order job_sort_formula")
    | _modelled("count", "scheduler_iteration preempt_queue_prio backfill_depth")
    | _SCHEDULING
    | _PREEMPT_SORT
    | _left_out(
        {
            "only_explicit_psets": "jobs would be put on sets of nodes with the same value of a resource alone",
            "do_not_span_psets": "jobs would be put on one set of nodes with the same value of a resource",
            "sched_preempt_enforce_resumption": "suspended jobs would come before all others",
            "opt_backfill_fuzzy": "the start of a top job would be searched for in coarser steps",
            "attr_update_period": "comments and estimates are written less often",
        },
        *_OFF,
        "off",
        "low",
    )
    | _left_out({"partition": "only queues and nodes of this partition would be served"}, "pbs-default", "none")
    | _left_out({"sched_cycle_length": "a pass that takes longer would end early"}, "00:20:00", "1200")
    | _without_effect(
        "throughput_mode sched_host sched_priv sched_log state "
        "log_events server_dyn_res_alarm comment pbs_version job_run_wait sched_port sched_user"
    )
)

SCHED_CONFIG_KEYS = (
    _modelled("bool", "strict_ordering by_queue fair_share preemptive_sched backfill_prime prime_exempt_anytime_queues")
    | _modelled("text", "job_sort_key node_sort_key fairshare_usage_res preempt_prio preempt_order")
    | _modelled("text", "primetime_prefix nonprimetime_prefix dedicated_prefix")
    | _modelled("duration", "fairshare_decay_time prime_spill")
    | _modelled("number", "fairshare_decay_factor")
    | _modelled("count", "unknown_shares preempt_queue_prio")
    | {name: row for name, row in _SCHEDULING.items() if name != "scheduling"}
    | _PREEMPT_SORT
    | _left_out({"backfill": "no job would start before those that come first"}, *_ON)
    | _left_out({"fairshare_entity": "usage would be counted for others than users"}, "euser")
    | _left_out(
        {"half_life": "usage would fall by half in this time; fairshare_decay_time is read"}, "24:00:00", "86400"
    )
    | _left_out({"smp_cluster_dist": "nodes would be taken in another way"}, "pack")
    | _left_out(
        {
            "fairshare_enforce_no_shares": "users without shares would not run",
            "strict_fifo": "jobs would start in their order; strict_ordering is read",
            "round_robin": "the scheduler would take one job of each queue in turn",
            "help_starving_jobs": "jobs that have waited for max_starve would come first and get a reservation",
            "load_balancing": "nodes under load would get no job",
            "load_balancing_rr": "nodes would get jobs in turn",
            "sort_queues": "queues would come by their priority",
            "allow_aoe_calendar": "nodes would change their system for reservations",
            "preempt_starving": "starving jobs would preempt others",
            "preempt_fairshare": "users over their share would be preempted",
            "assign_ssinodes": "whole nodeboards would be given",
            "preempt_suspend": "jobs would be suspended for others",
            "preempt_checkpoint": "jobs would be checkpointed for others",
            "preempt_requeue": "jobs would be queued again for others",
            "server_dyn_res": "a script would say how much of the resource is free",
            "mom_resources": "nodes would say how much of the resource is free",
            "peer_queue": "jobs would come from another server's queue",
            "dynamic_res": "scripts would say how much of the resource is free",
        },
        *_OFF,
        "",
    )
    | _left_out(
        {
            "max_starve": "a job would count as starving after this time",
            "resource_unset_infinite": "nodes without these resources would have any amount of them",
            "sort_by": "jobs would come in this order",
            "update_comments": "jobs would not say why they wait",
        },
        "24:00:00",
        "",
        "no_sort",
        "fcfs",
        "true",
    )
    | _left_out(
        {"provision_policy": "nodes would be provisioned otherwise"}, "aggressive_provision", '"aggressive_provision"'
    )
    | _without_effect(
        "resources log_filter sync_time logevent cpus_per_ssinode fairshare_sync_time key ignore_nodes update_comments"
    )
)

VNODE_KEYS = (
    _modelled("text", "resources_available queue sharing np gpus properties")
    | _modelled("int", "Priority")
    | _left_out(
        {
            "state": "times in which the node was away",
            "mics": "jobs that ask for coprocessors would wait for them",
            "max_running": "no more jobs would run on the node",
            "max_user_run": "no more jobs of one user would run on the node",
            "max_group_run": "no more jobs of one group would run on the node",
            "partition": "another scheduler would serve the node",
            "current_aoe": "jobs that ask for another system would wait until the node is provisioned",
        }
    )
    | _left_out({"no_multinode_jobs": "jobs of several nodes would not run on it"}, *_OFF)
    | _left_out({"provision_enable": "the node could change its system for a job"}, *_OFF)
    | _left_out({"resv_enable": "the node would be in no reservation"}, "true")
    | _without_effect(
        "Mom Port pbs_version ntype pcpus resources_assigned license lictype jobs resv comment last_state_change_time last_used_time "
        "in_multivnode_host topology_info current_eoe vnode_pool poweroff_eligible power_provisioning hpcbp_enable hpcbp_user_name "
        "hpcbp_webservice_address hpcbp_stage_protocol maintenance_jobs ProvisionEnable status mom_service_port mom_manager_port "
        "power_state gpu_status note total_sockets total_numa_nodes total_cores total_threads dedicated_sockets dedicated_numa_nodes "
        "dedicated_cores dedicated_threads mic_status num_node_boards TTL requestid ttl error hold_jobs"
    )
)
