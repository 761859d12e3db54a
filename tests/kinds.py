"""Which tests are thorough, and of which kind. `make test` leaves them out, `make test-all` runs all, and each landing runs a part.

A test is thorough where it takes long for what it guards: it tries many random inputs, kills processes, trains, or reads whole real
logs. The quick tests of the same code stay in `make test`. A pattern is a file, or a file and a test, with `*` for anything.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from functools import cache
from zlib import crc32

THOROUGH = {
    "faults": (
        "kills, full disks, damaged files, and processes that meet",
        "tests/assets/common/test_backup.py::test_a_backup_during_an_ingest_holds_whole_files",
        "tests/assets/common/test_backup.py::test_killed*",
        "tests/assets/common/test_parts.py",
        "tests/assets/common/test_restore.py::test_killed*",
        "tests/assets/common/writing/test_locks.py::test_a_restore_waits*",
        "tests/assets/common/writing/test_locks.py::test_a_source_that_went*",
        "tests/assets/common/writing/test_locks.py::test_nobody*",
        "tests/papers/ddppo/test_ddppo_interrupted.py",
        "tests/assets/ingest/test_update_damaged.py",
        "tests/assets/ingest/test_update_killed.py",
        "tests/assets/sharing/test_readers_copy.py",
        "tests/benchmarks/test_faults.py",
        "tests/compilation/test_compilation.py::test_many_processes*",
        "tests/tracehouse/cli/test_errors_disk.py",
        "tests/pipelines/test_running.py::test_two_first_runs_at_once_both_complete",
        "tests/pipelines/test_running_again.py",
        "tests/pipelines/test_running_killed.py",
        "tests/warehouse/test_door.py",
    ),
    "random_inputs": (
        "random inputs, against a second, plain implementation or a fresh computation",
        "tests/assets/ingest/test_canonical_jobs.py",
        "tests/assets/ingest/test_canonical_jobs_slurm.py::test_random*",
        "tests/assets/ingest/test_corrections.py",
        "tests/assets/ingest/test_update.py::test_a_day_in*",
        "tests/assets/ingest/test_update.py::test_a_file_that_is_empty*",
        "tests/assets/ingest/test_update.py::test_a_file_that_overlaps*",
        "tests/assets/ingest/test_update.py::test_a_line_that_was_half*",
        "tests/assets/ingest/test_update.py::test_a_packed_file*",
        "tests/assets/ingest/test_update.py::test_another_entry*",
        "tests/assets/ingest/test_update.py::test_any*",
        "tests/assets/ingest/test_update.py::test_days_out_of_order",
        "tests/assets/ingest/test_update.py::test_rotated*",
        "tests/assets/ingest/test_update.py::test_the_same_file*",
        "tests/assets/ingest/test_update.py::test_two_changes*",
        "tests/assets/predictions/test_changed_parts.py",
        "tests/assets/predictions/test_features.py::test_similar_jobs*",
        "tests/models/runtime/past/test_histories.py",
        "tests/models/runtime/past/test_similar.py",
        "tests/models/runtime/test_live.py",
        "tests/models/runtime/test_prequential_no_future.py",
        "tests/pipelines/test_automation_incremental.py",
        "tests/models/scheduling/learning/test_starts.py::test_a_network_picks_as_the_rule",
        "tests/simulator/engine/test_engine_against_oracle.py",
        "tests/simulator/engine/test_picking.py",
        "tests/simulator/engine/test_queue_tree.py",
        "tests/simulator/engine/test_static_deep_queues.py",
        "tests/simulator/formula/test_parsing_errors.py::test_every_text*",
        "tests/papers/rlscheduler/test_loop.py",
        "tests/papers/rlschert/test_rules.py::test_the_same_after_every_action",
        "tests/papers/rlschert/test_rules_oracle.py",
        "tests/papers/rlscheduler/test_inspecting.py",
        "tests/simulator/test_simulator_determinism.py",
        "tests/simulator/test_simulator_oracle*",
        "tests/simulator/test_simulator_slurm.py::test_nodes_and_limits_of_five_thousand*",
        "tests/simulator/topology/test_placement.py",
        "tests/simulator/topology/test_switch*",
        "tests/traces/common/test_blocks.py",
        "tests/traces/pbs/test_scan.py::test_any*",
        "tests/traces/swf/test_reader.py::test_any*",
        "tests/traces/synthetic/test_weeks.py",
        "tests/traces/vasp/test_outcar_cut.py",
    ),
    "studies": (
        "trainings, the studies of the papers, and printers of benchmarks",
        "tests/assets/experiments/*",
        "tests/benchmarks/*",
        "tests/studies/*",
        "tests/models/allocation/*",
        "tests/models/remaining/*",
        "tests/models/scheduling/workers/*",
        "tests/papers/ddppo/*",
        "tests/papers/deep_back_filling/test_[bnorst]*",
        "tests/papers/deep_back_filling/test_environment.py",
        "tests/papers/deep_back_filling/test_placing_file.py",
        "tests/papers/deep_back_filling/test_protocol_rivals.py",
        "tests/papers/neural_annealing/*",
        "tests/papers/rlscheduler/test_[cgt]*",
        "tests/papers/rlscheduler/test_published.py",
        "tests/papers/rlscheduler/test_study.py",
        "tests/papers/rlschert/test_[celmnopt]*",
        "tests/papers/rlschert/test_rlschert*",
        "tests/papers/rlschert/test_workload.py",
        "tests/papers/schedinspector/*",
        "tests/papers/test_paper_tables.py",
        "tests/papers/test_reproduce.py",
        "tests/tracehouse/cli/learning/test_train.py",
        "tests/tracehouse/cli/learning/test_train_workers.py",
        "tests/tracehouse/cli/predicting/test_vasp.py",
    ),
    "whole_ways": (
        "whole pipelines, nights and real logs",
        "tests/assets/common/test_storage_key.py",
        "tests/assets/evaluation/test_fidelity.py::test_a_cluster_that_grew*",
        "tests/assets/evaluation/test_fidelity.py::test_archive_logs*",
        "tests/assets/evaluation/test_fidelity.py::test_queues_that_own*",
        "tests/pipelines/test_first_use.py::test_afterwards*",
        "tests/assets/sharing/test_job_files.py::test_a_whole_real_log*",
        "tests/assets/sharing/test_job_files.py::test_an_swf_source*",
        "tests/assets/sharing/test_job_files.py::test_an_unknown_source*",
        "tests/assets/sharing/test_job_files.py::test_pbs_and_slurm*",
        "tests/assets/sharing/test_job_files.py::test_slurm_as_swf*",
        "tests/assets/vasp/test_vasp_runs_clock.py::test_what_runs*",
        "tests/assets/replay/scenarios/test_results_of_kth.py",
        "tests/assets/replay/scenarios/test_planning.py::test_a_wrong_scenario*",
        "tests/assets/replay/test_compare.py",
        "tests/assets/replay/test_replay_placement.py::test_impossible_jobs*",
        "tests/assets/replay/test_judged.py::test_a_stored_run*",
        "tests/assets/replay/test_replay_runs.py",
        "tests/models/judging/test_configurations.py",
        "tests/models/waits/test_scoring.py",
        "tests/simulator/slurm/test_backfill.py",
        "tests/simulator/slurm/test_loop.py",
        "tests/simulator/slurm/test_main_pass.py",
        "tests/simulator/slurm/test_replaying.py",
        "tests/studies/slurm/test_hpc_week.py",
        "tests/tracehouse/cli/keeping/test_backup.py",
        "tests/tracehouse/cli/keeping/test_export.py",
        "tests/tracehouse/cli/keeping/test_logs.py::test_a_time_zone*",
        "tests/tracehouse/cli/keeping/test_logs.py::test_columns*",
        "tests/tracehouse/cli/keeping/test_logs.py::test_times_beyond*",
        "tests/tracehouse/cli/keeping/test_remove.py::test_a_first_ingest*",
        "tests/tracehouse/cli/keeping/test_remove.py::test_a_name*",
        "tests/tracehouse/cli/keeping/test_remove.py::test_a_replacement*",
        "tests/tracehouse/cli/keeping/test_remove.py::test_jobs_of_files*",
        "tests/tracehouse/cli/predicting/test_wait.py::test_waits_are_scored",
        "tests/tracehouse/cli/test_replay_nodes.py::test_jobs_and_nodes*",
        "tests/tracehouse/cli/test_run.py",
        "tests/pipelines/test_automation_nightly.py",
        "tests/traces/common/test_pseudonyms.py::test_a_log_is_loaded*",
        "tests/traces/common/test_pseudonyms.py::test_names_are_kept*",
        "tests/traces/slurm/test_document.py::test_memory*",
        "tests/traces/vasp/test_runs_real.py",
        "tests/tracehouse/test_replays.py::test_a_replay_is_that*",
        "tests/warehouse/test_migrations.py::test_an_upgraded_warehouse*",
        "tests/warehouse/test_migrations.py::test_every_row_is_kept",
    ),
    "pages": (
        "the examples of all pages, the site, and what a browser shows",
        "tests/assets/report/test_page_in_browser.py",
        "tests/pipelines/web/test_services.py",
        "tests/test_documents.py",
        "tests/tracehouse/test_tracehouse.py::test_examples_of_docstrings*",
        "tests/test_pictures.py",
        "tests/test_site.py",
        "tests/tracehouse/test_tracehouse_pages.py",
    ),
}
"""By kind: what it is, and patterns."""


@cache
def kind_of(test: str) -> str | None:
    """The kind of a test, None for one that is not thorough. test: its pytest name, such as `tests/test_site.py::test_links`."""
    name = test.partition("[")[0]
    file = name.partition("::")[0]
    for kind, (_, *patterns) in THOROUGH.items():
        if any(fnmatchcase(name if "::" in pattern else file, pattern) for pattern in patterns):
            return kind
    return None


def is_in_part(test: str, part: str) -> bool:
    """Whether a thorough test is in a part such as 2/4. A file is in one part as a whole. Raises ValueError for other texts."""
    number, _, parts = part.partition("/")
    return crc32(test.partition("::")[0].encode()) % int(parts) == int(number) % int(parts)
