"""Writes the sample kitchen: annotations in the real datasets' layouts, videos, the truth log, and last the manifest.

Restartable: every file is written under a temporary name and renamed, files that are there are not written again, and a stamp says
which settings the folder was begun with. What is in the files is decided by `plan` and the `*_layout` modules.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import polars as pl

from ml.errors import InputError
from ml.locks import only_one
from ml.sample_kitchen import captaincook4d_layout, cook_mre_layout, goalstep_layout, guideme_layout
from ml.sample_kitchen.plan import Entry, KitchenSizes, KitchenSource, plan
from ml.sample_kitchen.timeline_layout import parquet_name, table
from ml.sample_kitchen.truth_tables import truth_tables
from ml.sample_kitchen.video_file import VIDEO_SIZE, write_video
from ml.sample_kitchen.world import KitchenSplit

# Raise when a script, a picture or a file format changes: folders of another version are made anew.
KITCHEN_VERSION: Final = 1
STAMP: Final = "stamp.json"
MANIFEST: Final = "manifest.json"
TRUTH: Final = "truth"
BENCHMARK_FILES: Final = ((guideme_layout.FOLDER, guideme_layout.FILE), (cook_mre_layout.FOLDER, cook_mre_layout.FILE))
LICENCE_TEXT: Final = "Apache-2.0\n\nRendered by the sample kitchen; no data of the dataset whose layout this folder has.\n"


@dataclass(frozen=True)
class ManifestRecording:
    """One recording as the manifest lists it; `video` is relative to the root."""

    source: str
    native_id: str
    part: str
    split: str
    behaviour: str
    video: str
    duration_s: float


@dataclass(frozen=True)
class Manifest:
    """What stands under `root`. `recordings` are in the order of the plan."""

    root: Path
    version: int
    seed: int
    sizes: KitchenSizes
    recordings: tuple[ManifestRecording, ...]

    @property
    def seconds(self) -> float:
        """Length of all recordings together."""
        return sum(recording.duration_s for recording in self.recordings)

    def unseen(self, source: KitchenSource) -> frozenset[str]:
        """Native ids of a source's recordings of the harder split."""
        return frozenset(r.native_id for r in self.recordings if r.source == source and r.split == KitchenSplit.UNSEEN)


def write_sample_kitchen(
    root: Path, sizes: KitchenSizes, seed: int, progress: Callable[[int, int], None] | None = None, *, processes: int = 2
) -> Manifest:
    """Makes the sample kitchen under `root` and returns its manifest.

    `progress(done, total)` is called with the number of videos that are there. A second call with the same arguments writes
    nothing; after a kill the next call finishes the rest; other sizes or another seed replace the kitchen; a call from another
    process waits for the first. Raises `InputError` where `root` holds folders that no sample kitchen wrote. `processes`
    processes are spawned, so a script that calls this needs the usual `if __name__ == "__main__"`; with 1 everything runs in
    this process.
    """
    settings = {"version": KITCHEN_VERSION, "seed": seed, "video_size": VIDEO_SIZE, "sizes": asdict(sizes)}
    with only_one(root.with_name(f".{root.name}.lock"), "writing the sample kitchen", waits=True):
        return _write(root, sizes, seed, settings, progress, processes)


def _write(
    root: Path, sizes: KitchenSizes, seed: int, settings: dict[str, object], progress: Callable[[int, int], None] | None, processes: int
) -> Manifest:
    _claim(root, settings)
    entries = plan(sizes, seed)
    missing = [entry for entry in entries if not _video_path(root, entry).exists()]
    if (root / MANIFEST).exists() and not missing:
        manifest = read_manifest(root)
        if not all((root / folder / file).exists() for folder, file in BENCHMARK_FILES):  # a kitchen from before there were these
            _write_benchmarks(root, entries)
        if progress:
            progress(len(entries), len(entries))
        return manifest
    _drop_partials(root)
    _render_all(root, missing, len(entries), progress, processes)
    _write_annotations(root, entries)
    _write_benchmarks(root, entries)
    for name, frame in truth_tables(entries).items():
        _write_parquet(root / TRUTH / f"{name}.parquet", frame)
    manifest = Manifest(root, KITCHEN_VERSION, seed, sizes, tuple(_listed(entry) for entry in entries))
    content = settings | {"recordings": [asdict(recording) for recording in manifest.recordings]}
    _write_text(root / MANIFEST, json.dumps(content, indent=1))
    return manifest


def read_manifest(root: Path) -> Manifest:
    """The manifest of a finished sample kitchen. Raises `InputError` where it is not finished."""
    path = root / MANIFEST
    try:
        content = json.loads(path.read_text())
        recordings = tuple(ManifestRecording(**recording) for recording in content["recordings"])
        return Manifest(root, content["version"], content["seed"], KitchenSizes(**content["sizes"]), recordings)
    except FileNotFoundError:
        raise InputError("the sample kitchen is not there or not finished", file=path, remedy="Make it with write_sample_kitchen") from None
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise InputError(f"not a manifest of this version ({error})", file=path, remedy="Delete the folder and make it again") from None


