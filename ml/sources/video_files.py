"""Finding the video files of recordings in a dataset's folder. Nothing is opened here; probing belongs to ``ml.video``."""

import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from ml.errors import InputError
from ml.sources.imported import natural_key

VIDEO_SUFFIXES = frozenset({".mp4", ".mov", ".mkv", ".webm", ".avi", ".m4v", ".mpg", ".mpeg", ".ts", ".mts", ".3gp"})

# The trees that CaptainCook4D's downloader writes, best first for a model that sees small frames: the head camera at 360p is the
# reference for the annotated times, 4K is the same take, the HoloLens view (another device) is what 12_6 alone has.
CAPTAINCOOK4D_TREES = (("gopro/resolution_360p", "_360p"), ("gopro/resolution_4K", "_4K"), ("hololens/sync/pv", "_360p"))


def normal_name(name: str) -> str:
    """Name in composed Unicode form, so that one name stored in two forms is one name."""
    return unicodedata.normalize("NFC", name)


def captaincook4d_videos(videos: Path | None) -> dict[str, Path]:
    """File of each recording id below the folder that the downloader fills (``videos`` or its ``captain_cook_4d``); empty without one.

    Raises ``InputError`` where ``videos`` is named but is no folder.
    """
    if videos is None:
        return {}
    require_folder(videos)
    found: dict[str, Path] = {}
    for root in (videos, videos / "captain_cook_4d"):
        for tree, ending in CAPTAINCOOK4D_TREES:
            for path in _files(root / tree):
                if path.stem.endswith(ending):
                    found.setdefault(normal_name(path.stem.removesuffix(ending)), path)
    return found


def videos_by_stem(videos: Path | None) -> dict[str, Path]:
    """Every video file below ``videos`` by its name without suffix; of two with one name the first in natural order of paths."""
    if videos is None:
        return {}
    require_folder(videos)
    paths = (Path(folder) / name for folder, _, names in os.walk(videos) for name in names)
    found: dict[str, Path] = {}
    for path in sorted(_videos(paths), key=lambda path: natural_key(str(path))):
        found.setdefault(normal_name(path.stem), path)
    return found


def require_folder(folder: Path) -> None:
    if not folder.is_dir():
        raise InputError("there is no such folder", file=folder, remedy="Mend the path in the settings, or leave `videos` out")


def _files(folder: Path) -> list[Path]:
    return sorted(_videos(folder.iterdir()), key=lambda path: natural_key(path.name)) if folder.is_dir() else []


def _videos(paths: Iterable[Path]) -> Iterable[Path]:
    return (path for path in paths if path.suffix.lower() in VIDEO_SUFFIXES and not path.name.startswith("."))
