"""Workers that learn together: they add up what each of them has computed, and count who has finished."""

from __future__ import annotations

import datetime
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


class WorkersLost(RuntimeError):
    """Another worker has ended, or has not answered in time."""


class Workers(Protocol):
    """What a worker knows of the others. Every method but `finish` and `finished` is called by all workers, in the same order."""

    rank: int
    """Number of this worker, from 0."""
    size: int
    """How many workers there are."""

    def add(self, values: FloatArray) -> FloatArray:
        """The sum over all workers, float64, shaped as `values`: the same bits for all of them."""
        ...

    def share(self, value: Any) -> Any:
        """What worker 0 gave. The others' own values count for nothing."""
        ...

    def finish(self, iteration: str) -> None:
        """Says that this worker has finished an iteration."""
        ...

    def finished(self, iteration: str) -> int:
        """How many workers have finished an iteration."""
        ...


class LoneWorker:
    """One worker alone."""

    rank, size = 0, 1

    def __init__(self) -> None:
        self._finished: set[str] = set()

    def add(self, values: FloatArray) -> FloatArray:
        """The values themselves."""
        return values

    def share(self, value: Any) -> Any:
        """The value itself."""
        return value

    def finish(self, iteration: str) -> None:
        """Says that this worker has finished an iteration."""
        self._finished.add(iteration)

    def finished(self, iteration: str) -> int:
        """1 or 0."""
        return int(iteration in self._finished)


class GlooWorkers:
    """Processes that torch.distributed has connected. A method raises WorkersLost where another worker has ended or does not answer."""

    def __init__(self, timeout_s: float) -> None:
        """timeout_s: how long to wait for the others. The processes are connected by now."""
        import torch.distributed as distributed

        self._distributed = distributed
        self.rank, self.size = distributed.get_rank(), distributed.get_world_size()
        self._timeout_s = timeout_s
        self._counts = self._open_counts()

    def _open_counts(self) -> Any:
        """A store on worker 0, which counts: the one by which processes were connected belongs to torch."""
        wait = datetime.timedelta(seconds=self._timeout_s)
        host = os.environ.get("MASTER_ADDR", "localhost")
        store = None
        if self.rank == 0:
            store = self._distributed.TCPStore(host, 0, is_master=True, wait_for_workers=False, timeout=wait)
        port = self.share(store.port if store else None)
        return store or self._distributed.TCPStore(host, port, is_master=False, timeout=wait)

    @contextmanager
    def _answering(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            raise WorkersLost(
                f"worker {self.rank}: another worker has ended, or has not answered for {self._timeout_s:g} s"
            ) from error

    def add(self, values: FloatArray) -> FloatArray:
        """The sum over all workers, by a ring: the same bits for all of them."""
        import torch

        total = np.array(values, dtype=np.float64)
        with self._answering():
            self._distributed.all_reduce(torch.from_numpy(total))
        return total

    def share(self, value: Any) -> Any:
        """What worker 0 gave, pickled."""
        box = [value]
        with self._answering():
            self._distributed.broadcast_object_list(box, src=0)
        return box[0]

    def finish(self, iteration: str) -> None:
        """Says that this worker has finished an iteration."""
        self._count(iteration, 1)

    def finished(self, iteration: str) -> int:
        """How many workers have finished an iteration."""
        return self._count(iteration, 0)

    def _count(self, iteration: str, more: int) -> int:
        """Adds to a count. It waits beside a thread, since the store waits forever for a worker 0 that is stopped."""
        answers: SimpleQueue[int | RuntimeError] = SimpleQueue()

        def ask() -> None:
            try:
                answers.put(self._counts.add(iteration, more))
            except RuntimeError as error:
                answers.put(error)

        threading.Thread(target=ask, daemon=True).start()
        with self._answering():
            try:
                answer = answers.get(timeout=self._timeout_s)
            except Empty:
                raise RuntimeError("the store does not answer") from None
            if isinstance(answer, RuntimeError):
                raise answer
            return answer


@contextmanager
def connected_workers(timeout_s: float) -> Iterator[GlooWorkers]:
    """The workers among which torchrun, or Ray Train, has started this process."""
    import torch.distributed as distributed

    ours = not distributed.is_initialized()  # Ray Train has connected its workers by now, and parts them
    if ours:
        if os.environ.get("LOCAL_WORLD_SIZE") == os.environ["WORLD_SIZE"] and sys.platform == "linux":
            os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # all are on this machine
        try:
            distributed.init_process_group("gloo", timeout=datetime.timedelta(seconds=timeout_s))
        except RuntimeError as error:
            raise WorkersLost(f"worker {os.environ['RANK']}: the others do not answer: {error}") from error
    try:
        yield GlooWorkers(timeout_s)
    finally:
        if ours:
            distributed.destroy_process_group()
