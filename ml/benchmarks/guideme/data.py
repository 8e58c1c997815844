"""GuideMe's canonical tables: dialogues and turns from annotation files, items from the tables, predictions as videos to score."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import polars as pl

from ml.benchmarks.families import History, parse_protocol
from ml.benchmarks.guideme.conversations import GuideMeItem, Turn, as_video, read_guideme
from ml.benchmarks.guideme.grids import grid_of
from ml.benchmarks.guideme.options import SameSecond
from ml.benchmarks.guideme.scores import GuidanceVideo
from ml.errors import InputError
from ml.tables.declarations.benchmarks import BENCHMARK_DIALOGUES, BENCHMARK_TURNS
from ml.vocabulary import Status


def annotation_files(folder: Path) -> list[Path]:
    """Annotation files of the published layout: ``annotation*.json`` in the folder, else every ``.json`` there."""
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        raise InputError("there is no such folder", file=folder, remedy="Mend `annotations` in the settings")
    every = sorted(folder.glob("*.json"))
    files = [path for path in every if path.name.startswith("annotation")] or every
    if not files:
        raise InputError("there is no annotation file", file=folder, remedy="Put annotation_test_subset50.json there")
    return files


def read_items(folder: Path) -> list[tuple[Path, GuideMeItem]]:
    """Items of all annotation files with the file of each. Raises ``InputError`` for a video that stands in two files."""
    seen: dict[str, Path] = {}
    found = []
    for path in annotation_files(folder):
        for item in read_guideme(path):
            if item.video_id in seen:
                raise InputError(f"the video stands in {seen[item.video_id].name} too", file=path, record=item.video_id, field="video_id")
            seen[item.video_id] = path
            found.append((path, item))
    return found


def dialogue_tables(items: Sequence[GuideMeItem], recordings: pl.DataFrame, benchmark: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """``(benchmark_dialogues, benchmark_turns)`` of the items whose recordings are given (``recordings`` rows of the source)."""
    known = {row["native_id"]: row for row in recordings.iter_rows(named=True)}
    dialogues: list[dict[str, object]] = []
    turns: list[dict[str, object]] = []
    for item in items:
        recording = known.get(item.video_id)
        if recording is None:
            continue
        recording_id = recording["recording_id"]
        dialogues.append(
            {
                "benchmark": benchmark,
                "recording_id": recording_id,
                "goal": item.goal or None,
                "knowledge": item.knowledge or None,
                "start_s": item.start_s,
                "duration_s": recording["duration_s"],
                "video_path": recording["video_path"],
            }
        )
        turns += [
            {
                "benchmark": benchmark,
                "recording_id": recording_id,
                "turn_index": index,
                "t_s": turn.t_s,
                "speaker": turn.speaker,
                "text": turn.text,
                "category": turn.category,
            }
            for index, turn in enumerate(item.turns)
        ]
    return BENCHMARK_DIALOGUES.rows(dialogues), BENCHMARK_TURNS.rows(turns)


def items_from_tables(dialogues: pl.DataFrame, turns: pl.DataFrame) -> list[GuideMeItem]:
    """Items of one benchmark, by recording id; ``video_id`` of an item is its recording id."""
    said = {key[0]: part for key, part in turns.sort("recording_id", "turn_index").partition_by("recording_id", as_dict=True).items()}
    items = []
    for row in dialogues.sort("recording_id").iter_rows(named=True):
        own = said[row["recording_id"]].iter_rows(named=True) if row["recording_id"] in said else ()
        items.append(
            GuideMeItem(
                row["recording_id"],
                row["video_path"],
                row["goal"] or "",
                row["knowledge"] or "",
                tuple(Turn(turn["t_s"], turn["speaker"], turn["text"], turn["category"]) for turn in own),
                row["duration_s"],
            )
        )
    return items


def guidance_videos(
    items: Iterable[GuideMeItem], predictions: pl.DataFrame, protocol: str, same_second: SameSecond | None = None, *, of_rows: bool = False
) -> list[GuidanceVideo]:
    """``guidance_predictions`` of one run as videos to score: every instant of the protocol's grid, those without an answer missing.

    ``of_rows`` takes the instants of the rows instead, for runs made elsewhere. ``same_second`` None: by whose history it is.
    """
    variant = parse_protocol(protocol).guideme
    if variant is None:
        raise InputError("this is no GuideMe protocol", record=protocol, field="protocol")
    said: dict[str, dict[float, str | None]] = {}
    for row in predictions.iter_rows(named=True):
        said.setdefault(row["recording_id"], {})[round(row["t_s"], 3)] = row["said"] if row["status"] == Status.OK else None
    rule = same_second or (SameSecond.JOINED if variant.history is History.OWN else SameSecond.LAST)
    videos = []
    for item in items:
        own = said.get(item.video_id, {})
        ticks = tuple(sorted(own)) if of_rows else grid_of(item, variant)
        answers = _at(own, ticks)
        videos.append(as_video(item, ticks, answers, variant.interval_s, rule))
    return videos


def _at(said: Mapping[float, str | None], ticks: Sequence[float]) -> dict[float, str | None]:
    return {tick: said.get(round(tick, 3)) for tick in ticks}
