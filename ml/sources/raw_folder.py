"""What lies in a folder of raw videos: names grouped to recordings. Sizes, times and content are not looked at here."""

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ml.sources.imported import natural_key
from ml.sources.video_files import VIDEO_SUFFIXES, normal_name

SIDECAR_SUFFIX = ".steps.json"
_TEMPORARY = re.compile(r"(?:^~|~$|\.(?:part|partial|tmp|temp|crdownload|download|filepart)(?:\.|$))", re.IGNORECASE)
# GoPro: GH010155 is chapter 01 of recording 0155; older cameras call the first chapter GOPR0155 and the next ones GP010155.
_CHAPTER = re.compile(r"(?P<camera>G[HXPS])(?P<chapter>\d{2})(?P<number>\d{4})|GOPR(?P<first>\d{4})", re.IGNORECASE)


@dataclass(frozen=True)
class RawVideo:
    """One recording among the files of a folder.

    ``native_id`` is its path below the folder in composed Unicode, with its suffix; chapters of one camera recording are one, called
    ``<camera><number><suffix>`` (``GH0155.MP4``). ``videos`` are in playing order and keep the names that the file system gave.
    """

    native_id: str
    videos: tuple[Path, ...]
    sidecar: Path | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        return self.videos if self.sidecar is None else (*self.videos, self.sidecar)


@dataclass(frozen=True)
class RawFolder:
    videos: tuple[RawVideo, ...]
    refused: tuple[tuple[str, str], ...]  # name and reason


def list_raw_videos(folder: Path) -> RawFolder:
    """Recordings below ``folder`` in natural order. Hidden and temporary names and companion files (.LRV, .THM, .srt ...) are left alone.

    A name present both composed and decomposed is one recording; the composed one is opened and the other is in ``refused``.
    """
    refused: list[tuple[str, str]] = []
    found: dict[str, Path] = {}
    for relative, path in sorted(_walk(folder), key=lambda item: (item[0], os.fsencode(item[1]))):
        if not _is_utf8(relative):
            refused.append((os.fsencode(path.name).decode("utf-8", "backslashreplace"), "the file name is not UTF-8: rename it"))
        elif relative in found:
            keep, other = (path, found[relative]) if path.name == normal_name(path.name) else (found[relative], path)
            found[relative] = keep
            refused.append((relative, f"{other.name!r} is the same name in another Unicode form"))
        else:
            found[relative] = path
    sidecars = {name.removesuffix(SIDECAR_SUFFIX): path for name, path in found.items() if name.endswith(SIDECAR_SUFFIX)}
    groups: dict[str, list[tuple[int, str, Path]]] = defaultdict(list)
    for relative, path in found.items():
        if not relative.endswith(SIDECAR_SUFFIX):
            native_id, chapter = _recording_of(relative)
            groups[native_id].append((chapter, relative, path))
    videos = []
    for native_id in sorted(groups, key=natural_key):
        chapters = sorted(groups[native_id], key=lambda item: (item[0], item[1]))
        names = [_stem(native_id), *(_stem(relative) for _, relative, _ in chapters)]
        sidecar = next((sidecars[name] for name in names if name in sidecars), None)
        videos.append(RawVideo(native_id, tuple(path for _, _, path in chapters), sidecar))
    return RawFolder(tuple(videos), tuple(refused))


def _walk(folder: Path) -> Iterator[tuple[str, Path]]:
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__MACOSX")
        for name in _wanted(names):
            path = Path(root) / name
            yield normal_name(path.relative_to(folder).as_posix()), path


def _wanted(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        is_video = os.path.splitext(name)[1].lower() in VIDEO_SUFFIXES
        if (is_video or name.endswith(SIDECAR_SUFFIX)) and not name.startswith(".") and not _TEMPORARY.search(name):
            yield name


def _is_utf8(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _stem(relative: str) -> str:
    return os.path.splitext(relative)[0]


def _recording_of(relative: str) -> tuple[str, int]:
    """Native id of the recording that a file belongs to, and which chapter of it the file is."""
    folder, slash, name = relative.rpartition("/")
    stem, suffix = os.path.splitext(name)
    found = _CHAPTER.fullmatch(stem)
    if found is None:
        return relative, 0
    if found["first"]:
        return f"{folder}{slash}GP{found['first']}{suffix}", 0
    return f"{folder}{slash}{found['camera'].upper()}{found['number']}{suffix}", int(found["chapter"])
