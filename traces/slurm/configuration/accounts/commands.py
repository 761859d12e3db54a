"""A file of sacctmgr's commands: what the accounts are after `add`, `modify` and `remove`.

Syntax: Slurm's man page sacctmgr(1).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field

from traces.cluster.accounts import ROOT_ACCOUNT
from traces.cluster.notes import NO_EFFECT, UNKNOWN_KEY, ConfigurationError, Entry, Notes, TextFile
from traces.slurm.configuration.accounts.options import Options, option_of
from traces.slurm.configuration.accounts.tree import AccountTree, UserKey
from traces.slurm.configuration.units import words_of

_ACTIONS = {
    "add": "add",
    "create": "add",
    "modify": "modify",
    "update": "modify",
    "remove": "remove",
    "delete": "remove",
}
_HARMLESS = ("list", "show", "dump", "load", "archive", "problem", "version", "exit", "quit", "reconfigure", "ping")
_ENTITIES = ("account", "user", "qos", "cluster")
_NAMES = ("name", "names")
_LOWER = ("account", "accounts", "parent", "defaultaccount", "qos", "defaultqos", "preempt")
"""Options whose names sacctmgr takes in lower case, as it does names of accounts, users and QOS."""
_PAIR = re.compile(r"([A-Za-z][\w ]*?)\s*([-+]?=)\s*(.*)", re.DOTALL)


@dataclass
class _Command:
    """names: of what it is about. where: conditions. options: what is set, with the sign + or - before = of each."""

    action: str
    entity: str
    names: list[str] = field(default_factory=list)
    where: Options = field(default_factory=dict)
    options: Options = field(default_factory=dict)
    signs: dict[str, str] = field(default_factory=dict)


def read_sacctmgr_commands(file: TextFile, notes: Notes) -> AccountTree:
    """The accounts after the commands of a file, in a new accounting, which has the account root and the QOS normal.

    Raises ConfigurationError, with file and line, for a command of another form, and for one about what is not there."""
    tree = AccountTree()
    start = Entry(file.name, 0, "QOS", "normal")
    tree.qualities["normal"] = {}
    notes.assumed(start, "a new accounting has this QOS, and the account root with the user root")
    tree.users["root", ROOT_ACCOUNT, ""] = {}
    tree.accounts[ROOT_ACCOUNT] = {"qos": start}
    for command, entry in _commands(file, notes):
        if command.entity == "qos":
            _of_qos(tree, command, entry)
        elif command.entity == "cluster":
            tree.accounts[ROOT_ACCOUNT] |= command.options
        elif command.entity == "account":
            _of_account(tree, command, entry)
        else:
            _of_user(tree, command, entry)
        notes.add(entry, NO_EFFECT, "the command's options have their own remarks")
    return tree


def _commands(file: TextFile, notes: Notes) -> Iterator[tuple[_Command, Entry]]:
    for number, line in file.lines():
        try:
            words = shlex.split(line, comments=True)
        except ValueError as error:
            raise ConfigurationError(file.name, number, f"a command of sacctmgr, found {line!r} ({error})") from error
        words = [word for word in words if word != "sacctmgr" and not re.fullmatch(r"-\w+", word)]
        if not words:
            continue
        entry = Entry(file.name, number, " ".join(words[:2]), " ".join(words[2:]))
        if words[0].lower() in _HARMLESS:
            notes.add(entry, NO_EFFECT, "the command changes nothing")
            continue
        action = _ACTIONS.get(words[0].lower())
        entity = words[1].lower() if len(words) > 1 else ""
        entity = entity if entity in _ENTITIES else entity.removesuffix("s")
        if action is None:
            raise ConfigurationError(
                file.name, number, f"add, modify or remove, found {words[0]!r}", "Correct the command"
            )
        if entity not in _ENTITIES:
            notes.add(entry, UNKNOWN_KEY, "commands about this are not read")
            continue
        yield _parsed(file.name, number, action, entity, words[2:]), entry


def _parsed(file: str, line: int, action: str, entity: str, words: list[str]) -> _Command:
    command = _Command(action, entity)
    is_where = action != "add"
    for word in words:
        if word.lower() in ("where", "set"):
            is_where = word.lower() == "where"
            continue
        pair = _PAIR.fullmatch(word)
        if pair is None:
            command.names += words_of(word.lower())
            continue
        name, option = option_of(Entry(file, line, pair.group(1), pair.group(3)))
        if name in (*_NAMES, entity, f"{entity}s"):
            command.names += words_of(option.value.lower())
            continue
        if name in _LOWER:
            option = Entry(option.file, option.line, option.key, option.value.lower())
        if is_where:
            command.where[name] = option
        else:
            command.options[name] = option
            command.signs[name] = pair.group(2)[:-1]
    return command


def _set(options: Options, command: _Command) -> Options:
    """The options with those of a command. QOS+= and QOS-= change the list that is there."""
    changed = dict(options)
    for name, entry in command.options.items():
        sign = command.signs.get(name, "")
        value = entry.value
        if sign:
            former = words_of(options[name].value) if name in options else ()
            changing = words_of(value)
            kept = [*former, *changing] if sign == "+" else [word for word in former if word not in changing]
            value = ",".join(dict.fromkeys(kept))
        changed[name] = Entry(entry.file, entry.line, entry.key, value)
    return changed


def _of_qos(tree: AccountTree, command: _Command, entry: Entry) -> None:
    names = command.names or (list(tree.qualities) if command.action == "modify" else [])
    for name in names:
        if command.action != "add" and name not in tree.qualities:
            raise entry.refuse(f"a QOS that was added before, but {name} was not,")
        if command.action == "remove":
            del tree.qualities[name]
            _forget_qos(tree, name)
        else:
            tree.qualities[name] = _set(tree.qualities.get(name, {}), command)


def _forget_qos(tree: AccountTree, name: str) -> None:
    for options in [*tree.accounts.values(), *tree.users.values()]:
        if "qos" in options and name in words_of(options["qos"].value):
            kept = [word for word in words_of(options["qos"].value) if word != name]
            entry = options["qos"]
            options["qos"] = Entry(entry.file, entry.line, entry.key, ",".join(kept))


def _of_account(tree: AccountTree, command: _Command, entry: Entry) -> None:
    names = command.names or (list(tree.accounts) if command.action == "modify" else [])
    for name in names:
        if command.action != "add" and name not in tree.accounts:
            raise entry.refuse(f"an account that was added before, but {name} was not,")
        parent = command.options.get("parent")
        if parent is not None and parent.value not in tree.accounts:
            raise parent.refuse("an account that was added before")
        if command.action == "remove":
            del tree.accounts[name]
            tree.users = {key: options for key, options in tree.users.items() if key[1] != name}
        else:
            tree.accounts[name] = _set(tree.accounts.get(name, {}), command)


def _of_user(tree: AccountTree, command: _Command, entry: Entry) -> None:
    if command.action == "add":
        _add_user(tree, command, entry)
        return
    accounts = _listed(command.where, "account")
    keys = [
        key
        for key in tree.users
        if (not command.names or key[0] in command.names) and (not accounts or key[1] in accounts)
    ]
    for name in command.names:
        if name not in {key[0] for key in keys}:
            raise entry.refuse(f"a user that was added before, but {name} was not,")
    default = command.options.get("defaultaccount")
    for key in keys:
        if command.action == "remove":
            del tree.users[key]
        elif key[0] != "root" or command.names:
            tree.users[key] = _set(tree.users[key], command)
            if default is not None:
                tree.default_accounts[key[0]] = default.value


def _add_user(tree: AccountTree, command: _Command, entry: Entry) -> None:
    accounts = _listed(command.options, "account")
    default = command.options.get("defaultaccount")
    if default is not None and default.value not in accounts:
        accounts = (default.value, *accounts)
    if not accounts or not command.names:
        raise entry.refuse("a name and an account of the user")
    partitions = _listed(command.options, "partition") or ("",)
    kept = {name: option for name, option in command.options.items() if name not in ("account", "accounts")}
    for account in accounts:
        if account not in tree.accounts:
            raise entry.refuse(f"an account that was added before, but {account} was not,")
        for user in command.names:
            for partition in partitions:
                key: UserKey = (user, account, partition)
                tree.users[key] = tree.users.get(key, {}) | kept
            tree.default_accounts.setdefault(user, default.value if default is not None else account)


def _listed(options: Options, name: str) -> tuple[str, ...]:
    entry = options.get(name) or options.get(f"{name}s")
    return () if entry is None else words_of(entry.value)