def _claim(root: Path, settings: dict[str, object]) -> None:
    """Makes sure that what lies under `root` was begun with these settings; a kitchen of other settings is removed."""
    stamp = root / STAMP
    folders = [root / name for name in (*KitchenSource, TRUTH, *(folder for folder, _ in BENCHMARK_FILES))]
    there = [folder for folder in folders if folder.exists()]
    if stamp.exists():
        try:
            same = json.loads(stamp.read_text()) == settings
        except json.JSONDecodeError:
            same = False
        if same:
            return
        (root / MANIFEST).unlink(missing_ok=True)
        for folder in there:
            shutil.rmtree(folder)
    elif there:
        raise InputError("the folder holds data that the sample kitchen did not write", file=there[0], remedy="Choose an empty folder")
    _write_text(stamp, json.dumps(settings, indent=1))


def _video_path(root: Path, entry: Entry) -> Path:
    return root / entry.source / entry.video


def _drop_partials(root: Path) -> None:
    """Removes what a killed run left under temporary names."""
    for partial in root.rglob(".*.part"):
        partial.unlink(missing_ok=True)


def _render_all(root: Path, missing: Sequence[Entry], total: int, progress: Callable[[int, int], None] | None, processes: int) -> None:
    done = total - len(missing)
    if progress:
        progress(done, total)
    for _ in _rendered(root, missing, processes):
        done += 1
        if progress:
            progress(done, total)


def _rendered(root: Path, missing: Sequence[Entry], processes: int) -> Iterable[None]:
    """Yields once per finished video."""
    if processes <= 1 or len(missing) <= processes:
        for entry in missing:
            _render(entry, _video_path(root, entry))
            yield
        return
    # Slowest first, so that the last ones do not keep one process busy alone.
    order = sorted(missing, key=lambda entry: -float(entry.rate))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context, initializer=_begin_worker, initargs=(os.getpid(),)) as pool:
        futures = [pool.submit(_render, entry, _video_path(root, entry)) for entry in order]
        try:
            for future in as_completed(futures):
                future.result()
                yield
        finally:
            for future in futures:
                future.cancel()


def _begin_worker(parent: int) -> None:
    """Ctrl-C is the parent's to handle; and a worker whose parent was killed must not wait for work for ever."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _render(entry: Entry, path: Path) -> None:
    write_video(entry.recording, path, entry.rate)


def _write_annotations(root: Path, entries: Sequence[Entry]) -> None:
    of = {source: [entry for entry in entries if entry.source is source] for source in KitchenSource}
    captaincook4d_layout.write_annotations(root / KitchenSource.CAPTAINCOOK4D, of[KitchenSource.CAPTAINCOOK4D], _write_text)
    goalstep_layout.write_annotations(root / KitchenSource.GOALSTEP, of[KitchenSource.GOALSTEP], _write_text)
    for part in ("train", "validation", "test"):
        found = [entry for entry in of[KitchenSource.QICD] if entry.part == part]
        _write_parquet(parquet_name(root / KitchenSource.QICD, "main", part), table(found))
    for part, config in (("test", "main"), ("unseen", "unseen")):
        found = [entry for entry in of[KitchenSource.EGO_MC_BENCH] if entry.part == part]
        _write_parquet(parquet_name(root / KitchenSource.EGO_MC_BENCH, config, "test"), table(found))
    for source in KitchenSource:
        _write_text(root / source / "LICENSE", LICENCE_TEXT)


def _write_benchmarks(root: Path, entries: Sequence[Entry]) -> None:
    """GuideMe and Cook-MRE over videos that are there for other layouts: dialogues over corrected mistakes, deviations over clean steps."""
    corrected = [entry for entry in entries if entry.source is KitchenSource.EGO_MC_BENCH and entry.part == "test"]
    guideme_layout.write_guideme(root / guideme_layout.FOLDER, corrected, _write_text)
    clean = [e for e in entries if e.source is KitchenSource.CAPTAINCOOK4D and e.split is KitchenSplit.EVALUATION]
    cook_mre_layout.write_cook_mre(root / cook_mre_layout.FOLDER, clean, _write_text)
    for folder, _ in BENCHMARK_FILES:
        _write_text(root / folder / "LICENSE", LICENCE_TEXT)


def _listed(entry: Entry) -> ManifestRecording:
    return ManifestRecording(
        str(entry.source),
        entry.native_id,
        entry.part,
        str(entry.split),
        str(entry.behaviour),
        f"{entry.source}/{entry.video}",
        entry.recording.duration_s,
    )


def _write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)


def _write_parquet(path: Path, frame: pl.DataFrame) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    frame.write_parquet(partial)
    os.replace(partial, path)
