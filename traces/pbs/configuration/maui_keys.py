"""What each parameter of `maui.cfg` does to a schedule (Maui Administrator's Guide, appendix F, and chapters 5 to 8).

Names are without case in Maui; here they are in capitals.
"""

from __future__ import annotations

from traces.cluster.notes import MODELLED, NO_EFFECT, NOT_MODELLED, KnownKey

_OLD_RESERVATION = (
    "SRACCESS SRACCOUNTLIST SRCHARGEACCOUNT SRCLASSLIST SRDAYS SRDEPTH SRENDTIME SRFEATURES SRFLAGS SRGROUPLIST SRHOSTLIST SRMAXTIME "
    "SRNAME SRPARTITION SRPERIOD SRQOSLIST SRRESOURCES SRSTARTTIME SRTASKCOUNT SRTIMELOGIC SRTPN SRUSERLIST SRWENDTIME SRWSTARTTIME"
)
_COMPONENTS = (
    "SERVICE QUEUETIME XFACTOR SPVIOLATION BYPASS CRED USER GROUP ACCOUNT QOS CLASS FS FSUSER FSGROUP FSACCOUNT FSQOS "
    "FSCLASS RES NODE PROC MEM SWAP DISK PS PE WALLTIME TARGET TARGETQUEUETIME TARGETXFACTOR USAGE CONSUMED REMAINING "
    "PERCENT USERPRIO AFS TARG USAGEPERCENT MEMORY"
)
_QUIET = (
    "SERVERHOST SERVERPORT SERVERNAME ADMIN1 ADMIN2 ADMIN3 ADMIN4 ADMINHOST RMCFG RMTYPE RMPORT RMSERVER RMNAME LOGFILE "
    "LOGDIR LOGFILEMAXSIZE LOGFILEROLLDEPTH LOGLEVEL LOGFACILITY STATDIR CHECKPOINTFILE CHECKPOINTINTERVAL "
    "CHECKPOINTEXPIRATIONTIME HOMEDIR TOOLSDIR SPOOLDIR MAILPROGRAM NOTIFICATIONPROGRAM CLIENTTIMEOUT LOCKFILE STATPROCMIN "
    "STATPROCMAX STATPROCSTEPCOUNT STATPROCSTEPSIZE STATTIMEMIN STATTIMEMAX STATTIMESTEPCOUNT STATTIMESTEPSIZE RMTIMEOUT "
    "FEATUREPROCSPEEDHEADER FEATURENODETYPEHEADER TRACE DISPLAYFLAGS SIMWORKLOADTRACEFILE SIMRESOURCETRACEFILE "
    "JOBSTATUSUPDATEINTERVAL NODEPURGETIME JOBPURGETIME RMAUTHTYPE SERVERCONFIGFILE CLIENTMAXCONNECTIONS CLIENTCFG "
    "FEEDBACKPROGRAM FSCONFIGFILE PLOTMAXPROC PLOTMAXTIME PLOTMINPROC PLOTMINTIME PLOTPROCSCALE PLOTTIMESCALE PURGETIME "
    "RESCTLPOLICY RMNMPORT RMHOST SIMAUTOSHUTDOWN SIMCPUSCALINGPERCENT SIMDEFAULTJOBFLAGS SIMEXITITERATION SIMFLAGS "
    "SIMIGNOREJOBFLAGS SIMINITIALQUEUEDEPTH SIMJOBSUBMISSIONPOLICY SIMNODECONFIGURATION SIMNODECOUNT SIMRMRANDOMDELAY "
    "SIMSTOPITERATION SIMTIMERATIO TRAPFUNCTION TRAPJOB TRAPNODE TRAPRES"
)

_DECIDES = "it would order jobs, plan them or choose their nodes; a replay has an order and a rule of ours"
KEPT_FORMS = {
    **{f"{name}{end}": "number" for name in _COMPONENTS.split() for end in ("WEIGHT", "CAP")},
    **dict.fromkeys(("RESERVATIONDEPTH", "BACKFILLDEPTH", "FSDEPTH"), "count"),
    **dict.fromkeys(("FSDECAY", "FSTARGET"), "number"),
    **dict.fromkeys(("FSINTERVAL", "RMPOLLINTERVAL", "SYSTEMDEFAULTJOBWALLTIME"), "duration"),
    **dict.fromkeys(
        ("RESERVATIONPOLICY", "RESERVATIONQOSLIST", "BACKFILLPOLICY", "BACKFILLMETRIC", "FSPOLICY"), "text"
    ),
    **dict.fromkeys(("NODEALLOCATIONPOLICY", "NODEACCESSPOLICY", "JOBNODEMATCHPOLICY"), "text"),
    **dict.fromkeys(("JOBPRIOACCRUALPOLICY", "XFMINWCLIMIT"), "text"),
}
"""Parameters that are in the description, with the forms of their values, though no replay follows them."""

