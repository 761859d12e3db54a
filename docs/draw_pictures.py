"""Draws the teaching pictures of docs/images from the real system: `python -m docs.draw_pictures`, or with the names of some.

    python -m docs.draw_pictures gantt wait-heat-map

`docs/images/pictures.json` keeps the SHA-256 of what each picture shows, and the picture itself carries it, too. A test
computes the data again and says which picture to draw when it has changed. `job-row` needs a home in which
`tracehouse run birch` has run, and keeps its values in `docs/images/job-row.json`. The others need nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import json
from pathlib import Path

from PIL import Image
from PIL.PngImagePlugin import PngInfo

from docs.picture_data import DATA, IMAGES, JSON, KEPT_WALK
from docs.picture_drawing import DPI, DRAWN_BY

HASHES = IMAGES / "pictures.json"
HASH_IN_PICTURE = "data-sha256"
MOST_BYTES = 150_000
COLOURS = 256


def hash_of(data: JSON) -> str:
    """SHA-256 of what a picture shows, in hexadecimal."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def hash_in(picture: Path) -> str | None:
    """The hash of the data that a picture was drawn from, as the picture says, None where it says nothing."""
    with Image.open(picture) as image:
        return image.info.get(HASH_IN_PICTURE)


def draw(name: str, data: JSON, folder: Path = IMAGES) -> Path:
    """Draws one picture and returns its path. Raises ValueError where it is too large for a page."""
    drawn, packed, says = io.BytesIO(), io.BytesIO(), PngInfo()
    DRAWN_BY[name](data).savefig(drawn, format="png", dpi=DPI)
    says.add_text(HASH_IN_PICTURE, hash_of(data))
    few = Image.open(drawn).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(packed, format="png", optimize=True, pnginfo=says)
    if packed.tell() > MOST_BYTES:
        raise ValueError(f"{name} takes {packed.tell():,} bytes, and at most {MOST_BYTES:,} go into the repository")
    path = folder / f"{name}.png"
    path.write_bytes(packed.getvalue())
    return path


def main() -> None:
    """Draws, and prints what was drawn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"which: {', '.join(DATA)}; all if none is given")
    names = parser.parse_args().names or list(DATA)
    unknown = [name for name in names if name not in DATA]
    if unknown:
        parser.error(f"no picture {', '.join(unknown)}; there are {', '.join(DATA)}")
    hashes = json.loads(HASHES.read_text()) if HASHES.exists() else {}
    for name in names:
        data = DATA[name]()
        if name == "job-row":
            KEPT_WALK.write_text(json.dumps(data, indent=1) + "\n")
        path = draw(name, data)
        hashes[name] = hash_of(data)
        print(f"{path}  {path.stat().st_size / 1000:.0f} kB")
        HASHES.write_text(json.dumps(hashes, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
