"""Options of QOS, accounts and users as limits: what sacctmgr calls them in commands, dumps and tables.

The facts are from Slurm's man page sacctmgr(1) and its page "Resource Limits". Names are in lower case without blanks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from traces.cluster.accounts import Limit
from traces.cluster.notes import MODELLED, Entry, KnownKey, Notes, integer_of
from traces.slurm.configuration.keys import in_description, left_out, without_effect
from traces.slurm.configuration.units import is_unset, span_s, tres_amounts, uncounted

Options = dict[str, Entry]
"""Entries by the name of the option of today."""


@dataclass(frozen=True)
class LimitForm:
    """counts, each: as `Limit` has them. resource: "" for the resources of a list. minutes: whether amounts are in resource-minutes."""

    counts: str
    each: str
    resource: str = ""
    minutes: bool = False
    is_least: bool = False


LIMIT_FORMS = {
    "grpjobs": LimitForm("running", "all", "jobs"),
    "grpjobsaccrue": LimitForm("waiting_eligible", "all", "jobs"),
    "grpsubmit": LimitForm("submitted", "all", "jobs"),
    "grptres": LimitForm("running", "all"),
    "grptresmins": LimitForm("used", "all", minutes=True),
    "grptresrunmins": LimitForm("outstanding", "all", minutes=True),
    "grpwall": LimitForm("used", "all", "time"),
    "maxjobs": LimitForm("running", "user", "jobs"),
    "maxjobspu": LimitForm("running", "user", "jobs"),
    "maxjobspa": LimitForm("running", "account", "jobs"),
    "maxjobsaccrue": LimitForm("waiting_eligible", "user", "jobs"),
    "maxjobsaccruepu": LimitForm("waiting_eligible", "user", "jobs"),
    "maxjobsaccruepa": LimitForm("waiting_eligible", "account", "jobs"),
    "maxsubmit": LimitForm("submitted", "user", "jobs"),
    "maxsubmitpu": LimitForm("submitted", "user", "jobs"),
    "maxsubmitpa": LimitForm("submitted", "account", "jobs"),
    "maxtres": LimitForm("job", "job"),
    "maxtrespernode": LimitForm("node", "job"),
    "maxtresmins": LimitForm("used", "job", minutes=True),
    "maxtrespu": LimitForm("running", "user"),
    "maxtrespa": LimitForm("running", "account"),
    "maxtresrunmins": LimitForm("outstanding", "user", minutes=True),
    "maxtresrunminspu": LimitForm("outstanding", "user", minutes=True),
    "maxtresrunminspa": LimitForm("outstanding", "account", minutes=True),
    "maxwall": LimitForm("job", "job", "time"),
    "mintres": LimitForm("job", "job", is_least=True),
}
"""Option -> the limit that it sets. Those of accounts without a group hold for each user below it."""

LIMIT_KEYS = in_description(
    "text",
    "grpjobs grpsubmit grptres grptresmins grptresrunmins maxjobs maxjobspu maxjobspa maxsubmit maxsubmitpu maxsubmitpa maxtres "
    "maxtrespu maxtrespa maxtresrunmins maxtresrunminspu maxtresrunminspa maxwall",
) | left_out(
    dict.fromkeys(
        ("grpjobsaccrue", "maxjobsaccrue", "maxjobsaccruepu", "maxjobsaccruepa"), "no more waiting jobs would gain age"
    )
    | {
        "grpwall": "no job would start once the running ones have used so much time",
        "maxtrespernode": "jobs that ask for more on a node would wait or be refused",
        "maxtresmins": "each job alone would stay below it; a replay counts all jobs together",
        "mintres": "jobs that ask for less are refused; a log has only those that were taken",
    },
    "-1",
    "unlimited",
)
"""What a replay does with each limit. All are in the description, for the checks against a log."""

_OTHER_NAMES = {
    "share": "fairshare",
    "shares": "fairshare",
    "rawshares": "fairshare",
    "defqos": "defaultqos",
    "qoslevel": "qos",
    "usagethres": "usagethreshold",
    "minpriothresh": "minpriothres",
    "grpsubmitjobs": "grpsubmit",
    "maxsubmitjobs": "maxsubmit",
    "maxjobsperuser": "maxjobspu",
    "maxjobsperaccount": "maxjobspa",
    "maxsubmitjobsperuser": "maxsubmitpu",
    "maxsubmitjobsperaccount": "maxsubmitpa",
    "maxsubmitjobspu": "maxsubmitpu",
    "maxsubmitjobspa": "maxsubmitpa",
    "maxjobsaccrueperuser": "maxjobsaccruepu",
    "maxjobsaccrueperaccount": "maxjobsaccruepa",
    "maxtresperjob": "maxtres",
    "maxtrespj": "maxtres",
    "maxtrespn": "maxtrespernode",
    "maxtresperuser": "maxtrespu",
    "maxtresperaccount": "maxtrespa",
    "maxtresminsperjob": "maxtresmins",
    "maxtresminspj": "maxtresmins",
    "maxtresrunminsperuser": "maxtresrunminspu",
    "maxtresrunminsperaccount": "maxtresrunminspa",
    "maxwalldurationperjob": "maxwall",
    "maxwallpj": "maxwall",
    "mintresperjob": "mintres",
    "mintrespj": "mintres",
}
_OLD_TRES = {
    "grpcpus": ("grptres", "cpu"),
    "grpnodes": ("grptres", "node"),
    "grpmem": ("grptres", "mem"),
    "grpmemory": ("grptres", "mem"),
    "grpcpumins": ("grptresmins", "cpu"),
    "grpcpurunmins": ("grptresrunmins", "cpu"),
    "maxcpus": ("maxtres", "cpu"),
    "maxcpusperjob": ("maxtres", "cpu"),
    "maxcpusperuser": ("maxtrespu", "cpu"),
    "maxnodes": ("maxtres", "node"),
    "maxnodesperjob": ("maxtres", "node"),
    "maxnodesperuser": ("maxtrespu", "node"),
    "maxcpumins": ("maxtresmins", "cpu"),
    "maxcpuminsperjob": ("maxtresmins", "cpu"),
}
"""Option of older versions -> the option and the resource of today."""

ASSOCIATION_KEYS = (
    in_description("text", "fairshare defaultqos priority parent defaultaccount")
    | left_out(
        {
            "minpriothres": "jobs below this priority would get no resources of the group",
            "partition": "these shares and limits would be for jobs of this partition only",
        }
    )
    | without_effect(
        "description organization adminlevel coordinator coordinators wckeys defaultwckey cluster account accounts user id name names "
        "parentname qos rawusage comment flags parentid lineage clusters withassoc withcoord"
    )
)
"""Options of accounts and users that are no limits. The list of QOS only refuses jobs, which no log has."""

QOS_KEYS = in_description("text", "priority preempt preemptmode gracetime flags usagefactor") | left_out(
    {
        "usagethreshold": "jobs of users below this fair-share factor would wait",
        "minpriothres": "jobs below this priority would get no resources of the group",
        "limitfactor": "limits of associations would be multiplied",
        "preemptexempttime": "jobs could not be preempted before so long",
    },
    "00:00:00", "1.000000",
) | without_effect("description id name")  # fmt: skip
"""Options of QOS that are no limits."""


def option_of(entry: Entry) -> tuple[str, Entry]:
    """An entry by the name that its option has today."""
    name = entry.key.lower().replace(" ", "").replace("_", "")
    if name in _OLD_TRES:
        option, tres = _OLD_TRES[name]
        value = entry.value if is_unset(entry.value) else f"{tres}={entry.value}"
        return option, Entry(entry.file, entry.line, entry.key, value)
    return _OTHER_NAMES.get(name, name), entry


def limits_of_options(owner: str, owner_name: str, options: Mapping[str, Entry]) -> tuple[Limit, ...]:
    """The limits among the options of one owner. Raises ConfigurationError for a value that is no amount."""
    limits: list[Limit] = []
    for name, entry in options.items():
        form = LIMIT_FORMS.get(name)
        if form is None or is_unset(entry.value):
            continue
        for resource, bound in _bounds(form, entry).items():
            limits.append(
                Limit(
                    owner,
                    owner_name,
                    form.counts,
                    form.each,
                    resource,
                    bound,
                    is_least=form.is_least,
                    source=entry.source,
                )
            )
    return tuple(limits)


def _bounds(form: LimitForm, entry: Entry) -> dict[str, int]:
    """Amount by resource, without those that are cleared."""
    if form.resource == "time":
        seconds = span_s(entry)
        return {} if seconds is None else {"time": seconds}
    if form.resource:
        return {form.resource: integer_of(entry)}
    amounts = {resource: amount for resource, amount in tres_amounts(entry).items() if amount >= 0}
    return {resource: amount * 60 if form.minutes else amount for resource, amount in amounts.items()}


def note_options(
    table: Mapping[str, KnownKey], options: Mapping[str, Entry], places: Mapping[str, str], notes: Notes
) -> None:
    """A remark on each option. places: option -> where it is in the description, for those that are modelled."""
    rows = {**table, **LIMIT_KEYS}
    for name, entry in options.items():
        row = rows.get(name)
        if row is None or row.kind != MODELLED:
            notes.by_table(rows, entry, name)
        elif name not in LIMIT_KEYS:
            notes.modelled(entry, places[name])
        elif not LIMIT_FORMS[name].resource and not is_unset(entry.value) and (amounts := uncounted(entry)):
            value = Entry(entry.file, entry.line, entry.key, amounts)
            notes.unmodelled(
                value, "jobs over this limit would wait or be refused; a replay does not count the resource"
            )
        else:
            notes.modelled(entry, "limits")
