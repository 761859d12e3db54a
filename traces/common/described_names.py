"""A cluster's description with pseudonyms in place of the names of people, groups and accounts, as a log that was ingested so has them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from traces.cluster.accounts import ROOT_ACCOUNT, Limit
from traces.cluster.description import ClusterDescription
from traces.common.pseudonyms import PSEUDONYM_LENGTH, pseudonym_of

_PSEUDONYM = re.compile(rf"[a-z]+-[a-z2-7]{{{PSEUDONYM_LENGTH}}}")
_Renaming = Callable[[str, str], str]


def with_pseudonyms(cluster: ClusterDescription, kinds: tuple[str, ...], key: bytes) -> ClusterDescription:
    """The description with names of these kinds (`PSEUDONYM_KINDS`) replaced. Names that are pseudonyms stay as they are, such as those of
    an archive of `tracehouse collect`, and so does the root of the accounts."""

    def new(kind: str, name: str) -> str:
        if kind not in kinds or not name or name == ROOT_ACCOUNT or _PSEUDONYM.fullmatch(name):
            return name
        return pseudonym_of(key, kind, name)

    def all_of(kind: str, names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(new(kind, name) for name in names)

    return replace(
        cluster,
        partitions=tuple(
            replace(
                part,
                allow_accounts=all_of("account", part.allow_accounts),
                deny_accounts=all_of("account", part.deny_accounts),
                allow_groups=all_of("group", part.allow_groups),
                allow_users=all_of("user", part.allow_users),
            )
            for part in cluster.partitions
        ),
        accounts=tuple(
            replace(each, name=new("account", each.name), parent=new("account", each.parent))
            for each in cluster.accounts
        ),
        members=tuple(
            replace(each, user=new("user", each.user), account=new("account", each.account)) for each in cluster.members
        ),
        limits=tuple(_limit(limit, new) for limit in cluster.limits),
        reservations=tuple(
            replace(
                each,
                name=new("project", each.name),
                users=all_of("user", each.users),
                accounts=all_of("account", each.accounts),
                groups=all_of("group", each.groups),
            )
            for each in cluster.reservations
        ),
    )


def with_described_names(text: str, cluster: ClusterDescription, kinds: tuple[str, ...], key: bytes) -> str:
    """A text, such as an edit, in which the pseudonyms of the description's users and accounts are the names that it has for them."""
    names = {
        "account": {each.name for each in cluster.accounts} | {each.account for each in cluster.members},
        "user": {each.user for each in cluster.members},
    }
    for limit in cluster.limits:
        if limit.owner == "user":
            account, user, _ = limit.association
            names["account"].add(account)
            names["user"].add(user)
        if limit.who and limit.each in names:
            names[limit.each].add(limit.who)
    described = {
        pseudonym_of(key, kind, name): name
        for kind, of_kind in names.items()
        if kind in kinds
        for name in of_kind
        if name
    }
    return _PSEUDONYM.sub(lambda match: described.get(match[0], match[0]), text)


def _limit(limit: Limit, new: _Renaming) -> Limit:
    owner = limit.owner_name
    if limit.owner == "account":
        owner = new("account", owner)
    elif limit.owner == "user":
        account, user, partition = limit.association
        owner = "/".join(filter(None, [new("account", account), new("user", user), partition]))
    return replace(limit, owner_name=owner, who=new(limit.each, limit.who))
