"""Settings of a run: the parameters in force and how it was spread, as the head of an OUTCAR tells them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

_TOTAL_CORES = re.compile(rb"^\s*running on\s*(\d+)\s+(?:total cores|nodes)", re.M)
_RANKS = re.compile(rb"^\s*running\s*(\d+) mpi-ranks(?:, with\s*(\d+) threads/rank)?(?:, on\s*(\d+) nodes)?", re.M)
_KPAR = re.compile(rb"^\s*distrk:\s+each k-point on\s*(\d+) cores,\s*(\d+) groups", re.M)
_NCORE = re.compile(
    rb"^\s*distr:\s+one band on\s*(?:NCORES?(?:_PER_BAND)?=)?\s*(\d+) (?:cores|nodes),\s*(\d+) groups", re.M
)
_IMAGE = re.compile(rb"^\s*each image running on\s*(\d+)", re.M)
_SETTING = re.compile(rb"([A-Z][A-Z0-9_]*)[ \t]*=[ \t]*([^\s;=]+)")
_METAGGA = re.compile(rb"^[ \t]*METAGGA[ \t]*=[ \t]*([A-Za-z]\w*)(?!.*non-selfconsistent)", re.M)
"""The functional, in the echo of INCAR or where VASP says what is in force. `METAGGA= F non-selfconsistent` is another parameter."""
IVDW_LINE = re.compile(rb"^[ \t]*IVDW[ \t]*=[ \t]*(\d+)", re.M)
"""In the echo of INCAR, or where VASP computes the first correction, which is behind electronic steps."""
_POTENTIALS = (
    re.compile(rb"^[ \t]*TITEL[ \t]*=(.*)$", re.M),
    re.compile(rb"^[ \t]*POTCAR:(.*)$", re.M),
    re.compile(rb"^[ \t]*VRHFIN[ \t]*=(.*)$", re.M),
)
"""Lines that name the element of each potential. VRHFIN is last: it says X for Xe, and r for some potentials of Zr."""
_SYMBOL = re.compile(rb"(?:^|\s)([A-Z][a-z]?)(?![A-Za-z])")
_SYMBOLS = frozenset(
    b"H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr Rb Sr Y Zr Nb Mo Tc Ru Rh Pd "
    b"Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac "
    b"Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr".split()
)
_IONS_PER_TYPE = re.compile(rb"ions per type =([ \d]+)")
_VOLUME = re.compile(rb"volume of cell\s*:\s*([\d.]+)")

INTEGERS = (
    "NSW",
    "NELM",
    "NELMIN",
    "NELMDL",
    "ISPIN",
    "IALGO",
    "ISTART",
    "ICHARG",
    "ISYM",
    "ISMEAR",
    "IBRION",
    "ISIF",
    "NKPTS",
    "NBANDS",
    "NIONS",
    "NGX",
    "NGY",
    "NGZ",
    "LEXCH",
    "IVDW",
)
REALS = ("NELECT", "ENCUT", "EDIFF", "EDIFFG", "SIGMA", "POTIM")
SWITCHES = ("LREAL", "LHFCALC", "LSORBIT", "LNONCOLLINEAR", "LEPSILON", "LWAVE", "LCHARG")
WORDS = ("PREC", "GGA", "METAGGA")
_FROM_OWN_LINES = ("METAGGA", "IVDW")
"""No list of parameters tells what of these is in force."""
VASP_SETTINGS = (*INTEGERS, *REALS, *SWITCHES, *WORDS)
"""Input parameters of a launch, as VASP calls them; OUTCAR tells the value in force, defaults included."""


def read_settings(header: bytes, begins_whole: bool = True) -> dict[str, Any]:
    """What the lines before the first iteration tell, by the names of VASP_SETTINGS and of `Launch.settings`.

    begins_whole: whether the header begins where VASP began it. Else what only its first lines tell is None.
    """
    settings: dict[str, Any] = dict.fromkeys(VASP_SETTINGS)
    sizes = header.find(b"Dimension of arrays")
    parameters = header.find(b"Startparameter for this run")
    last = header.find(b"energy-cutoff  :", parameters) if parameters >= 0 else -1
    if sizes >= 0:
        system = header.find(b"SYSTEM =", sizes)  # what follows is free text
        _take(settings, header[sizes : system if system >= 0 else parameters if parameters >= 0 else len(header)])
    if parameters >= 0:
        _take(settings, header[parameters : last if last >= 0 else len(header)])
    top = header[:4096]
    cores, ranks = _TOTAL_CORES.search(top), _RANKS.search(top)
    threads = (fortran_count(ranks[2]) or 1) if ranks and ranks[2] else 1
    kpar, ncore, image = _KPAR.search(top), _NCORE.search(top), _IMAGE.search(top)
    serial = 1 if b"serial version" in top else None
    processes = fortran_count(ranks[1]) if ranks else fortran_count(cores[1]) if cores else serial
    settings["cores"] = processes * threads if processes is not None else None
    settings["threads"] = threads if begins_whole or processes is not None else None
    settings["nodes"] = fortran_count(ranks[3]) if ranks and ranks[3] else None
    settings["kpar"] = fortran_count(kpar[2]) if kpar else None
    settings["ncore"] = fortran_count(ncore[1]) if ncore else None
    settings["image_cores"] = fortran_count(image[1]) if image else None
    per_type = _IONS_PER_TYPE.search(header)
    types = len(per_type[1].split()) if per_type else None
    # where the number is not known, some may be missing, and those that are left are another system
    settings["elements"] = _elements(header, types or 1) if types or begins_whole else []
    settings["element_types"] = types or len(settings["elements"]) or None
    functionals = [metagga(word.decode()) or "" for word in _METAGGA.findall(header)]
    settings["METAGGA"] = max(functionals, key=len, default="") or None
    correction = IVDW_LINE.search(header)
    settings["IVDW"] = fortran_count(correction[1]) if correction else None
    volume = _VOLUME.search(header, parameters) if parameters >= 0 else _VOLUME.search(header) if begins_whole else None
    settings["volume_a3"] = fortran_real(volume[1]) if volume else None
    settings["automatic_mesh"] = b"Automatic generation of k-mesh" in header
    settings["hubbard_u"] = True if b"LDA+U is selected" in header else False if last >= 0 else None
    return settings


def metagga(word: str) -> str | None:
    """A functional as VASP reads it, or None for no meta-GGA."""
    name = word.upper()
    return name if name[:1].isalpha() and name not in ("NONE", "F", "FALSE") else None


def _elements(header: bytes, least: int) -> list[str]:
    """Symbols of the potentials, each once, by the first kind of line that names `least` of them. Empty where none does."""
    for lines in _POTENTIALS:
        names = [_symbol(line) for line in lines.findall(header)]
        if len(names) >= least and None not in names:
            return [name for name in dict.fromkeys(names) if name]
    return []


def _symbol(line: bytes) -> str | None:
    """The first symbol of an element in the name of a potential, such as Zr of `PAW_PBE Zr_sv 04Jan2005`."""
    return next((name.decode() for name in _SYMBOL.findall(line) if name in _SYMBOLS), None)


def _take(settings: dict[str, Any], text: bytes) -> None:
    """The first value of each setting; a field that overflowed or makes no sense stays None."""
    seen = set()
    for name_, value in _SETTING.findall(text):
        name = name_.decode()
        if name not in settings or name in _FROM_OWN_LINES or settings[name] is not None or name in seen:
            continue
        seen.add(name)
        if name in INTEGERS:
            settings[name] = fortran_count(value)
        elif name in REALS:
            settings[name] = fortran_real(value)
        elif name in SWITCHES:
            settings[name] = value.strip(b".").upper().startswith(b"T")
        else:
            settings[name] = value.decode("ascii", "replace")


def fortran_count(text: bytes) -> int | None:
    """None for stars, and for more digits than any count of VASP's has."""
    try:
        return int(text) if len(text) <= 15 else None
    except ValueError:
        return None


def fortran_real(text: bytes) -> float | None:
    """A Fortran number, or None. Its exponent may be a D, or have lost the letter to a third digit. NaN is no number."""
    text = re.sub(rb"(?<=\d)([+-]\d{3})$", rb"E\1", text.replace(b"D", b"E"))
    try:
        value = float(text)
    except ValueError:
        return None
    return value if np.isfinite(value) else None
