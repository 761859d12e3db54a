"""How the functions of this package are compiled. All release the GIL, so that threads replay side by side."""

from __future__ import annotations

from typing import Any

import numba

_njit: Any = numba.njit  # its type does not know the option `_nrt`

compiled: Any = _njit(cache=True, nogil=True, _nrt=True)
"""For functions that allocate arrays."""

lean: Any = _njit(cache=True, nogil=True, _nrt=False)
"""For functions of the event loop: they allocate nothing, and do not count references to the arrays they are given. Counting
took a third of the time of a replay."""
