"""Small configurations to change and break in tests."""

from __future__ import annotations

from pathlib import Path

from traces.cluster.notes import Notes, Remark, TextFile
from traces.pbs.configuration.qmgr import ServerState, read_qmgr

QMGR = """\
create resource nodetype
set resource nodetype type = string_array
create queue short
set queue short queue_type = Execution
set queue short Priority = 80
set queue short resources_max.walltime = 02:00:00
set queue short resources_max.ncpus = 64
set queue short max_run = [u:PBS_GENERIC=4]
set queue short max_run += [u:"fred"=8]
set queue short enabled = True
set queue short started = True
create queue big
set queue big queue_type = Execution
set queue big default_chunk.nodetype = fat
set queue big acl_group_enable = True
set queue big acl_groups = physics,-guests
set queue big enabled = True
create queue first
set queue first queue_type = Route
set queue first route_destinations = short
set server scheduling = True
set server default_queue = short
set server max_run_res.ncpus = [u:PBS_GENERIC=256],[o:PBS_ALL=1000]
set server max_run_res_soft.mem = [g:PBS_GENERIC=100gb]
set server resources_available.matlab = 12
set server resources_default.walltime = 24:00:00
set server job_sort_formula = "eligible_time - ncpus"
set server node_fail_requeue = 310
"""
PBSNODES = """\
n1
     Mom = n1
     pbs_version = 23.06.06
     state = free
     Priority = 5
     resources_available.host = n1
     resources_available.mem = 64gb
     resources_available.ncpus = 16
     resources_available.ngpus = 2
     resources_available.nodetype = thin
     resources_available.scratch = 1tb
     resources_assigned.ncpus = 0
     sharing = default_shared

n2
     state = offline,job-busy
     resources_available.host = box
     resources_available.mem = 131857908kb
     resources_available.ncpus = 32
     resources_available.nodetype = fat,new
     sharing = force_excl
     last_state_change_time = Thu Nov 26 07:14:07 2026
"""
SCHED_CONFIG = """\
strict_ordering: True prime
strict_ordering: False non_prime
by_queue: True ALL
round_robin: False all
job_sort_key: "cput LOW" ALL
job_sort_key: "ncpus HIGH" ALL
node_sort_key: "sort_priority HIGH"	ALL
fairshare_decay_factor: 0.5
load_balancing: true ALL
resources: "ncpus, mem, scratch"
colour_of_jobs: red
"""
MAUI = """\
SERVERHOST            head   # the server
RMPOLLINTERVAL        00:00:30
BACKFILLPOLICY        FIRSTFIT
RESERVATIONPOLICY     CURRENTHIGHEST
RESERVATIONDEPTH[DEFAULT] 2
QUEUETIMEWEIGHT       1
FSWEIGHT              100
JOBAGGREGATIONTIME    00:00:04
USERCFG[DEFAULT]      MAXPS=4500000,9000000 MAXIJOB=5
USERCFG[fred]         MAXPROC=128 PRIORITY=10 FSTARGET=25.0+
CLASSCFG[short]       MAXJOB=20 MAXJOB[USER]=4 PRIORITY=100
CLASSCFG[DEFAULT]     MAXPROC=512
QOSCFG[high]          PRIORITY=1000
SRCFG[day]            STARTTIME=8:00:00 ENDTIME=17:00:00 DAYS=MON,FRI
SRCFG[day]            HOSTLIST=n1 CLASSLIST=short+
SHINYWEIGHT           3
"""


def file_of(name: str, text: str) -> TextFile:
    """A file as it is read."""
    return TextFile(name, text)


def state_of(text: str, name: str = "qmgr.txt") -> tuple[ServerState, Notes]:
    """What qmgr prints, read."""
    state, notes = ServerState(), Notes()
    read_qmgr(TextFile(name, text), state, notes)
    return state, notes


def write_configuration(folder: Path, **texts: str) -> list[Path]:
    """Files by name, where __ stands for a dot."""
    paths = []
    for name, text in texts.items():
        paths.append(folder / name.replace("__", "."))
        paths[-1].write_text(text)
    return paths


def said(remarks: tuple[Remark, ...] | list[Remark], kind: str) -> dict[str, str]:
    """Key -> effect of the remarks of a kind."""
    return {remark.key: remark.effect for remark in remarks if remark.kind == kind}
