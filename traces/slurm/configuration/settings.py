"""Settings of slurm.conf and of `scontrol show config` as the scheduler's settings of a description."""

from __future__ import annotations

from collections.abc import Mapping

from traces.cluster.description import Setting
from traces.cluster.notes import Entry, KnownKey, Notes
from traces.cluster.remarks import ASSUMED, MODELLED, NO_EFFECT, NOT_MODELLED
from traces.slurm.configuration.keys import GENERAL_KEYS
from traces.slurm.configuration.parameter_keys import OLD_PARAMETERS, SCHEDULER_PARAMETERS, WORD_LISTS
from traces.slurm.configuration.parts import Attributes
from traces.slurm.configuration.units import counted, is_unset, mib_of, slurm_setting, words_of

_OF_PARTITIONS = (
    "defmempercpu", "defmempernode", "defmempergpu", "defcpupergpu", "maxmempercpu", "maxmempernode", "jobdefaults",
)  # fmt: skip
"""Partitions that do not say have these."""


def merged_settings(configured: Attributes, shown: Attributes, notes: Notes) -> Attributes:
    """The settings of slurm.conf with those that scontrol shows, which count. A remark says where the two differ."""
    merged = dict(configured)
    for key, other in shown.items():
        entry, row = configured.get(key), GENERAL_KEYS.get(key)
        if entry is None:
            merged[key] = other
        elif row is None or row.kind != MODELLED:
            notes.by_table(GENERAL_KEYS, other, key)
        elif key == "accountingstoragetres" or _compared(entry, row.form) == _compared(other, row.form):
            notes.modelled(other, f"scheduler.{key}")
        else:
            notes.assumed(entry, f"{other.file}:{other.line} has {other.value}, which is what runs")
            merged[key] = other
    return merged


def _compared(entry: Entry, form: str) -> object:
    if entry.value.strip().lower() in ("", "(null)", "n/a"):
        return None
    value = slurm_setting(entry, form)
    return sorted(value.split(",")) if isinstance(value, str) else value


def scheduler_values(settings: Attributes, notes: Notes) -> tuple[dict[str, Setting], dict[str, int]]:
    """Settings of the scheduler by name, and licences. A remark on each entry. Raises ConfigurationError for a value of another form."""
    values: dict[str, Setting] = {}
    licences: dict[str, int] = {}
    for key, entry in settings.items():
        row = GENERAL_KEYS.get(key)
        if row is None or row.kind != MODELLED:
            notes.by_table(GENERAL_KEYS, entry, key)
        elif entry.value.strip().lower() in ("", "(null)", "n/a"):
            notes.add(entry, NO_EFFECT, "it is not set")
        elif key in ("schedulerparameters", "preemptparameters"):
            _add_parameters(values, entry, notes)
        elif key == "licenses":
            licences = _licences(entry)
            notes.modelled(entry, "licences")
        elif key in _OF_PARTITIONS and (is_unset(entry.value) or entry.value.strip() == "0"):
            notes.add(entry, NO_EFFECT, "it is not set")
        elif key in _OF_PARTITIONS:
            values[key] = mib_of(entry) if "mem" in key else slurm_setting(entry, "text")
            notes.modelled(entry, f"scheduler.{key}")
        else:
            if key in WORD_LISTS:
                _note_words(WORD_LISTS[key], entry, notes)
            values[key] = slurm_setting(entry, row.form)
            notes.modelled(entry, f"scheduler.{key}")
    return values, licences


def _note_words(table: Mapping[str, KnownKey], entry: Entry, notes: Notes) -> None:
    """A remark on each word of a list that is not in the description as it is meant."""
    for word in words_of(entry.value):
        row = table.get(word.lower())
        if row is None or row.kind != MODELLED:
            notes.by_table(table, Entry(entry.file, entry.line, entry.key, word), word.lower())


def _add_parameters(values: dict[str, Setting], entry: Entry, notes: Notes) -> None:
    """The words of SchedulerParameters, each a setting of its own."""
    text = entry.value
    if text.startswith("="):
        notes.assumed(entry, "a second = is passed over")
        text = text[1:]
    for word in words_of(text):
        name, equals, amount = word.partition("=")
        key = OLD_PARAMETERS.get(name.strip().lower(), name.strip().lower())
        if entry.key.lower() == "preemptparameters":
            key = f"preempt_{key}"
        single = Entry(entry.file, entry.line, f"{entry.key} {name.strip()}", amount.strip())
        row = SCHEDULER_PARAMETERS.get(key)
        if row is None or row.kind != MODELLED:
            if row is not None and row.kind == NOT_MODELLED and not equals:
                notes.unmodelled(single, row.effect)
            else:
                notes.by_table(SCHEDULER_PARAMETERS, single, key)
            continue
        if row.form == "bool":
            values[key] = amount.strip().lower() not in ("no", "0") if equals else True
        elif not equals:
            raise single.refuse("a number behind =")
        else:
            values[key] = counted(single, amount)
        notes.modelled(single, f"scheduler.{key}")


def _licences(entry: Entry) -> dict[str, int]:
    """How many of each in a list such as matlab:10,ansys@server:4."""
    licences: dict[str, int] = {}
    for word in words_of(entry.value):
        name, _, amount = word.replace("*", ":").partition(":")
        licences[name] = counted(entry, amount or "1")
    return licences


def assumed_settings(values: Mapping[str, Setting], notes: Notes, file: str) -> None:
    """Remarks on what the files do not say of the scheduler, and Slurm's defaults hold for."""
    for key in ("schedulertype", "selecttype", "prioritytype"):
        if key not in values:
            notes.add(Entry(file, 0, key, ""), ASSUMED, "no file says it, so the default of its version holds")


def add_enforcement(values: dict[str, Setting], notes: Notes, file: str) -> None:
    """Slurm enforces no limit where the configuration does not say so. A remark says that limits of the accounts do not hold."""
    if "accountingstorageenforce" not in values:
        values["accountingstorageenforce"] = "none"
        effect = (
            "no file says it, so limits of QOS and associations do not hold. Add limits to it in slurm.conf if they do"
        )
        notes.add(Entry(file, 0, "accountingstorageenforce", ""), ASSUMED, effect)
