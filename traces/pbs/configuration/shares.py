"""The tree of shares, PBS's `resource_group`: `name number parent shares`, one line a group or user."""

from __future__ import annotations

from traces.cluster.accounts import ROOT_ACCOUNT, Account, AccountUser
from traces.cluster.files import TextFile
from traces.cluster.notes import Entry, Notes, integer_of
from traces.cluster.remarks import ConfigurationError


def read_shares(file: TextFile, notes: Notes) -> tuple[tuple[Account, ...], tuple[AccountUser, ...]]:
    """Groups and users of the tree. What has nothing below it is a user, or whatever else `fairshare_entity` names.

    Raises ConfigurationError for a line of another form, a name that comes twice and a parent that no line before has.
    """
    entries: dict[str, Entry] = {}
    tree: dict[str, tuple[str, int]] = {}
    for number, line in file.lines():
        words = line.split()
        if len(words) != 4:
            expected = f"`name number parent shares`, found {line.strip()[:60]!r}"
            raise ConfigurationError(
                file.name, number, expected, "Write one group or user a line, such as `u1 11 physics 10`"
            )
        name, _, parent, shares = words
        entry = Entry(file.name, number, name, shares)
        if name in tree or name == ROOT_ACCOUNT:
            raise ConfigurationError(
                file.name, number, f"each name once, found {name} again", "Leave one of the lines out"
            )
        if parent != ROOT_ACCOUNT and parent not in tree:
            expected = f"a parent that is {ROOT_ACCOUNT} or stands above, found {parent!r}"
            raise ConfigurationError(file.name, number, expected, f"Write a line for {parent} before it")
        tree[name] = (parent, integer_of(entry))
        entries[name] = entry
    groups = {parent for parent, _ in tree.values()}
    accounts, members = [], []
    for name, (parent, amount) in tree.items():
        if name in groups:
            accounts.append(Account(name, parent, amount))
            notes.modelled(entries[name], f"accounts.{name}.shares")
        else:
            members.append(AccountUser(name, parent, amount, is_default=True))
            notes.modelled(entries[name], f"members.{name}.shares")
    return tuple(accounts), tuple(members)
