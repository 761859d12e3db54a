"""Work on several items at once, in processes that report how far they are and end with the process that started them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection, wait
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")

ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Environment of every process: there are as many of them as cores."""


class ProcessLost(RuntimeError):
    """A process has ended before its work has."""


class _Message(NamedTuple):
    """What a process sends. kind: report, result or error."""

    kind: str
    value: Any


def cores() -> int:
    """How many cores this process may use, 1 where it may not start others."""
    return 1 if multiprocessing.current_process().daemon else len(os.sched_getaffinity(0))


def work_side_by_side(
    work: Callable[[_Item, Callable[[Any], None]], _Result],
    items: Sequence[_Item],
    on_report: Callable[[_Item, Any], None],
    prepare: Callable[[], None] | None = None,
) -> Iterator[_Result]:
    """Does the work for every item, on as many processes as there are cores and items. Yields the results in the order of the items.

    work: gets an item, and a function that takes reports, with which on_report is then called here. All is sent to fresh processes, so it
    must be possible to pickle it. prepare: what each process does first, one after another, such as to compile what the others then
    find compiled. Raises what the work raises, and ProcessLost; all processes are ended then.
    """
    context = multiprocessing.get_context("spawn")  # a fork of a process with threads may never end
    results: dict[int, _Result] = {}
    with ExitStack() as stack:
        at_work: dict[Connection, tuple[Any, int]] = {}
        remaining = iter(range(len(items)))
        one_at_a_time = context.Lock()
        for _ in range(min(cores(), len(items))):
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(theirs, work, one_at_a_time, prepare), daemon=True)
            with _apart_from_this_process():
                process.start()
            stack.callback(_end, process)
            theirs.close()
            at_work[ours] = process, next(remaining)
            ours.send(items[at_work[ours][1]])
        for number in range(len(items)):
            while number not in results:
                for connection in wait(list(at_work)):
                    assert isinstance(connection, Connection)
                    process, at = at_work[connection]
                    message = _received(connection, process, items[at])
                    if message.kind == "report":
                        on_report(items[at], message.value)
                        continue
                    if message.kind == "error":
                        raise message.value
                    results[at] = message.value
                    following = next(remaining, None)
                    if following is None:
                        del at_work[connection]
                    else:
                        at_work[connection] = process, following
                        connection.send(items[following])
            yield results.pop(number)


def _received(connection: Connection, process: Any, item: object) -> _Message:
    try:
        message: _Message = connection.recv()
    except EOFError:
        process.join()
        raise ProcessLost(f"the process that worked on {item} has ended ({process.exitcode})") from None
    return message


def _end(process: Any) -> None:
    process.terminate()
    process.join()


def _serve(
    connection: Connection, work: Callable[..., Any], one_at_a_time: Any, prepare: Callable[[], None] | None
) -> None:
    """What a process does until it is ended."""

    def report(value: Any) -> None:
        connection.send(_Message("report", value))

    try:
        with one_at_a_time:
            if prepare is not None:
                prepare()
        while True:
            connection.send(_Message("result", work(connection.recv(), report)))
    except (BrokenPipeError, EOFError):  # the process that started this one has ended
        return
    except Exception as error:
        try:
            connection.send(_Message("error", error))
        except Exception:  # not every error can be pickled
            connection.send(_Message("error", RuntimeError(f"{type(error).__name__}: {error}")))


@contextmanager
def _apart_from_this_process() -> Iterator[None]:
    """A process that starts inside has one thread for linear algebra, leaves Ctrl-C to this process, and does not run the user's script
    once more, as multiprocessing would have it do."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    script, blocked = sys.modules["__main__"], signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    os.environ.update(ONE_THREAD)
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