PARAMETER_KEYS = (
    {name: KnownKey(NOT_MODELLED, _DECIDES, ("0",), form) for name, form in KEPT_FORMS.items()}
    | {
        name: KnownKey(NOT_MODELLED, effect, harmless)
        for name, effect, harmless in (
            ("BFCHUNKDURATION", "freed processors would be kept so long for larger jobs", ("0", "00:00:00")),
            ("BFCHUNKSIZE", "freed processors would be kept for jobs of this size", ("0",)),
            ("BFPRIORITYPOLICY", "it decides which backfilled job is preempted first", ("none",)),
            ("DEFAULTCLASSLIST", "nodes that name no class would serve these", ()),
            ("DOWNNODEDELAYTIME", "nodes that are down would be expected back after this time", ()),
            (
                "NODEDOWNSTATEDELAYTIME",
                "nodes that are down would be expected back after this time",
                ("0", "0:00:00", "00:00:00"),
            ),
            ("NODESYNCTIME", "a node in an unexpected state would get no job for this time", ()),
            ("ENABLEMULTINODEJOBS", "jobs of several nodes would not run", ("true", "on")),
            ("FEATUREPARTITIONHEADER", "features of nodes would make partitions", ()),
            ("JOBMAXSTARTTIME", "a job that starts for longer would be ended", ("-1",)),
            ("JOBSIZEPOLICY", "it decides what the size of a job is", ("none",)),
            ("NODESETPRIORITYTYPE", "it decides which set of nodes is taken", ("minloss",)),
            ("MAXPEPERUSERCOUNT", "processor equivalents of a user's running jobs would be limited", ("0",)),
            ("QOSFEATURES", "jobs of this QOS would run on nodes with this feature only", ("[any]",)),
            ("QOSFLAGS", "jobs of this QOS would have these rights", ("[none]",)),
            ("QOSPRIORITY", "jobs of this QOS would have this priority", ("0",)),
            ("QOSQTTARGET", "jobs would rise as they come near this waiting time", ()),
            ("QOSQTWEIGHT", "waiting would count more for this QOS", ("0",)),
            ("QOSXFTARGET", "jobs would rise as they come near this expansion factor", ()),
            ("QOSXFWEIGHT", "the expansion factor would count more for this QOS", ("0",)),
            ("RESDEPTH", "a node would be in no more reservations", ("24",)),
            ("TASKDISTRIBUTIONPOLICY", "tasks would be put on nodes otherwise", ("default",)),
            ("USESYSTEMQUEUETIME", "only the time in which a job was eligible would count as waiting", ("off",)),
            ("PREEMPTPOLICY", "jobs of some QOS would preempt others", ("none",)),
            ("RESOURCELIMITPOLICY", "jobs over what they asked for would be ended", ()),
            ("DEFERTIME", "a job that fails to start would wait for this time", ()),
            ("DEFERCOUNT", "a job that failed to start so often would be held", ()),
            ("DEFERSTARTCOUNT", "a job that failed to start so often would be deferred", ()),
            ("JOBMAXOVERRUN", "jobs might run longer than they asked for", ()),
            ("JOBAGGREGATIONTIME", "passes would wait so long for more submissions", ("0", "00:00:00")),
            ("MAXJOBPERITERATION", "a pass would start no more jobs", ("0",)),
            ("NODEPOLLFREQUENCY", "nodes would be looked at less often", ("0",)),
            ("NODEMAXLOAD", "nodes under load would get no job", ()),
            ("NODELOADPOLICY", "nodes under load would get no job", ("adjuststate",)),
            (
                "NODEAVAILABILITYPOLICY",
                "it decides what of a node counts as free",
                ("combined", "combined:mem", "dedicated"),
            ),
            ("RESERVATIONRETRYTIME", "a reservation whose nodes are not free would wait so long", ()),
            ("RESERVATIONDEPTHPOLICY", "it decides whose reservations count", ()),
            ("ALLOCLOCALITYPOLICY", "nodes near each other would be preferred", ("off",)),
            ("USEMACHINESPEED", "faster nodes would shorten jobs", ("off", "false")),
            ("ENABLEMULTIREQJOBS", "jobs with several kinds of nodes could run", ("true", "on")),
            ("ENABLENEGJOBPRIORITY", "priorities below 0 would count", ("false",)),
            ("REJECTNEGPRIOJOBS", "jobs with a priority below 0 would run", ("true",)),
            ("JOBSYNCTIME", "a job that did not start in time would be looked at later", ()),
            ("MAXJOB", "no more jobs would be looked at", ()),
            ("NODESETPOLICY", "jobs would be put on nodes with the same feature", ()),
            ("NODESETATTRIBUTE", "jobs would be put on nodes with the same feature", ()),
            ("NODESETLIST", "jobs would be put on nodes with the same feature", ()),
            ("NODESETDELAY", "jobs would wait so long for nodes with the same feature", ()),
            ("NODESETTOLERANCE", "jobs would be put on nodes of about the same speed", ()),
            ("PARTITIONMODE", "jobs might not span partitions", ("off",)),
            ("SYSTEMMAXPROCSECONDPERJOB", "larger jobs would not run", ()),
            ("SERVERMODE", "Maui would only watch, and start nothing", ("normal",)),
            ("AMCFG", "an account without credit would not run", ()),
            ("BANKSERVER", "an account without credit would not run", ()),
            ("WCVIOLATIONACTION", "it decides what happens to a job over its time", ()),
            ("NODECFG", "it changes single nodes", ()),
            ("JOBCFG", "it changes single jobs", ()),
            ("PARTITION", "it changes a partition of nodes", ()),
            ("PARCFG", "it changes a partition of nodes", ()),
        )
    }
    | {
        name: KnownKey(NOT_MODELLED, "a standing reservation in the older spelling would keep nodes; SRCFG is read")
        for name in _OLD_RESERVATION.split()
    }
    | {name: KnownKey(NO_EFFECT) for name in _QUIET.split()}
)

