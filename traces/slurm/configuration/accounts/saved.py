"""What sacctmgr saves and shows: its dump of accounts and users, and its tables of QOS and associations."""

from __future__ import annotations

import re
from collections.abc import Iterator

from traces.cluster.accounts import ROOT_ACCOUNT
from traces.cluster.notes import NO_EFFECT, ConfigurationError, Entry, Notes, TextFile
from traces.slurm.configuration.accounts.options import Options, option_of
from traces.slurm.configuration.accounts.tree import AccountTree

_LINE = re.compile(r"(Cluster|Parent|Account|User)\s*-\s*'?([^':]*)'?(?::(.*))?")
_OPTION = re.compile(r"\s*([^=:]+)=('[^']*'|(?:[^:]|:(?=\d\d(?::|$)))*)(?::|$)")


def read_accounts_dump(file: TextFile, notes: Notes) -> AccountTree:
    """The tree of `sacctmgr dump CLUSTER`. Raises ConfigurationError, with file and line, for a line of another form."""
    tree = AccountTree()
    parent = ROOT_ACCOUNT
    for number, line in file.lines():
        match = _LINE.fullmatch(line.strip())
        if match is None:
            remedy = "Run sacctmgr dump CLUSTER file=sacctmgr.dump again"
            raise ConfigurationError(
                file.name, number, f"a line such as User - 'anna':Fairshare=1, found {line!r}", remedy
            )
        kind, name = match.group(1), match.group(2)
        options = _dump_options(file.name, number, match.group(3) or "")
        head = Entry(file.name, number, kind, name)
        if kind == "Parent":
            parent = name
            if name not in tree.accounts:
                raise head.refuse("an account of an earlier line", "Dump the accounts again")
            notes.add(head, NO_EFFECT, "the lines after it are below this account")
        elif kind == "Cluster":
            tree.accounts[ROOT_ACCOUNT] |= options
            notes.add(head, NO_EFFECT, "its options hold for the account root")
        elif kind == "Account":
            tree.accounts[name] = {"parent": Entry(file.name, number, "Parent", parent), **options}
        else:
            partition = options.get("partition")
            tree.users[name, parent, partition.value if partition else ""] = options
            if "defaultaccount" in options:
                tree.default_accounts[name] = options["defaultaccount"].value
    return tree


def _dump_options(file: str, line: int, text: str) -> Options:
    options: Options = {}
    place = 0
    while place < len(text):
        match = _OPTION.match(text, place)
        if match is None:
            raise ConfigurationError(
                file, line, f"options such as Fairshare=1 with colons between, found {text[place:]!r}"
            )
        name, entry = option_of(Entry(file, line, match.group(1).strip(), match.group(2).strip("'")))
        options[name] = _together(options.get(name), entry)
        place = match.end()
    return options


def _together(former: Entry | None, entry: Entry) -> Entry:
    """Old options of several resources, GrpCPUs and GrpNodes, are one option of today."""
    if former is None or "=" not in former.value or "=" not in entry.value:
        return entry
    return Entry(entry.file, entry.line, entry.key, f"{former.value},{entry.value}")


def _rows(file: TextFile, needed: tuple[str, ...]) -> Iterator[tuple[int, Options]]:
    """The rows of a table with | between, with the entries that are not empty."""
    lines = iter(file.lines())
    try:
        number, header = next(lines)
    except StopIteration:
        raise ConfigurationError(file.name, 1, "a header line, found nothing", "Run sacctmgr show -P again") from None
    columns = [column.strip() for column in header.split("|")]
    names = [option_of(Entry("", 0, column, ""))[0] for column in columns]
    for name in needed:
        if name not in names:
            remedy = "Run sacctmgr show with -P, and without -n"
            raise ConfigurationError(
                file.name, number, f"a header line with the column {name}, found {header[:60]!r}", remedy
            )
    for number, line in lines:
        cells = line.split("|")
        if len(cells) != len(columns):
            raise ConfigurationError(file.name, number, f"{len(columns)} columns as in the header, found {len(cells)}")
        options: Options = {}
        for column, cell in zip(columns, cells, strict=True):
            if cell.strip():
                name, entry = option_of(Entry(file.name, number, column, cell.strip()))
                options[name] = _together(options.get(name), entry)
        yield number, options


def read_qos_table(file: TextFile, tree: AccountTree) -> None:
    """The QOS of `sacctmgr show qos -P`, which replace those that the tree has.

    Raises ConfigurationError for a table of another form, and for a QOS that comes twice.
    """
    listed: set[str] = set()
    for number, options in _rows(file, ("name",)):
        name = options.pop("name", None)
        if name is None:
            raise ConfigurationError(file.name, number, "a row with the name of a QOS")
        if name.value in listed:
            raise name.refuse("each QOS once")
        listed.add(name.value)
        tree.qualities[name.value] = options


def shows_parents(file: TextFile) -> bool:
    """Whether a table of `sacctmgr show assoc -P` has the column of the parents' names."""
    return "parentname" in file.text.split("\n", 1)[0].lower().replace(" ", "")


def read_assoc_table(file: TextFile, notes: Notes) -> AccountTree:
    """The tree of `sacctmgr show assoc -P`, which is in the order of the tree, with the parent's name where it shows it.
    The default account of a user is the only one that the user has; of several the table does not say which.

    Raises ConfigurationError for a table of another form."""
    tree = AccountTree()
    has_parents = shows_parents(file)
    for number, options in _rows(file, ("account", "user")):
        account, user = _popped(options, "account"), _popped(options, "user")
        above = options.pop("parentname", None)
        partition = _popped(options, "partition")
        options.pop("cluster", None)
        if user:
            tree.users[user, account, partition] = options
        elif account == ROOT_ACCOUNT:
            tree.accounts[ROOT_ACCOUNT] |= options
        else:
            if above is not None and above.value:
                options["parent"] = above
            tree.accounts[account] = options
            if not has_parents:
                effect = "the table does not say its parent, so it is below root. Add ParentName to the columns, or dump the accounts"
                notes.assumed(Entry(file.name, number, "Account", account), effect)
    accounts_of: dict[str, set[str]] = {}
    for user, account, _ in tree.users:
        accounts_of.setdefault(user, set()).add(account)
    tree.default_accounts = {user: next(iter(of)) for user, of in accounts_of.items() if len(of) == 1}
    return tree


def _popped(options: Options, name: str) -> str:
    entry = options.pop(name, None)
    return "" if entry is None else entry.value
