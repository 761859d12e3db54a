"""What a careful reader of the real accounting files would write down, record by record; written down without our reader.

Worked out from the text of the files in traces/pbs of the shared folder, and checked against what that text says twice
(total_execution_slots, resources_used.ncpus, nodect, unique_node_count). Columns are those of `traces.pbs.reader.PBS_RECORD_SCHEMA`;
what is left out is unknown.

Decided by the eye:
- logged_s is the stamp as the clock showed it, counted as if it were UTC; etime=0 is no time.
- procs is what the job was given, so a queued job has none. exec_host tells: n/0-19 are 20 slots, n/0*5 are 5, n/7 is 1.
- nodes are those that the text counts (nodect, unique_node_count), else the different hosts of exec_host.
- A chunk of a select without ncpus is of one processor, the default of PBS.
- Memory is mem, never vmem; mem=30b is 1 kB, rounded up, and 100GB are 100 * 2**20 kB.
- gpus are unknown where no word about them stands, as in all Torque records of these files.
- The Y record gives 36 processors and 4 gpus of one node to a reservation, `nodes=(casper25:ncpus=36:ngpus=4:...)`;
  its count=2900 counts occurrences of the reservation, not runs of a job.
- Torque 6 asks with `-L tasks=1:lprocs=80:memory=100GB`: 80 processors and 100 GB for each of 1 task; such requests add up.
"""

from __future__ import annotations

# What all records of a job tell alike.
STARTED = {
    "record_type": "S", "logged_s": 1_349_654_437, "job_id": "1026666[24261].github.com", "user_name": "blm768",
    "group_name": "test", "queue": "tiny", "job_name": "ABC-24261", "ctime_s": 1_349_631_420,
    "qtime_s": 1_349_631_420, "etime_s": 1_349_631_420, "start_s": 1_349_679_637, "exec_host": "n057/6", "procs": 1,
    "requested_procs": 1, "requested_walltime_s": 7200, "nodes": 1,
}  # fmt: skip
ENDED = {
    "record_type": "E", "logged_s": 1_349_654_439, "job_id": "1026666[24252].github.com", "user_name": "blm768",
    "group_name": "test", "queue": "tiny", "job_name": "ABC-24252", "ctime_s": 1_349_631_420,
    "qtime_s": 1_349_631_420, "etime_s": 1_349_631_420, "start_s": 1_349_679_573, "end_s": 1_349_679_639,
    "exec_host": "n032/7", "procs": 1, "requested_procs": 1, "requested_walltime_s": 7200, "used_walltime_s": 67,
    "used_cpu_s": 63, "exit_status": 0, "nodes": 1, "used_memory_kb": 139_776,
}  # fmt: skip
REQUEUED = {
    "job_id": "4215033.casper-pbs", "user_name": "vanderwb", "group_name": "csgteam", "account": "SCSG0001",
    "project": "_pbs_project_default", "job_name": "STDIN", "ctime_s": 1_743_440_355, "qtime_s": 1_743_440_355,
    "requested_procs": 1, "requested_walltime_s": 21_600, "gpus": 0, "nodes": 1, "requested_memory_kb": 1,
}  # fmt: skip
THIRTY_GB = {
    "job_id": "4215034.casper-pbs", "user_name": "vanderwb", "group_name": "csgteam", "account": "SCSG0001",
    "project": "_pbs_project_default", "job_name": "STDIN", "ctime_s": 1_743_440_363, "qtime_s": 1_743_440_363,
    "requested_procs": 1, "requested_walltime_s": 21_600, "gpus": 0, "nodes": 1, "requested_memory_kb": 31_457_280,
}  # fmt: skip
LONGER = {
    "job_id": "4215065.casper-pbs", "user_name": "vanderwb", "group_name": "csgteam", "account": "SCSG0001",
    "project": "_pbs_project_default", "job_name": "STDIN", "ctime_s": 1_743_440_746, "qtime_s": 1_743_440_746,
    "requested_procs": 1, "requested_walltime_s": 21_600, "gpus": 0, "nodes": 1, "requested_memory_kb": 31_457_280,
}  # fmt: skip
MATLAB = {
    "job_id": "4215265.casper-pbs", "user_name": "bneuman", "group_name": "ncar", "account": "SCSG0001",
    "project": "_pbs_project_default", "job_name": "bneuman_matlab", "ctime_s": 1_743_442_446,
    "qtime_s": 1_743_442_446, "requested_procs": 5, "requested_walltime_s": 1500, "gpus": 0, "nodes": 1,
    "requested_memory_kb": 10_485_760,
}  # fmt: skip
WHOLE_NODE = {
    "job_id": "13512.pitzer-batch.ten.osc.edu", "user_name": "troy", "group_name": "PZS0708", "account": "PZS0708",
    "queue": "newsyntax", "job_name": "ht-test-allowthreads-wholenode", "ctime_s": 1_540_501_291,
    "qtime_s": 1_540_501_291, "etime_s": 1_540_501_291, "start_s": 1_540_501_334, "exec_host": "p0221/0-79",
    "procs": 80, "requested_procs": 80, "requested_walltime_s": 3600, "nodes": 1, "run_count": 1,
    "requested_memory_kb": 104_857_600,
}  # fmt: skip
TWO_TASKS = {
    "job_id": "16057.pitzer-batch.ten.osc.edu", "user_name": "troy", "group_name": "PZS0708", "account": "PZS0708",
    "queue": "newsyntax", "job_name": "twotasks", "ctime_s": 1_541_167_460, "qtime_s": 1_541_167_460,
    "etime_s": 1_541_167_460, "start_s": 1_541_167_467, "exec_host": "p0034/0+p0070/0", "procs": 2,
    "requested_procs": 2, "requested_walltime_s": 3600, "nodes": 2, "run_count": 1, "requested_memory_kb": 8_388_608,
}  # fmt: skip

