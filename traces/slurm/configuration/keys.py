"""What each key of slurm.conf, and of `scontrol show config`, does to a schedule.

The facts are from the man page slurm.conf(5), of versions 2.6 to 26.05. Keys are in lower case. Forms are those of `slurm_setting`.

A key is modelled if two of its values give two different replays, which `tests/assets/replaying/own/slurm` shows for each.
"""

from __future__ import annotations

from traces.cluster.notes import MODELLED, NO_EFFECT, NOT_MODELLED, KnownKey

UNSET_VALUES = ("", "(null)", "n/a", "none", "no", "0", "off", "false")
KEPT_APART = ("licenses", "maxmempercpu", "maxmempernode", "topologyparam")
"""Keys that are in the description for the checks against a log, though no replay follows them."""
_REFUSES = "jobs that it keeps out are refused when they are submitted; a log has only those that were taken"


def without_effect(names: str) -> dict[str, KnownKey]:
    """A row for each name, of keys that do not change schedules."""
    return {name: KnownKey(NO_EFFECT) for name in names.split()}


def in_description(form: str, names: str) -> dict[str, KnownKey]:
    """A row for each name, of keys that are in the description."""
    return {name: KnownKey(MODELLED, form=form) for name in names.split()}


def left_out(effects: dict[str, str], *harmless: str) -> dict[str, KnownKey]:
    """A row for each name, of keys that change schedules and are left out. harmless: values with which they do not."""
    return {name: KnownKey(NOT_MODELLED, effect, (*UNSET_VALUES, *harmless)) for name, effect in effects.items()}


