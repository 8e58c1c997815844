"""What lies in a folder of raw videos: names grouped to recordings. Sizes, times and content are not looked at here."""

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ml.sources.video_files import VIDEO_SUFFIXES, normal_name

SIDECAR_SUFFIX = ".steps.json"
_TEMPORARY = re.compile(r"(?:^~|~$|\.(?:part|partial|tmp|temp|crdownload|download|filepart)(?:\.|$))", re.IGNORECASE)
# GoPro: GH010155 is chapter 01 of recording 0155; older cameras call the first chapter GOPR0155 and the next ones GP010155.
_CHAPTER = re.compile(r"(?P<camera>G[HXPS])(?P<chapter>\d{2})(?P<number>\d{4})|GOPR(?P<first>\d{4})", re.IGNORECASE)


@dataclass(frozen=True)
class RawVideo:
    """One recording among the files of a folder.

    ``native_id`` is its path below the folder in composed Unicode, with its suffix; chapters of one camera recording are one, called
    ``<camera><number><suffix>`` (``GH0155.MP4``). ``names`` are the video files below ``folder``, in playing order and as the file system
    gave them; ``sidecar_name`` is the file with its recipe.
    """

    native_id: str
    folder: Path
    names: tuple[str, ...]
    sidecar_name: str | None = None

    @property
    def videos(self) -> tuple[Path, ...]:
        return tuple(self.folder / name for name in self.names)

    @property
    def sidecar(self) -> Path | None:
        return None if self.sidecar_name is None else self.folder / self.sidecar_name

    @property
    def all_names(self) -> tuple[str, ...]:
        return self.names if self.sidecar_name is None else (*self.names, self.sidecar_name)


@dataclass(frozen=True)
class RawFolder:
    videos: tuple[RawVideo, ...]
    refused: tuple[tuple[str, str], ...]  # name and reason


def list_raw_videos(folder: Path) -> RawFolder:
    """Recordings below ``folder``, by native id. Hidden and temporary names and companion files (.LRV, .THM, .srt ...) are left alone.

    A name present both composed and decomposed is one recording; the composed one is opened and the other is in ``refused``.
    """
    refused: list[tuple[str, str]] = []
    found: dict[str, str] = {}  # name in composed form: name as it is
    for name in _walk(folder):
        normal = normal_name(name)
        if not _is_utf8(name):
            refused.append((os.fsencode(name).decode("utf-8", "backslashreplace"), "the file name is not UTF-8: rename it"))
        elif normal in found:
            keep, other = (name, found[normal]) if name == normal else (found[normal], name)
            found[normal] = keep
            refused.append((normal, f"{other!r} is the same name in another Unicode form"))
        else:
            found[normal] = name
    sidecars = {normal.removesuffix(SIDECAR_SUFFIX): name for normal, name in found.items() if normal.endswith(SIDECAR_SUFFIX)}
    groups: dict[str, list[tuple[int, str]]] = defaultdict(list)  # native id: chapters
    for normal in found:
        if not normal.endswith(SIDECAR_SUFFIX):
            native_id, chapter = _recording_of(normal)
            groups[native_id].append((chapter, normal))
    videos = []
    for native_id in sorted(groups):
        chapters = sorted(groups[native_id])
        stems = (os.path.splitext(normal)[0] for normal in (native_id, *(normal for _, normal in chapters)))
        sidecar = next((sidecars[stem] for stem in stems if stem in sidecars), None) if sidecars else None
        videos.append(RawVideo(native_id, folder, tuple(found[normal] for _, normal in chapters), sidecar))
    return RawFolder(tuple(videos), tuple(refused))


def _walk(folder: Path) -> Iterator[str]:
    """Names below ``folder``, with ``/``. Texts, not paths: the folder may hold tens of thousands, and a sensor lists it every tick."""
    top = os.fspath(folder)
    for root, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__MACOSX")
        below = os.path.relpath(root, top).replace(os.sep, "/")
        prefix = "" if below == "." else f"{below}/"
        for name in sorted(_wanted(names)):
            yield prefix + name


def _wanted(names: Iterable[str]) -> Iterator[str]:
    for name in names:
        is_video = f".{name.rpartition('.')[2].lower()}" in VIDEO_SUFFIXES
        if (is_video or name.endswith(SIDECAR_SUFFIX)) and not name.startswith(".") and not _TEMPORARY.search(name):
            yield name


def _is_utf8(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


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
