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
        "assets/common/test_backup.py::test_a_backup_during_an_ingest_holds_whole_files",
        "assets/common/test_backup.py::test_killed*",
        "assets/common/test_parts.py",
        "assets/common/test_restore.py::test_killed*",
        "assets/experiments/test_ddppo_interrupted.py",
        "assets/ingest/test_update_damaged.py",
        "assets/ingest/test_update_killed.py",
        "assets/sharing/test_readers_copy.py",
        "benchmarks/test_faults.py",
        "pipelines/cli/test_errors_disk.py",
        "pipelines/test_running.py::test_two_first_runs_at_once_both_complete",
        "pipelines/test_running_again.py",
        "pipelines/test_running_killed.py",
        "warehouse/test_door.py",
    ),
    "random_inputs": (
        "random inputs, against a second, plain implementation or a fresh computation",
        "assets/ingest/test_canonical_jobs.py",
        "assets/ingest/test_canonical_jobs_slurm.py::test_random*",
        "assets/ingest/test_corrections.py",
        "assets/ingest/test_update.py::test_a_packed_file*",
        "assets/ingest/test_update.py::test_another_entry*",
        "assets/ingest/test_update.py::test_any*",
        "assets/ingest/test_update.py::test_days_out_of_order",
        "assets/ingest/test_update.py::test_the_same_file*",
        "assets/predictions/test_changed_parts.py",
        "assets/predictions/test_features.py::test_similar_jobs*",
        "models/runtime/past/test_histories.py",
        "models/runtime/past/test_similar.py",
        "models/runtime/test_live.py",
        "models/runtime/test_prequential_no_future.py",
        "pipelines/test_automation_incremental.py",
        "models/scheduling/learning/test_starts.py::test_a_network_picks_as_the_rule",
        "simulator/engine/test_engine_against_oracle.py",
        "simulator/engine/test_picking.py",
        "simulator/engine/test_queue_tree.py",
        "simulator/engine/test_static_deep_queues.py",
        "simulator/formula/test_parsing_errors.py::test_every_text*",
        "simulator/published/test_rlscheduler_loop.py",
        "simulator/published/test_rlschert.py::test_the_same_after_every_action",
        "simulator/published/test_rlschert_oracle.py",
        "simulator/published/test_schedinspector.py",
        "simulator/test_simulator_determinism.py",
        "simulator/test_simulator_oracle*",
        "simulator/topology/test_placement.py",
        "simulator/topology/test_switch*",
        "traces/common/test_blocks.py",
        "traces/pbs/test_scan.py::test_any*",
        "traces/swf/test_reader.py::test_any*",
        "traces/synthetic/test_weeks.py",
        "traces/vasp/test_outcar_cut.py",
    ),
    "studies": (
        "trainings, the studies of the papers, and printers of benchmarks",
        "assets/experiments/*",
        "benchmarks/*",
        "models/allocation/*",
        "models/backfilling/*",
        "models/remaining/*",
        "models/rlschert/*",
        "models/scheduling/workers/*",
        "pipelines/cli/learning/test_train.py",
        "pipelines/cli/learning/test_workers.py",
        "pipelines/cli/predicting/test_vasp.py",
        "pipelines/cli/reproducing/*",
    ),
    "whole_ways": (
        "whole pipelines, nights and real logs",
        "assets/common/test_storage_key.py",
        "assets/ingest/test_export.py",
        "assets/sharing/test_refresh.py",
        "assets/vasp/test_vasp_runs_clock.py::test_what_runs*",
        "assets/what_if/scenarios/test_results_of_kth.py",
        "assets/what_if/test_compare.py",
        "assets/what_if/test_judged.py::test_a_stored_run*",
        "assets/what_if/test_replay_runs.py",
        "models/judging/test_configurations.py",
        "models/waits/test_scoring.py",
        "pipelines/cli/keeping/test_backup.py",
        "pipelines/cli/keeping/test_export.py",
        "pipelines/cli/keeping/test_remove.py::test_a_first_ingest*",
        "pipelines/cli/keeping/test_remove.py::test_a_name*",
        "pipelines/cli/keeping/test_remove.py::test_a_replacement*",
        "pipelines/cli/keeping/test_remove.py::test_jobs_of_files*",
        "pipelines/cli/predicting/test_wait.py::test_waits_are_scored",
        "pipelines/cli/test_replay_nodes.py::test_jobs_and_nodes*",
        "pipelines/cli/test_run.py",
        "pipelines/test_automation_nightly.py",
        "traces/common/test_pseudonyms.py::test_a_log_is_loaded*",
        "traces/common/test_pseudonyms.py::test_names_are_kept*",
        "traces/slurm/test_document.py::test_memory*",
        "traces/vasp/test_runs_real.py",
        "tracehouse/test_replays.py::test_a_replay_is_that*",
        "warehouse/test_migrations.py::test_an_upgraded_warehouse*",
    ),
    "pages": (
        "the examples of all pages, the site, and what a browser shows",
        "assets/report/test_page_in_browser.py",
        "pipelines/web/test_services.py",
        "test_documents.py",
        "test_pictures.py",
        "test_site.py",
        "tracehouse/test_tracehouse_pages.py",
    ),
}
"""By kind: what it is, and patterns below `tests/`."""


@cache
def kind_of(test: str) -> str | None:
    """The kind of a test, None for one that is not thorough. test: its pytest name, such as `tests/test_site.py::test_links`."""
    name = test.removeprefix("tests/").partition("[")[0]
    file = name.partition("::")[0]
    for kind, (_, *patterns) in THOROUGH.items():
        if any(fnmatchcase(name if "::" in pattern else file, pattern) for pattern in patterns):
            return kind
    return None


def is_in_part(test: str, part: str) -> bool:
    """Whether a thorough test is in a part such as 2/4. A file is in one part as a whole. Raises ValueError for other texts."""
    number, _, parts = part.partition("/")
    return crc32(test.partition("::")[0].encode()) % int(parts) == int(number) % int(parts)