GENERAL_KEYS = (
    in_description(
        "text",
        "schedulertype selecttype prioritytype preempttype topologyplugin schedulerparameters "
        "preemptparameters defmempercpu defmempernode defmempergpu defcpupergpu jobdefaults",
    )
    | in_description("weights", "priorityweighttres")
    | in_description("words", "selecttypeparameters priorityflags preemptmode accountingstorageenforce")
    | {"topologyparam": KnownKey(NO_EFFECT, form="words")}
    | in_description(
        "int",
        "priorityweightage priorityweightassoc priorityweightfairshare priorityweightjobsize priorityweightpartition "
        "priorityweightqos fairsharedampeningfactor",
    )
    | in_description("span", "prioritymaxage prioritydecayhalflife prioritycalcperiod preemptexempttime")
    | in_description("seconds", "killwait minjobage")
    | in_description("bool", "priorityfavorsmall jobrequeue")
    | left_out(
        {
            "schedulertimeslice": "jobs that share CPUs under gang scheduling would change places this often",
        },
        "30",
    )
    | left_out(
        {
            "licenses": "jobs would wait for licences; a log does not say which jobs hold them",
            "maxmempercpu": "jobs that ask for more get more CPUs or are refused; a log has what they got",
            "maxmempernode": "jobs that ask for more are refused; a log has only those that were taken",
            "completewait": "no job would start while others have been completing for less than this",
            "overtimelimit": "jobs may run over their limits by so much; run times are those of the log",
            "priorityusageresetperiod": "usage would be cleared once a period",
            "suspendtime": "idle nodes would be switched off, and need time to boot before a job starts",
            "resvoverrun": "jobs of a reservation may run on after its end",
        },
        "infinite", "-1",
    )
    | left_out(
        {
            "prolog": "a job would start later by the time of this program",
            "epilog": "a node would take no job until this program has ended",
            "prologslurmctld": "a job would start later by the time of this program",
            "epilogslurmctld": "a job would be completing until this program has ended",
            "resvprolog": "a program would run when a reservation begins",
            "resvepilog": "a program would run when a reservation ends",
            "healthcheckprogram": "nodes that fail this check would take no jobs",
            "jobsubmitplugins": "requests would be changed or refused when they are submitted; the log has the result",
            "clifilterplugins": "requests would be changed or refused when they are submitted; the log has the result",
            "burstbuffertype": "jobs would wait for space in the burst buffer",
            "nodefeaturesplugins": "nodes would be rebooted to have the features that a job asks for",
            "prioritysitefactorplugin": "a plug-in of the site would add to the priority",
            "prioritysitefactorparameters": "a plug-in of the site would add to the priority",
            "priorityparameters": "the priority plug-in would work otherwise",
            "federationparameters": "jobs would be shared with other clusters",
            "dependencyparameters": "dependencies would be decided otherwise",
            "requeueexit": "jobs that end with these codes would be queued again",
            "requeueexithold": "jobs that end with these codes would be queued again and held",
            "mcsplugin": "nodes would take jobs of one label only",
            "rebootprogram": "nodes may be rebooted for a job, which starts later then",
            "resumeprogram": "nodes that are switched off would be started for a job",
            "allowspecresourcesusage": "jobs may ask for the cores that are set aside for the system",
            "routeplugin": "messages would go another way",
            "extsensorstype": "energy would be counted",
            "maxtaskspernode": "jobs with more tasks on a node are refused",
            "schedulerrootfilter": "jobs of root would be left out of the queue",
            "trackwckey": "limits and shares could be by workload key",
            "slurmdparameters": "nodes would count their sockets or memory otherwise",
        },
        "mcs/none", "route/default", "ext_sensors/none", "ext_sensors/(null)", "512", "1", "2", "config_overrides", "job_submit/none",
    )
    | left_out({"maxbatchrequeue": "a job that was requeued more often would be held; a log has how its jobs ended"}, "5")
    | {"fastschedule": KnownKey(NOT_MODELLED, "nodes would count with what they report, not with what is configured", ("1", "2"))}
    | without_effect(
        "accountingstoragebackuphost accountingstoragehost accountingstorageexternalhost accountingstorageparameters "
        "accountingstorageloc accountingstoragepass accountingstorageport accountingstoragetype accountingstorageuser "
        "accountingstoreflags accountingstorejobcomment acctgatherenergytype acctgatherfilesystemtype acctgatherinfinibandtype "
        "acctgatherinterconnecttype acctgathernodefreq acctgatherprofiletype authalttypes authaltparameters authinfo authtype "
        "backupaddr backupcontroller batchstarttimeout bcastexclude bcastparameters boot_time cachegroups certgenparameters certgentype "
        "certmgrparameters certmgrtype checkpointtype clifilterparameters "
        "clustername communicationparameters controladdr controlmachine corespecplugin cpufreqdef cpufreqgovernors credtype "
        "cryptotype dataparserparameters debugflags defruntimeplugin defaultstoragehost defaultstorageloc defaultstoragepass "
        "defaultstorageport defaultstoragetype defaultstorageuser disablerootjobs eiotimeout epilogmsgtime epilogtimeout "
        "extsensorsfreq firstjobid frontendname getenvtimeout gpufreqdef groupupdateforce groupupdatetime hashplugin hash_val "
        "healthcheckinterval healthchecknodestate healthchecktimeout httpparsertype "
        "inactivelimit interactivestepoptions jobacctgatherfrequency jobacctgathertype "
        "jobacctgatherparams jobcheckpointdir jobcomphost jobcomploc jobcompparams jobcomppass jobcomppassscript jobcompport jobcomptype "
        "jobcompuser "
        "jobcontainertype jobcredentialprivatekey jobcredentialpubliccertificate jobfileappend keepalivetime "
        "killonbadexit launchparameters launchtype logtimeformat mailprog maildomain maxdbdmsgs maxjobid maxnodecount maxstepcount "
        "accountingstoragetres enforcepartlimits grestypes maxarraysize maxjobcount "
        "licenseparameters location mcsparameters messagetimeout metricsauthusers metricsparameters metricstype "
        "mpidefault mpiparams multiple_slurmd namespaceparameters namespacetype next_job_id "
        "plugindir plugstackconfig poweraction powerparameters powerplugin program prepparameters prepplugins privatedata proctracktype "
        "prologepilogtimeout prologflags prologtimeout propagateprioprocess propagateresourcelimits propagateresourcelimitsexcept "
        "reconfigflags resumefailprogram resumerate resumetimeout returntoservice sallocdefaultcommand "
        "sbcastparameters serializerparameters serializerplugins slurmctldhttpauthparameters slurmdhttpauthparameters "
        "slurmrestdparameters slurmstepdparameters "
        "schedulerport schedulerauth scronparameters slurmctldaddr slurmctlddebug slurmctldhost slurmctldlogfile "
        "slurmctldparameters slurmctldpidfile slurmctldplugstack slurmctldport slurmctldprimaryoffprog slurmctldprimaryonprog "
        "slurmctldsyslogdebug slurmctldtimeout slurmddebug slurmdlogfile slurmdpidfile slurmdport slurmdspooldir "
        "slurmdsyslogdebug slurmdtimeout slurmduser slurmuser slurmschedlogfile slurmschedloglevel slurm_conf slurm_version "
        "srunepilog srunportrange srunprolog statesavelocation suspendexcnodes suspendexcparts suspendexcstates suspendprogram "
        "suspendrate suspendtimeout switchparameters switchtype taskepilog taskplugin taskpluginparam taskprolog tcptimeout tlsparameters "
        "tlstype urlparsertype "
        "tmpfs treewidth unkillablestepprogram unkillablesteptimeout url usepam vsizefactor waittime x11parameters"
    )
)  # fmt: skip

