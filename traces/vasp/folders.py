"""Which folders are VASP runs, and which of their files are read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from traces.common.log import LogError
from traces.vasp.inputs import requests_images

READ_FILES = ("OSZICAR", "INCAR", "KPOINTS", "POSCAR")
"""Files beside OUTCAR that are read, OSZICAR first. Outputs of the batch system are read too."""
_OUTCAR = re.compile(r"OUTCAR(?:\.(?!bz2$)[A-Za-z0-9_\-]+)*$")
_PRINTED = re.compile(r"(?:slurm-[\d_]+\.out|.*\.[oe]\d+|.*\.(?:out|err)|vasp[._]?log|std_?(?:out|err).*)$", re.I)
_LINK_TO_FOLDER = "a link that leads out of the folder of runs is not followed: give what it leads to a name of its own"
_LINK_TO_FILE = "a link that leads out of the folder of runs is not read: put the file in its place"
_OF_VASP = ("OUTCAR", "OSZICAR", "INCAR", "KPOINTS", "POSCAR", "CONTCAR", "XDATCAR", "vasprun.xml")


@dataclass(frozen=True)
class RunFolder:
    """One folder below the root of a source that is, or should be, a run.

    name: below the root, "." for the root itself. Bytes in it that are not UTF-8 appear as \\xNN. outcars: names of its OUTCARs.
    others: the other files that are read, in this folder or, for an image, in the one above. stamp: changes when one of these files
    does. changed_s: when one last did, Unix seconds. image: number of a NEB image, whose job is the folder above.
    faults: (file or "", why it is not a run or not a part of one).
    """

    path: Path
    name: str
    outcars: tuple[str, ...] = ()
    others: tuple[Path, ...] = ()
    stamp: str = ""
    changed_s: float = 0.0
    image: int | None = None
    faults: tuple[tuple[str, str], ...] = ()


def find_runs(root: Path) -> Iterator[RunFolder]:
    """Every folder below `root` that has files of VASP or is empty, in the order of their names.

    A folder that has only folders, or files of something else, is neither a run nor a reject. Each folder counts once, where it
    really is: links to folders are not followed. A link that leads out of `root` is a reject, and so is such a link to a file that would
    be read. `root` itself may be a link. Raises LogError when there is no such folder.
    """
    if not root.is_dir():
        what = "is a file" if root.exists() else "no such folder"
        raise LogError(f"{root}: {what}: give the folder that the VASP runs are in, or one above it")
    tree = _Tree(root.resolve())
    unreadable: list[tuple[Path, OSError]] = []

    def denied(error: OSError) -> None:
        unreadable.append((Path(error.filename), error))

    for where, below, files in os.walk(tree.root, onerror=denied):
        path = Path(where)
        below.sort()
        for name in below:
            if tree.leads_out(path / name):
                yield RunFolder(path / name, tree.name(path / name), faults=(("", _LINK_TO_FOLDER),))
        try:
            run_folder = _folder(tree, path, below, files)
        except OSError as error:
            unreadable.append((path, error))
            continue
        if run_folder is not None:
            yield run_folder
    for path, reason in unreadable:
        fault = f"cannot be read ({reason.strerror}); check its permissions"
        yield RunFolder(path, tree.name(path), faults=(("", fault),))


class _Tree:
    """The folder that is searched. linked: files that links with the name of an OUTCAR lead to."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.linked: set[Path] = set()

    def name(self, path: Path) -> str:
        return os.fsencode(path.relative_to(self.root).as_posix()).decode("utf-8", "backslashreplace")

    def leads_out(self, path: Path) -> bool:
        """Whether this is a link to something outside."""
        link = os.path.islink(path)  # noqa: PTH114 - that of Path fails where it may not look
        return link and not Path(os.path.realpath(path)).is_relative_to(self.root)

    def counts_elsewhere(self, path: Path) -> bool:
        """Whether this is a link to an OUTCAR that is found at its own place, or that another link has led to."""
        if not (os.path.islink(path) and os.path.exists(path)):  # noqa: PTH110, PTH114 - reading the folder rejects it
            return False
        target = Path(os.path.realpath(path))
        if _OUTCAR.match(target.name) or target in self.linked:
            return True
        self.linked.add(target)
        return False


def _folder(tree: _Tree, path: Path, below: list[str], files: list[str]) -> RunFolder | None:
    name = tree.name(path)
    named = sorted(file for file in files if _OUTCAR.match(file))
    faults = [(file, _LINK_TO_FILE) for file in named if tree.leads_out(path / file)]
    outcars = tuple(
        file for file in named if not tree.leads_out(path / file) and not tree.counts_elsewhere(path / file)
    )
    faults += [
        (file, "a name that is not read: expected OUTCAR or OUTCAR.something, plain or packed as .gz, .zst or .xz")
        for file in sorted(files)
        if file.startswith("OUTCAR") and file not in named
    ]
    image = int(path.name) if re.fullmatch(r"\d\d", path.name) and _is_neb(tree, path.parent) else None
    if outcars:
        others = [path / file for file in files if file in READ_FILES or _PRINTED.match(file)]
        if image is not None:
            with os.scandir(path.parent) as above:
                others += [Path(e.path) for e in above if e.name in READ_FILES[1:] or _PRINTED.match(e.name)]
        outside = {other for other in others if tree.leads_out(other)}
        faults += [(other.name, _LINK_TO_FILE) for other in sorted(outside)]
        others = [other for other in others if other not in outside]
        read = sorted(other for other in others if other.is_file() or not other.exists())  # no pipes
        stamp, changed_s = _stamp([*(path / file for file in outcars), *read])
        return RunFolder(path, name, outcars, tuple(read), stamp, changed_s, image, tuple(faults))
    if faults:
        return RunFolder(path, name, faults=tuple(faults))
    if image is not None or named:
        return None  # an end point of a NEB, which VASP does not run, or links to runs that are elsewhere
    if any(file.startswith(_OF_VASP) for file in files):
        if _is_neb(tree, path):
            return None  # its images are in folders of their own
        return RunFolder(path, name, faults=(("", "no OUTCAR: not started, or removed"),))
    if not below and not files:
        return RunFolder(path, name, faults=(("", "an empty folder"),))
    return None


def _is_neb(tree: _Tree, path: Path) -> bool:
    """Whether the INCAR in a folder requests images."""
    try:
        incar = path / "INCAR"
        if not incar.is_file() or tree.leads_out(incar):
            return False
        return requests_images(incar.read_text("utf-8", "replace"))
    except OSError:
        return False


def _stamp(files: list[Path]) -> tuple[str, float]:
    """(names, sizes and times, the newest time)."""
    parts, newest = [], 0
    for file in files:
        try:
            status = file.stat()
        except OSError:
            continue
        parts.append(f"{file.name}:{status.st_size}:{status.st_mtime_ns}")
        newest = max(newest, status.st_mtime_ns)
    return " ".join(parts), newest / 1e9
