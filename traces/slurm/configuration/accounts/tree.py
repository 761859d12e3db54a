"""Accounts, users and QOS as they are collected from sacctmgr's files, and what a description has of them.

What an account or user does not say of QOS holds as its parent has it, as Slurm's page "Accounting and Resource Limits" has it.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from traces.cluster.accounts import PARENTS_SHARE, ROOT_ACCOUNT, Account, AccountUser, Limit, ServiceQuality
from traces.cluster.notes import ConfigurationError, Entry, Notes, integer_of
from traces.slurm.configuration.accounts.options import (
    ASSOCIATION_KEYS,
    QOS_KEYS,
    Options,
    limits_of_options,
    note_options,
)
from traces.slurm.configuration.settings import QOS_FLAGS, note_words
from traces.slurm.configuration.units import is_unset, plain_seconds, slurm_setting, words_of

_AS_PARENT = str(0x7FFFFFFF)
"""Fairshare=parent, as a dump writes it (SLURMDB_FS_USE_PARENT)."""
UserKey = tuple[str, str, str]
"""User, account and partition, "" for all partitions."""


@dataclass
class AccountTree:
    """accounts: options by name, with the parent as the option "parent". users: by user, account and partition. qualities: by name.

    default_accounts: of each user."""

    accounts: dict[str, Options] = field(default_factory=lambda: {ROOT_ACCOUNT: {}})
    users: dict[UserKey, Options] = field(default_factory=dict)
    qualities: dict[str, Options] = field(default_factory=dict)
    default_accounts: dict[str, str] = field(default_factory=dict)

    def parent_of(self, account: str) -> str:
        """The account above, ROOT_ACCOUNT where none is said."""
        entry = self.accounts.get(account, {}).get("parent")
        return entry.value if entry is not None and entry.value else ROOT_ACCOUNT


@dataclass(frozen=True)
class SharedCluster:
    """What a description has of accounts, users and QOS."""

    accounts: tuple[Account, ...] = ()
    members: tuple[AccountUser, ...] = ()
    qualities: tuple[ServiceQuality, ...] = ()
    limits: tuple[Limit, ...] = ()


def shared_cluster(tree: AccountTree, notes: Notes) -> SharedCluster:
    """The tree as a description has it, with a remark on each option. Raises ConfigurationError for values that cannot be used."""
    accounts, members, limits = [], [], list[Limit]()
    for name, options in tree.qualities.items():
        limits += limits_of_options("qos", name, options)
    for name, options in tree.accounts.items():
        limits += limits_of_options("account", name, options)
        note_options(ASSOCIATION_KEYS, options, _association_places(f"accounts.{name}"), notes)
        if name != ROOT_ACCOUNT:
            qos, default_qos = _qualities_of(tree, name)
            accounts.append(Account(name, tree.parent_of(name), _shares(options), qos, default_qos, _priority(options)))
    for (user, account, partition), options in tree.users.items():
        key = f"{account}/{user}/{partition}".rstrip("/")
        limits += limits_of_options("user", key, options)
        note_options(ASSOCIATION_KEYS, options, _association_places(f"members.{key}"), notes)
        qos, default_qos = _own(options, _qualities_of(tree, account))
        is_default = tree.default_accounts.get(user) == account
        members.append(
            AccountUser(user, account, _shares(options), partition, qos, default_qos, _priority(options), is_default)
        )
    qualities = tuple(_quality(name, options, notes) for name, options in tree.qualities.items())
    return SharedCluster(tuple(accounts), tuple(members), qualities, tuple(limits))


def fault_of_option(name: str, entry: Entry) -> ConfigurationError | None:
    """Why the value of an option cannot be used; None where it can."""
    options = {name: entry}
    try:
        limits_of_options("qos", "", options)
        _shares(options)
        _priority(options)
        _quality("", options, Notes())
    except ConfigurationError as error:
        return error
    return None


def _association_places(place: str) -> dict[str, str]:
    fields = {
        "fairshare": "shares",
        "defaultqos": "default_qos",
        "priority": "priority",
        "parent": "parent",
        "defaultaccount": "is_default",
    }
    return {option: f"{place}.{name}" for option, name in fields.items()}


def _qualities_of(tree: AccountTree, account: str) -> tuple[tuple[str, ...], str]:
    """The QOS that an account has, its own or from above, and the default one."""
    chain, seen = [account], {account}
    while chain[-1] != ROOT_ACCOUNT and (parent := tree.parent_of(chain[-1])) not in seen and parent in tree.accounts:
        chain.append(parent)
        seen.add(parent)
    inherited: tuple[tuple[str, ...], str] = ((), "")
    for name in reversed(chain):
        inherited = _own(tree.accounts.get(name, {}), inherited)
    return inherited


def _own(options: Options, inherited: tuple[tuple[str, ...], str]) -> tuple[tuple[str, ...], str]:
    qos, default_qos = options.get("qos"), options.get("defaultqos")
    listed = inherited[0] if qos is None or not qos.value.strip() else tuple(sorted(words_of(qos.value)))
    default = inherited[1] if default_qos is None or not default_qos.value.strip() else default_qos.value.strip()
    return listed, "" if default == "-1" else default


def _shares(options: Options) -> int:
    entry = options.get("fairshare")
    if entry is None or is_unset(entry.value):
        return 1
    return PARENTS_SHARE if entry.value.strip().lower() in ("parent", _AS_PARENT) else integer_of(entry)


def _priority(options: Options) -> int:
    entry = options.get("priority")
    return 0 if entry is None or is_unset(entry.value) else integer_of(entry)


def _quality(name: str, options: Options, notes: Notes) -> ServiceQuality:
    fields = {
        "priority": "priority",
        "preempt": "preempts",
        "preemptmode": "preempt_mode",
        "gracetime": "grace_s",
        "usagefactor": "usage_factor",
    }
    others = {option: entry for option, entry in options.items() if option != "flags"}
    note_options(QOS_KEYS, others, {option: f"qualities.{name}.{field}" for option, field in fields.items()}, notes)
    if "flags" in options:
        note_words(QOS_FLAGS, options["flags"], f"qualities.{name}.flags", notes)
    flags = _text(options, "flags").lower()
    mode = _text(options, "preemptmode").lower()
    threshold = options.get("usagethreshold")
    return ServiceQuality(
        name,
        _priority(options),
        words_of(_text(options, "preempt")),
        "" if mode == "cluster" else mode,
        0 if "gracetime" not in options else plain_seconds(options["gracetime"]) or 0,
        words_of(flags),
        _number(options["usagefactor"]) if "usagefactor" in options and _text(options, "usagefactor") else 1.0,
        None if threshold is None or is_unset(threshold.value) else _number(threshold),
    )


def _text(options: Options, name: str) -> str:
    return options[name].value.strip() if name in options else ""


def _number(entry: Entry) -> float:
    return float(slurm_setting(entry, "number"))
