"""Policies as users have them in hand: a name, a file, what `load_policy` returned, or a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from models.scheduling.policy_file import load_policy as read_policy
from simulator.policies.registry import register_policy


@dataclass(frozen=True)
class PolicyFile:
    """A trained policy. `load_policy` and `train` make it, and `replay` takes it.

    Attributes
    ----------
    path : pathlib.Path
        The file.
    card : dict
        What it was trained on and for, and how good it was on windows that it had not seen.
    """

    path: Path
    card: dict[str, Any] = field(repr=False)

    def __str__(self) -> str:
        return str(self.path)


AnyPolicy = str | Path | PolicyFile | Callable[..., Any]


def load_policy(file: str | Path) -> PolicyFile:
    """Load a trained policy, checked, to look at its card and replay with it.

    Parameters
    ----------
    file
        A policy file, as `tracehouse train` writes it.

    Returns
    -------
    PolicyFile

    Raises
    ------
    ValueError
        There is no such file, or it is damaged, or of another version of tracehouse.

    Examples
    --------
    >>> import tracehouse
    >>> tracehouse.load_policy("nothing-here.json")
    Traceback (most recent call last):
        ...
    ValueError: nothing-here.json: no such policy file. Train one with `tracehouse train`
    """
    return PolicyFile(Path(file), read_policy(Path(file))[1])


class PolicyTexts:
    """The policies of one call as texts. Functions are registered under their names, those of the same name with a number."""

    def __init__(self) -> None:
        self._functions: dict[str, Callable[..., Any]] = {}

    def of(self, policy: AnyPolicy) -> str:
        """The text that names a policy. Raises ValueError for a function whose parameters are not known."""
        if isinstance(policy, str | Path | PolicyFile) or not callable(policy):
            return str(policy)
        plain = name = f"{getattr(policy, '__name__', type(policy).__name__)}()"
        number = 1
        while self._functions.setdefault(name, policy) is not policy:
            number += 1
            name = f"{plain} {number}"
        register_policy(name, policy)
        return name

    def in_table(self, changes: Any, where: str) -> Any:
        """A table of what a scenario changes, with its policies and files as texts. where: the table, for messages."""
        if not isinstance(changes, Mapping):
            return changes
        try:
            return {
                key: self.of(value) if isinstance(value, Path | PolicyFile) or callable(value) else value
                for key, value in changes.items()
            }
        except ValueError as error:
            raise ValueError(f"scenarios: {where}: {error}") from None


def is_function(text: str) -> bool:
    """Whether a policy is a function of this Python process, which nothing else can find again."""
    return text.partition(" ")[0].endswith("()")
