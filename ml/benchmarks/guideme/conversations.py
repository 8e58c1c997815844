"""GuideMe's published annotation format, and merged prediction files, as items and videos. Scores nothing.

Format: a list of ``{videos, video_id, type, conversations: [{from, value, timestamp}], inferred_goal, inferred_knowledge}``,
timestamps in integer seconds. A turn may name its ``category`` (instruction, error, correction). System turns and ``<video>``
placeholders, which the released tools put between the turns, are passed over.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ml.benchmarks.guideme.options import SameSecond
from ml.benchmarks.guideme.scores import CATEGORIES, GuidanceVideo
from ml.benchmarks.guideme.timeline import Instant, is_silence, place_references
from ml.errors import InputError
from ml.sources.reading import LATEST_S, read_json_list

_CATEGORY_REMEDY = f"Allowed: {', '.join(CATEGORIES)}, or leave it out"


@dataclass(frozen=True)
class Turn:
    """One turn of the dialogue; ``category`` (instruction, error, correction) where the file says it."""

    t_s: float
    speaker: str
    text: str
    category: str | None = None


@dataclass(frozen=True)
class GuideMeItem:
    """One video with its dialogue. ``duration_s`` is known where the video was probed."""

    video_id: str
    video_file: str | None
    goal: str
    knowledge: str
    turns: tuple[Turn, ...]
    duration_s: float | None = None

    @property
    def answers(self) -> tuple[Turn, ...]:
        return tuple(turn for turn in self.turns if turn.speaker == "assistant")

    @property
    def start_s(self) -> float:
        """First user turn; the first answer without one, 0 without either."""
        users = [turn.t_s for turn in self.turns if turn.speaker == "user"]
        return min(users or [turn.t_s for turn in self.turns], default=0.0)


def read_guideme(path: Path) -> list[GuideMeItem]:
    """Items of an annotation file. Raises ``InputError`` with file, record and field."""
    items: list[GuideMeItem] = []
    seen: set[str] = set()
    for number, raw in enumerate(read_json_list(path)):
        record = f"item {number}"
        if not isinstance(raw, dict) or not raw.get("video_id"):
            raise InputError("field is missing", file=path, record=record, field="video_id")
        video_id = str(raw["video_id"])
        if video_id in seen:
            raise InputError(f"video {video_id!r} comes twice", file=path, record=record, field="video_id")
        seen.add(video_id)
        if not isinstance(raw.get("conversations"), list):
            raise InputError("a list of turns is expected", file=path, record=video_id, field="conversations")
        turns = tuple(
            _turn(turn, path, f"{video_id} turn {index}")
            for index, turn in enumerate(raw["conversations"])
            if not (isinstance(turn, dict) and (turn.get("from") == "system" or turn.get("value") == "<video>"))
        )
        videos = raw.get("videos") or [None]
        if not isinstance(videos, list) or not isinstance(videos[0], str | None):
            raise InputError("a list with a file name is expected", file=path, record=video_id, field="videos")
        goal, knowledge = raw.get("inferred_goal") or "", raw.get("inferred_knowledge") or ""
        items.append(GuideMeItem(video_id, videos[0], str(goal), str(knowledge), tuple(sorted(turns, key=lambda t: t.t_s))))
    return items


def _turn(raw: Any, path: Path, record: str) -> Turn:
    if not isinstance(raw, dict):
        raise InputError("a turn is an object", file=path, record=record, field="conversations")
    if raw.get("from") not in ("user", "assistant"):
        raise InputError(f"{raw.get('from')!r} is neither user nor assistant", file=path, record=record, field="from")
    if not isinstance(raw.get("value"), str):
        raise InputError("text is missing", file=path, record=record, field="value")
    t_s = raw.get("timestamp")
    if isinstance(t_s, bool) or not isinstance(t_s, int | float) or not 0 <= t_s <= LATEST_S:
        raise InputError(f"{t_s!r} is no time in seconds", file=path, record=record, field="timestamp")
    category = raw.get("category")
    if category is not None and not isinstance(category, str):
        raise InputError(f"{category!r} is no category", file=path, record=record, field="category", remedy=_CATEGORY_REMEDY)
    if category is not None:
        category = category.strip().lower() or None
        if category is not None and category not in CATEGORIES:
            raise InputError(f"{category!r} is no category", file=path, record=record, field="category", remedy=_CATEGORY_REMEDY)
    return Turn(float(t_s), raw["from"], raw["value"], category)


def as_video(
    item: GuideMeItem,
    ticks_s: Sequence[float],
    said: Mapping[float, str | None],
    interval_s: float = 1.0,
    same_second: SameSecond = SameSecond.LAST,
) -> GuidanceVideo:
    """The video for scoring: ``said`` by tick, None or absent where inference failed."""
    references = [(turn.t_s, turn.text, turn.category) for turn in item.answers if ticks_s and turn.t_s >= ticks_s[0]]
    placed = place_references(references, ticks_s, interval_s, same_second)
    return GuidanceVideo(item.video_id, tuple(Instant(tick, said.get(tick), text, category) for tick, text, category in placed))


def read_merged_answers(path: Path) -> list[GuideMeItem]:
    """Items of a merged prediction file, from its own answers: ``{video_id, endpoint_timestamp, answer, category?}``, one per instant.

    ``answer`` is "Silent" or the reference. Ids are compared whole. The predictions of such a file are read in ``readers``.
    """
    turns: dict[str, list[Turn]] = {}
    for number, raw in enumerate(read_json_list(path)):
        record = f"item {number}"
        for field in ("video_id", "endpoint_timestamp", "answer"):
            if not isinstance(raw, dict) or raw.get(field) is None:
                raise InputError("field is missing", file=path, record=record, field=field)
        said = turns.setdefault(str(raw["video_id"]), [])
        turn = {"from": "assistant", "value": raw["answer"], "timestamp": raw["endpoint_timestamp"], "category": raw.get("category")}
        made = _turn(turn, path, record)
        if not is_silence(made.text):
            said.append(made)
    return [GuideMeItem(video_id, None, "", "", tuple(sorted(said, key=lambda t: t.t_s))) for video_id, said in turns.items()]