RECORDS: dict[str, list[dict[str, object]]] = {
    "bookie-torque.log": [STARTED | {"line": 1}, ENDED | {"line": 2}],
    "bookie-torque-invalid-lines.log": [STARTED | {"line": 2}, ENDED | {"line": 3}],
    "bookie-torque-invalid-lines-2.log": [STARTED | {"line": 1}, ENDED | {"line": 2}],
    "hnormalise-torque-spec.log": [
        {"line": 1, "record_type": "E", "logged_s": 1_491_397_613, "job_id": "45.mymaster.somecluster.somedomain",
         "user_name": "vsc40075", "group_name": "vsc40075", "queue": "short", "job_name": "STDIN",
         "ctime_s": 1_491_390_300, "qtime_s": 1_491_390_300, "etime_s": 1_491_390_300, "start_s": 1_491_390_307,
         "end_s": 1_491_390_413,
         "exec_host": "node2801.somecluster.somedomain/0-1+node2803.somecluster.somedomain/0-1", "procs": 4,
         "requested_procs": 4, "requested_walltime_s": 3600, "used_walltime_s": 104, "used_cpu_s": 0,
         "exit_status": 0, "nodes": 2, "used_memory_kb": 55_048},
        {"line": 2, "record_type": "E", "logged_s": 1_389_571_027,
         "job_id": "161299[389].mymaster.somecluster.somedomain", "user_name": "vsc40909", "group_name": "vsc40909",
         "queue": "short", "job_name": "30by40XconChoicesResults-389", "ctime_s": 1_389_546_423,
         "qtime_s": 1_389_546_423, "etime_s": 1_389_546_423, "start_s": 1_389_567_229, "end_s": 1_389_567_427,
         "exec_host": "+".join(f"node2135.somecluster.somedomain/{slot}" for slot in range(16)), "procs": 16,
         "requested_procs": 16, "requested_walltime_s": 18_000, "used_walltime_s": 201, "used_cpu_s": 2920,
         "exit_status": 0, "nodes": 1, "used_memory_kb": 307_504},
        {"line": 3, "record_type": "E", "logged_s": 1_406_026_803, "job_id": "621344.master15.delcatty.gent.vsc",
         "user_name": "vsc40035", "group_name": "vsc40035", "queue": "long", "job_name": "NB03N",
         "ctime_s": 1_406_019_524, "qtime_s": 1_406_019_524, "etime_s": 1_406_019_524, "start_s": 1_406_019_532,
         "end_s": 1_406_019_603, "exec_host": "+".join(f"node2142.delcatty.gent.vsc/{slot}" for slot in range(16)),
         "procs": 16, "requested_procs": 16, "requested_walltime_s": 259_200, "used_walltime_s": 74, "used_cpu_s": 25,
         "exit_status": 271, "nodes": 1, "used_memory_kb": 5316},
        {"line": 4, "record_type": "E", "logged_s": 1_501_736_842, "job_id": "268279.master21.swalot.gent.vsc",
         "user_name": "vsc41771", "group_name": "vsc41771", "account": "lt1_2017-43", "queue": "short",
         "job_name": "/user/scratch/gent/gvo000/gvo00003/vsc41771/amsterdam/restrained_md/test_withoutplumed",
         "ctime_s": 1_501_686_015, "qtime_s": 1_501_686_015, "etime_s": 1_501_686_015, "start_s": 1_501_686_467,
         "end_s": 1_501_729_642, "exec_host": "node2612.swalot.gent.vsc/0-19+node2681.swalot.gent.vsc/0-19",
         "procs": 40, "requested_procs": 40, "requested_walltime_s": 43_140, "used_walltime_s": 43_170,
         "used_cpu_s": 1_725_002, "exit_status": -11, "nodes": 2, "used_memory_kb": 16_209_816},
        {"line": 5, "record_type": "Q", "logged_s": 1_498_660_269, "job_id": "80.mymaster.somecluster.somedomain",
         "queue": "default"},
        {"line": 6, "record_type": "Q", "logged_s": 1_501_165_061, "job_id": "5.master24.somecluster.somedomain",
         "queue": "default"},
        {"line": 7, "record_type": "Q", "logged_s": 1_420_041_108,
         "job_id": "1166970[].somemaster.somecluster.gent.vsc", "queue": "long"},
        {"line": 8, "record_type": "D", "logged_s": 1_498_664_642, "job_id": "81.mymaster.somecluster.somedomain",
         "requestor": "vsc40075"},
        {"line": 9, "record_type": "A", "logged_s": 1_378_143_266, "job_id": "34106.mymaster.somecluster.somedomain"},
        {"line": 10, "record_type": "S", "logged_s": 1_497_957_889, "job_id": "63.mymaster.somecluster.somedomain",
         "user_name": "vsc40075", "group_name": "vsc40075", "queue": "short", "job_name": "STDIN",
         "ctime_s": 1_497_950_675, "qtime_s": 1_497_950_675, "etime_s": 1_497_950_675, "start_s": 1_497_950_689,
         "exec_host": "node2801.somecluster.somedomain/0", "procs": 1, "requested_procs": 1,
         "requested_walltime_s": 600, "nodes": 1},
        {"line": 11, "record_type": "S", "logged_s": 1_235_389_715, "job_id": "102355.master.cvos.cluster",
         "user_name": "vsc40014", "group_name": "vsc40014", "queue": "short_eth",
         "job_name": "MtChr5_9036000_rmwrap.sh", "ctime_s": 1_235_384_686, "qtime_s": 1_235_384_686,
         "etime_s": 1_235_384_686, "start_s": 1_235_386_115, "exec_host": "node047.cvos.cluster/4", "procs": 1,
         "requested_procs": 1, "requested_walltime_s": 3600, "nodes": 1},
    ],
    "ncar-pbsparse-tests.log": [
        {"line": 1, "record_type": "E", "logged_s": 1_744_798_788, "job_id": "4413086.casper-pbs",
         "user_name": "vanderwb", "group_name": "csgteam", "account": "SCSG0001", "project": "_pbs_project_default",
         "queue": "vis", "job_name": "vncs-default", "ctime_s": 1_744_817_013, "qtime_s": 1_744_817_013,
         "etime_s": 1_744_817_013, "start_s": 1_744_817_058, "end_s": 1_744_820_388, "exec_host": "casper15/3",
         "procs": 1, "requested_procs": 1, "requested_walltime_s": 14_400, "used_walltime_s": 3326, "used_cpu_s": 176,
         "exit_status": 271, "eligible_wait_s": 48, "gpus": 1, "nodes": 1, "run_count": 1,
         "requested_memory_kb": 10_485_760, "used_memory_kb": 1_243_224},
        {"line": 2, "record_type": "R", "logged_s": 1_744_730_098, "job_id": "4400521.casper-pbs",
         "user_name": "rpconroy", "group_name": "decs", "account": "P43713000", "project": "_pbs_project_default",
         "queue": "rda", "job_name": "dask-wk24-hpc", "ctime_s": 1_744_751_276, "qtime_s": 1_744_751_276,
         "etime_s": 1_744_751_276, "start_s": 1_744_751_695, "end_s": 1_744_751_698, "exec_host": "crhtc07/14",
         "procs": 1, "requested_procs": 1, "requested_walltime_s": 36_000, "used_walltime_s": 0, "used_cpu_s": 0,
         "exit_status": -3, "eligible_wait_s": 13, "gpus": 0, "nodes": 1, "run_count": 21,
         "requested_memory_kb": 4_194_304, "used_memory_kb": 0},
        {"line": 3, "record_type": "D", "logged_s": 1_744_821_875, "job_id": "4421332.casper-pbs",
         "requestor": "bneuman"},
        {"line": 4, "record_type": "A", "logged_s": 1_744_628_160, "job_id": "4386764.casper-pbs",
         "message": "Job deleted as result of dependency on job 4386762.casper-pbs"},
        {"line": 5, "record_type": "Y", "logged_s": 1_744_133_420, "job_id": "S3011784.casper-pbs",
         "start_s": 1_744_207_200, "end_s": 1_744_241_400, "procs": 36, "gpus": 4, "nodes": 1,
         "requestor": "Scheduler"},
        {"line": 6, "record_type": "a", "logged_s": 1_743_629_783, "job_id": "4237334.casper-pbs",
         "requested_procs": 1, "requested_memory_kb": 1_048_576},
        {"line": 7, "record_type": "C", "logged_s": 1_738_239_221, "job_id": "3632465.casper-pbs"},
        {"line": 8, "record_type": "E", "logged_s": 1_770_840_741, "job_id": "2281314.casper-pbs",
         "user_name": "vanderwb", "group_name": "csgteam", "account": "SCSG0001", "project": "_pbs_project_default",
         "queue": "htc", "job_name": "qcmd", "ctime_s": 1_770_865_912, "qtime_s": 1_770_865_912,
         "etime_s": 1_770_865_912, "start_s": 1_770_865_936, "end_s": 1_770_865_941, "exec_host": "crhtc65/24",
         "procs": 1, "requested_procs": 1, "requested_walltime_s": 3600, "used_walltime_s": 1, "used_cpu_s": 0,
         "exit_status": 0, "eligible_wait_s": 26, "gpus": 0, "nodes": 1, "run_count": 1,
         "requested_memory_kb": 10_485_760, "used_memory_kb": 3792},
        {"line": 9, "record_type": "E", "logged_s": 1_770_841_007, "job_id": "2281981.casper-pbs",
         "user_name": "vanderwb", "group_name": "csgteam", "account": "SCSG0001", "project": "_pbs_project_default",
         "queue": "htc", "job_name": "qcmd", "ctime_s": 1_770_866_179, "qtime_s": 1_770_866_179,
         "etime_s": 1_770_866_179, "start_s": 1_770_866_202, "end_s": 1_770_866_207,
         "exec_host": "crhtc67/13+crhtc70/17", "procs": 2, "requested_procs": 2, "requested_walltime_s": 3600,
         "used_walltime_s": 1, "used_cpu_s": 0, "exit_status": 0, "eligible_wait_s": 24, "gpus": 0, "nodes": 2,
         "run_count": 1, "requested_memory_kb": 20_971_520, "used_memory_kb": 4580},
    ],
    "ncar-qhist-casper-testdata.log": [
        REQUEUED | {"line": 1, "record_type": "Q", "logged_s": 1_743_418_755, "queue": "casper", "etime_s": 0},
        REQUEUED | {"line": 2, "record_type": "Q", "logged_s": 1_743_418_755, "queue": "htc",
         "etime_s": 1_743_440_355},
        REQUEUED | {"line": 3, "record_type": "S", "logged_s": 1_743_418_760, "queue": "htc",
         "etime_s": 1_743_440_355, "start_s": 1_743_440_360, "exec_host": "crhtc65/34", "procs": 1, "assigned_procs": 1},
        THIRTY_GB | {"line": 4, "record_type": "Q", "logged_s": 1_743_418_763, "queue": "casper", "etime_s": 0},
        THIRTY_GB | {"line": 5, "record_type": "Q", "logged_s": 1_743_418_763, "queue": "htc",
         "etime_s": 1_743_440_363},
        REQUEUED | {"line": 6, "record_type": "R", "logged_s": 1_743_418_765, "queue": "htc",
         "etime_s": 1_743_440_355, "start_s": 1_743_440_360, "end_s": 1_743_440_365, "exec_host": "crhtc65/34",
         "procs": 1, "used_walltime_s": 0, "used_cpu_s": 0, "exit_status": -3, "eligible_wait_s": 8, "run_count": 1,
         "used_memory_kb": 0},
        REQUEUED | {"line": 7, "record_type": "S", "logged_s": 1_743_418_771, "queue": "htc",
         "etime_s": 1_743_440_355, "start_s": 1_743_440_371, "exec_host": "crhtc65/34", "procs": 1, "assigned_procs": 1},
        THIRTY_GB | {"line": 8, "record_type": "S", "logged_s": 1_743_418_774, "queue": "htc",
         "etime_s": 1_743_440_363, "start_s": 1_743_440_374, "exec_host": "crhtc86/12", "procs": 1, "assigned_procs": 1},
        REQUEUED | {"line": 9, "record_type": "E", "logged_s": 1_743_418_775, "queue": "htc",
         "etime_s": 1_743_440_355, "start_s": 1_743_440_371, "end_s": 1_743_440_375, "exec_host": "crhtc65/34",
         "procs": 1, "used_walltime_s": 0, "used_cpu_s": 0, "exit_status": -1, "eligible_wait_s": 8, "run_count": 2,
         "used_memory_kb": 0},
        THIRTY_GB | {"line": 10, "record_type": "E", "logged_s": 1_743_418_992, "queue": "htc",
         "etime_s": 1_743_440_363, "start_s": 1_743_440_374, "end_s": 1_743_440_592, "exec_host": "crhtc86/12",
         "procs": 1, "used_walltime_s": 216, "used_cpu_s": 9, "exit_status": 0, "eligible_wait_s": 13, "run_count": 1,
         "used_memory_kb": 756_960},
        LONGER | {"line": 11, "record_type": "Q", "logged_s": 1_743_419_146, "queue": "casper", "etime_s": 0},
        LONGER | {"line": 12, "record_type": "Q", "logged_s": 1_743_419_146, "queue": "htc", "etime_s": 1_743_440_746},
        LONGER | {"line": 13, "record_type": "S", "logged_s": 1_743_419_153, "queue": "htc", "etime_s": 1_743_440_746,
         "start_s": 1_743_440_753, "exec_host": "crhtc82/32", "procs": 1, "assigned_procs": 1},
        MATLAB | {"line": 14, "record_type": "Q", "logged_s": 1_743_420_846, "queue": "casper", "etime_s": 0},
        MATLAB | {"line": 15, "record_type": "Q", "logged_s": 1_743_420_846, "queue": "htc", "etime_s": 1_743_442_446},
        MATLAB | {"line": 16, "record_type": "S", "logged_s": 1_743_420_852, "queue": "htc", "etime_s": 1_743_442_446,
         "start_s": 1_743_442_452, "exec_host": "crhtc72/0*5", "procs": 5, "assigned_procs": 5},
        MATLAB | {"line": 17, "record_type": "E", "logged_s": 1_743_420_875, "queue": "htc", "etime_s": 1_743_442_446,
         "start_s": 1_743_442_452, "end_s": 1_743_442_475, "exec_host": "crhtc72/0*5", "procs": 5,
         "used_walltime_s": 19, "used_cpu_s": 30, "exit_status": 0, "eligible_wait_s": 8, "run_count": 1,
         "used_memory_kb": 3_163_632},
        LONGER | {"line": 18, "record_type": "E", "logged_s": 1_743_421_169, "queue": "htc", "etime_s": 1_743_440_746,
         "start_s": 1_743_440_753, "end_s": 1_743_442_769, "exec_host": "crhtc82/32", "procs": 1,
         "used_walltime_s": 2007, "used_cpu_s": 16, "exit_status": 0, "eligible_wait_s": 15, "run_count": 1,
         "used_memory_kb": 753_360},
    ],
    "osc-pbstools-pbsacct-unittest.log": [
        WHOLE_NODE | {"line": 1, "record_type": "S", "logged_s": 1_540_486_934},
        WHOLE_NODE | {"line": 2, "record_type": "E", "logged_s": 1_540_486_968, "end_s": 1_540_501_368,
         "used_walltime_s": 33, "used_cpu_s": 253, "exit_status": 0, "used_memory_kb": 15_448_300},
        TWO_TASKS | {"line": 3, "record_type": "S", "logged_s": 1_541_153_067},
        TWO_TASKS | {"line": 4, "record_type": "E", "logged_s": 1_541_153_158, "end_s": 1_541_167_558,
         "used_walltime_s": 84, "used_cpu_s": 0, "exit_status": 271, "used_memory_kb": 1776},
        {"line": 5, "record_type": "E", "logged_s": 1_234_549_890, "job_id": "123456.fakehost.lan",
         "user_name": "foo", "group_name": "bar", "queue": "batch", "job_name": "job", "ctime_s": 1_234_567_890,
         "qtime_s": 1_234_567_890, "etime_s": 1_234_567_890, "start_s": 1_234_567_890, "end_s": 1_234_567_890,
         "exec_host": "node01/1+node02/2", "procs": 2, "requested_procs": 8, "requested_walltime_s": 3600,
         "used_walltime_s": 1, "used_cpu_s": 2, "exit_status": 0, "nodes": 2, "run_count": 1,
         "requested_memory_kb": 1_048_576, "used_memory_kb": 1024},
    ],
}  # fmt: skip

# Lines that are no records, verbatim, and how many are blank; other files have neither.
REJECTS: dict[str, list[tuple[int, str]]] = {
    "bookie-torque-invalid-lines.log": [
        (1, "invalid line"),
        (4, "another; invalid line"),
        (5, "yet another;E;invalid line"),
    ],
    "bookie-torque-invalid-lines-2.log": [(3, "another; invalid line"), (4, "yet another;E;invalid line")],
}
BLANK_LINES = {"bookie-torque.log": 1}