GLOBAL_LIMITS = {
    "MAXJOBPERUSERCOUNT": ("running", "user", "jobs"),
    "MAXPROCPERUSERCOUNT": ("running", "user", "cpu"),
    "MAXNODEPERUSERCOUNT": ("running", "user", "nodes"),
    "MAXPSPERUSER": ("outstanding", "user", "cpu"),
    "MAXPSPERUSERCOUNT": ("outstanding", "user", "cpu"),
    "MAXWCPERUSER": ("outstanding", "user", "jobs"),
    "MAXJOBQUEUEDPERUSERCOUNT": ("waiting_eligible", "user", "jobs"),
    "SYSTEMMAXPROCPERJOB": ("job", "job", "cpu"),
    "SYSTEMMAXJOBPROC": ("job", "job", "cpu"),
    "SYSTEMMAXJOBWALLTIME": ("job", "job", "time"),
}
"""Parameters that are a limit for everybody, where 0 and -1 mean none. What is counted, whose, and of what."""

_LIMITS = (
    "jobs over it would wait or be refused; a replay counts running jobs, their processors and processor-seconds alone"
)
FOLLOWED_LIMITS = (
    "MAXJOBPERUSERCOUNT",
    "MAXPROCPERUSERCOUNT",
    "MAXPSPERUSER",
    "MAXPSPERUSERCOUNT",
    "MAXJOB",
    "MAXPROC",
    "MAXPS",
)
MAUI_LIMITS = {
    name: KnownKey(MODELLED) if name in FOLLOWED_LIMITS else KnownKey(NOT_MODELLED, _LIMITS, ("0", "-1"))
    for name in (*GLOBAL_LIMITS, "MAXJOB", "MAXPROC", "MAXNODE", "MAXMEM", "MAXPS", "MAXWC", "MAXIJOB", "MAXIPROC")
}
"""What a replay does with parameters and attributes of credentials that are limits. All are in the description."""

CHOICES = {
    "RESERVATIONPOLICY": ("CURRENTHIGHEST", "HIGHEST", "NEVER"),
    "BACKFILLPOLICY": ("FIRSTFIT", "BESTFIT", "GREEDY", "PREEMPT", "NONE", "ON", "OFF"),
    "FSPOLICY": ("DEDICATEDPS", "DEDICATEDPS%", "DEDICATEDPES", "UTILIZEDPS", "PDEDICATEDPS", "PUTILIZEDPS", "NONE"),
}
"""Words that decide, and so are checked."""

CREDENTIALS = {
    "USERCFG": ("cluster", "user"),
    "GROUPCFG": ("cluster", "group"),
    "ACCOUNTCFG": ("cluster", "account"),
    "CLASSCFG": ("partition", "all"),
    "QOSCFG": ("qos", "all"),
    "SYSCFG": ("cluster", "all"),
}
"""Where a limit of these stands, and whose jobs it counts together."""

THROTTLES = {
    "MAXJOB": ("running", "jobs"),
    "MAXPROC": ("running", "cpu"),
    "MAXNODE": ("running", "nodes"),
    "MAXMEM": ("running", "mem"),
    "MAXPS": ("outstanding", "cpu"),
    "MAXWC": ("outstanding", "jobs"),
    "MAXIJOB": ("waiting_eligible", "jobs"),
    "MAXIPROC": ("waiting_eligible", "cpu"),
}
"""What is counted, and of what. MAXPS: processor-seconds that running jobs may still use. MAXWC: seconds that they may still run."""