SLURM_NODE_KEYS = (
    in_description("text", "nodename gres feature state reason")
    | in_description("int", "boards cpus corespersocket sockets socketsperboard threadspercore weight corespeccount")
    | in_description("mib", "realmemory memspeclimit")
    | left_out(
        {
            "tmpdisk": "jobs that ask for local disk would wait for nodes that have it; a log does not say which do",
            "cpuspeclist": "these CPUs would be kept for the system",
            "restrictedcorespergpu": "these cores would be kept for jobs with GPUs",
            "features_act": "nodes would be rebooted to have other features",
            "topology": "jobs would be placed by this block or switch",
        }
    )
    | without_effect(
        "nodehostname nodeaddr bcastaddr cpubind port tresweights certtoken parameters arch cpualloc cpuefctv cputot "
        "cpuload activefeatures availablefeatures gresdrain gresused os allocmem freemem owner mcs_label partitions boottime "
        "slurmdstarttime lastbusytime cfgtres alloctres capwatts currentwatts averagewatts avewatts joules consumedjoules "
        "lowestjoules extsensorsjoules extsensorswatts extsensorstemp version comment extra instanceid instancetype "
        "resumeaftertime reservationname nextstate cpuerr resumetimeout suspendtimeout suspendtime "
        "dynamicnode"
    )
)
"""Of NodeName lines and of `scontrol show node`."""

PARTITION_KEYS = (
    in_description(
        "text",
        "partitionname nodes default maxtime defaulttime priority prioritytier priorityjobfactor qos oversubscribe defmempercpu "
        "defmempernode defmempergpu defcpupergpu jobdefaults tresbillingweights preemptmode gracetime",
    )
    | left_out(dict.fromkeys(("allowaccounts", "denyaccounts", "allowgroups", "allowqos", "denyqos"), _REFUSES), "all")
    | left_out({"state": "its jobs would wait until it is up, or be refused"}, "up")
    | left_out(
        {
            "minnodes": "jobs of fewer nodes are refused or wait; a log has only those that were taken",
            "maxnodes": "jobs of more nodes are refused or wait; a log has only those that were taken",
            "maxcpuspernode": "jobs of the partition would get no more CPUs of a node",
            "maxmempercpu": "jobs that ask for more get more CPUs or are refused; a log has what they got",
            "maxmempernode": "jobs that ask for more are refused; a log has only those that were taken",
        },
        "1",
        "unlimited",
        "infinite",
    )
    | left_out(
        {
            "allocnodes": "only jobs submitted from these nodes are taken",
            "alternate": "jobs would go to this partition while the partition is drained or down",
            "exclusive": "jobs would have whole nodes, or share them with jobs of their user or of one switch only",
            "exclusiveuser": "a node would run jobs of one user only",
            "exclusivetopo": "a switch would run one job only",
            "lln": "jobs would be put on the node that is least loaded",
            "maxcpuspersocket": "jobs would get at most so many CPUs of a socket",
            "overtimelimit": "jobs may run over their limit by so much",
            "reqresv": "only jobs of a reservation would run",
            "rootonly": "only root may submit",
            "suspendtime": "idle nodes would be switched off",
            "powerdownonidle": "nodes would be switched off when they are idle",
            "selecttypeparameters": "the partition would count other resources than the cluster",
            "topology": "the partition would have a tree of switches of its own",
        },
        "all",
        "infinite",
        "unlimited",
    )
    | without_effect(
        "cpubind disablerootjobs hidden resumetimeout suspendtimeout totalcpus totalnodes tres maxstartdelay nodesets"
    )
)
"""Of PartitionName lines and of `scontrol show partition`."""

OVERSUBSCRIBE = in_description("word", "no exclusive") | left_out(
    {
        "yes": "jobs that ask for it would share CPUs with others",
        "force": "jobs would share CPUs with others",
    }
)
"""Of OverSubscribe of a partition, without the number of jobs. With one job, as in FORCE:1, nothing is shared."""

OLD_SPELLINGS = {
    "procs": "cpus",
    "features": "feature",
    "shared": "oversubscribe",
    "maxmem": "maxmempernode",
    "allocgroups": "allowgroups",
    "priorityweightfairshares": "priorityweightfairshare",
}
"""Key of older versions -> the key of today."""
