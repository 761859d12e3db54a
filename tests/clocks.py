"""Lets the clock of a process be ahead of the one that stamps files, as on a machine whose clock is wrong."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

_AHEAD = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static long ahead(void) { const char *text = getenv("SECONDS_AHEAD"); return text ? atol(text) : 0; }

int clock_gettime(clockid_t clock, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, now);
    if (!failed && clock == CLOCK_REALTIME) now->tv_sec += ahead();
    return failed;
}

int gettimeofday(struct timeval *now, void *zone) {
    struct timespec both;
    (void) zone;
    if (clock_gettime(CLOCK_REALTIME, &both)) return -1;
    now->tv_sec = both.tv_sec;
    now->tv_usec = both.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *now) {
    struct timespec both;
    clock_gettime(CLOCK_REALTIME, &both);
    if (now) *now = both.tv_sec;
    return both.tv_sec;
}
"""


def clock_ahead(folder: Path, seconds: int) -> dict[str, str]:
    """Variables with which a process reads a clock that is so much ahead. The kernel stamps its files by the right one. Skips the test
    where there is no C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip(
            "needs a C compiler (cc, such as from Debian's gcc): it builds the library that sets a process's clock ahead"
        )
    source, library = folder / "ahead.c", folder / "ahead.so"
    source.write_text(_AHEAD)
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(source), "-ldl"], check=True)
    return {"LD_PRELOAD": str(library), "SECONDS_AHEAD": str(seconds)}