CREDENTIAL_KEYS = {
    "PRIORITY": KnownKey(NOT_MODELLED, "jobs would have this priority", ("0",)),
    "FSTARGET": KnownKey(NOT_MODELLED, "jobs would fall behind as use comes near this share"),
    "MAXPE": KnownKey(NOT_MODELLED, "processor equivalents of running jobs would be limited"),
    "QDEF": KnownKey(NOT_MODELLED, "jobs would have this QOS where they do not say"),
    "QLIST": KnownKey(NOT_MODELLED, "jobs could have these QOS"),
    "ADEF": KnownKey(NOT_MODELLED, "jobs would have this account where they do not say"),
    "ALIST": KnownKey(NOT_MODELLED, "jobs could have these accounts"),
    "PDEF": KnownKey(NOT_MODELLED, "jobs would go to this partition where they do not say"),
    "PLIST": KnownKey(NOT_MODELLED, "jobs could go to these partitions"),
    "FLAGS": KnownKey(NOT_MODELLED, "jobs would have these rights"),
    "QFLAGS": KnownKey(NOT_MODELLED, "jobs would have these rights"),
    "JOBFLAGS": KnownKey(NOT_MODELLED, "jobs would have these rights"),
    "FSCAP": KnownKey(NOT_MODELLED, "jobs of credentials over this use would not run"),
    "QTWEIGHT": KnownKey(NOT_MODELLED, "waiting would count more for this QOS"),
    "XFWEIGHT": KnownKey(NOT_MODELLED, "the expansion factor would count more for this QOS"),
    "QTTARGET": KnownKey(NOT_MODELLED, "jobs would rise as they come near this waiting time"),
    "XFTARGET": KnownKey(NOT_MODELLED, "jobs would rise as they come near this expansion factor"),
    "HOSTLIST": KnownKey(NOT_MODELLED, "jobs would run on these nodes only"),
    "OMAXJOB": KnownKey(NOT_MODELLED, "this QOS would override the limits of users"),
    "OMAXPROC": KnownKey(NOT_MODELLED, "this QOS would override the limits of users"),
    "OMAXPS": KnownKey(NOT_MODELLED, "this QOS would override the limits of users"),
    "OVERDRAFT": KnownKey(NO_EFFECT),
    "ENABLEPROFILING": KnownKey(NO_EFFECT),
    "COMMENT": KnownKey(NO_EFFECT),
}

_FOR_SOME = "the reservation would keep its nodes for these; a replay leaves it out"
RESERVATION_KEYS = {
    name: KnownKey(MODELLED)
    for name in ("STARTTIME", "ENDTIME", "PERIOD", "HOSTLIST", "TASKCOUNT", "RESOURCES", "NODEFEATURES")
} | {
    **{
        name: KnownKey(NOT_MODELLED, _FOR_SOME)
        for name in ("USERLIST", "GROUPLIST", "ACCOUNTLIST", "CLASSLIST", "QOSLIST")
    },
    "DAYS": KnownKey(NOT_MODELLED, "the reservation would be there on these days; a replay leaves it out", ("all",)),
    "FLAGS": KnownKey(NOT_MODELLED, "it would change what may run in the reservation"),
    "MAXTIME": KnownKey(NOT_MODELLED, "only shorter jobs might use the reservation"),
    "JOBATTRLIST": KnownKey(NOT_MODELLED, "only jobs with these attributes might use the reservation"),
    "PARTITION": KnownKey(NOT_MODELLED, "the reservation would keep nodes of this partition only", ("[all]",)),
    "TRIGGER": KnownKey(NOT_MODELLED, "a program would run when the reservation begins or ends"),
    "TIMELIMIT": KnownKey(NOT_MODELLED, "only shorter jobs might use the reservation"),
    "TASKSPERNODE": KnownKey(NOT_MODELLED, "the reservation would take so many tasks on each node"),
    "TPN": KnownKey(NOT_MODELLED, "the reservation would take so many tasks on each node"),
    "TIMELOGIC": KnownKey(NOT_MODELLED, "both lists and the time would have to agree"),
    "PRIORITY": KnownKey(NOT_MODELLED, "the reservation would push others aside"),
    "ACCESS": KnownKey(NOT_MODELLED, "several reservations might share nodes", ("dedicated",)),
    "PROCLIMIT": KnownKey(NOT_MODELLED, "only jobs of this size might use the reservation"),
    "DEPTH": KnownKey(NO_EFFECT),
    "CHARGEACCOUNT": KnownKey(NO_EFFECT),
    "OWNER": KnownKey(NO_EFFECT),
    "COMMENT": KnownKey(NO_EFFECT),
}
