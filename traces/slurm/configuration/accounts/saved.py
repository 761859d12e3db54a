"""What sacctmgr saves and shows: its dump of accounts and users, and its tables of QOS and associations."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from traces.cluster.accounts import ROOT_ACCOUNT
from traces.cluster.notes import NO_EFFECT, ConfigurationError, Entry, Notes, TextFile
from traces.slurm.configuration.accounts.options import Options, option_of
from traces.slurm.configuration.accounts.tree import AccountTree, fault_of_option

_LINE = re.compile(r"(Cluster|Machine|Parent|Account|Project|User|QOS)\s*-\s*(.*)", re.IGNORECASE)
_OLD_KINDS = {"machine": "cluster", "project": "account"}
_KEY = re.compile(r"\s*([A-Za-z]\w*)[-+]?=")
"""Of an option, behind the colon."""
_FREE_TEXTS = ("description", "organization", "comment")


def read_accounts_dump(file: TextFile, notes: Notes) -> AccountTree:
    """The tree of `sacctmgr dump CLUSTER`. A line, or the value of an option, that cannot be read is left out with a remark.

    Raises ConfigurationError where no line is one of a dump.
    """
    tree = AccountTree()
    parent, num_read, odd = ROOT_ACCOUNT, 0, list[Entry]()
    for number, line in file.lines():
        match = _LINE.fullmatch(line.strip())
        name, options = _dump_words(file.name, number, match.group(2), notes) if match else ("", {})
        if match is None or not name:
            odd.append(Entry(file.name, number, "line", line.strip()))
            continue
        num_read += 1
        head = Entry(file.name, number, match.group(1), name)
        kind = _OLD_KINDS.get(head.key.lower(), head.key.lower())
        if kind == "parent":
            parent = name
            if name not in tree.accounts:
                tree.accounts[name] = {}
                notes.assumed(head, "no earlier line has this account, so it is below root")
            notes.add(head, NO_EFFECT, "the lines after it are below this account")
        elif kind == "cluster":
            tree.accounts[ROOT_ACCOUNT] |= options
            notes.add(head, NO_EFFECT, "its options hold for the account root")
        elif kind == "qos":
            tree.qualities[name] = options
        elif kind == "account":
            tree.accounts[name] = {"parent": Entry(file.name, number, "Parent", parent), **options}
        else:
            partition = options.get("partition")
            tree.users[name, parent, partition.value if partition else ""] = options
            if "defaultaccount" in options:
                tree.default_accounts[name] = options["defaultaccount"].value
    expected = "a line such as User - 'anna':Fairshare=1"
    if odd and not num_read:
        remedy = "Run sacctmgr dump CLUSTER file=sacctmgr.dump again"
        raise ConfigurationError(file.name, odd[0].line, f"{expected}, found {odd[0].value!r}", remedy)
    for entry in odd:
        notes.unmodelled(entry, f"the line was not read: expected {expected}")
    return tree


def _dump_words(file: str, line: int, text: str, notes: Notes) -> tuple[str, Options]:
    """The name at the head of a line, and its options without those whose value cannot be used."""
    first, *parts = _dump_parts(text)
    name = _word(Entry(file, line, "name", first), notes)
    options: Options = {}
    for part in parts:
        key, _, value = part.partition("=")
        option, entry = option_of(Entry(file, line, key.strip().rstrip("+-"), value))
        entry = replace(entry, value=_word(entry, notes, is_free=option in _FREE_TEXTS))
        if fault := fault_of_option(option, entry):
            notes.unmodelled(entry, f"the value is left out: {fault}")
        else:
            options[option] = _together(options.get(option), entry)
    return name, options


def _word(entry: Entry, notes: Notes, is_free: bool = False) -> str:
    """A value without its quotes. is_free: whether it may have quotes and colons in it; behind the quote of others is no option."""
    text = entry.value.strip()
    quote = text[:1]
    if quote not in ("'", '"'):
        return text
    text = text[1:].removesuffix(quote)
    word, _, rest = (text, "", "") if is_free else text.partition(f"{quote}:")
    if rest:
        notes.unmodelled(replace(entry, value=rest), "it was not read: expected options such as Fairshare=1")
    return word


def _dump_parts(text: str) -> list[str]:
    """The parts between colons. sacctmgr writes texts as they are, with apostrophes and colons in them, so a part ends only before
    another option, a text only behind its last quote, and not within a typed resource such as gres/gpu:a100=4."""
    parts, begin, is_value = [], 0, False
    for place, sign in enumerate(text):
        if sign != ":" or not ((match := _KEY.match(text, place + 1)) or not text[place + 1 :].strip(" :")):
            continue
        part = text[begin:place]
        value = (part.partition("=")[2] if is_value else part).strip()
        quote = value[:1] if value[:1] in ("'", '"') else ""
        is_open = quote and not (len(value) > 1 and value.endswith(quote))
        if is_open or (not quote and "/" in re.split(r"[=,:]", value)[-1]):
            continue
        parts.append(part if quote else part.rstrip(":"))
        begin, is_value = place + 1, True
        if match is None:
            return parts
    return [*parts, text[begin:]]


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
