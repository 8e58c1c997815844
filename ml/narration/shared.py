"""Narrations of one source for the same videos in another: Ego4D ships its narrations apart from the Goal-Step annotations."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import polars as pl

from ml.tables.declarations.sources import IMPORTED_NARRATIONS


def video_uids(native_id: str, members: Sequence[Mapping[str, Any]]) -> list[str]:
    """Uids of the videos that a recording is made of: its own, or those of a joined recording in order."""
    return [str(member["video_uid"]) for member in members] or [native_id]


def shared_narrations(recording: Mapping[str, Any], by_uid: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """``imported_narrations`` of a recording (a row of ``imported_recordings``) from those of its videos, on its own time line.

    A joined recording takes those of every member whose offset is known, up to the next member's start. Annotators stay apart.
    """
    members: Sequence[Mapping[str, Any]] = recording["members"] or [{"video_uid": recording["native_id"], "offset_s": 0.0}]
    ends = [after["offset_s"] for _, after in pairwise(members)] + [None]
    parts = []
    for member, end_s in zip(members, ends, strict=True):
        rows, offset_s = by_uid.get(str(member["video_uid"])), member["offset_s"]
        if rows is None or offset_s is None:
            continue
        part = rows.with_columns(pl.col("start_s", "end_s") + offset_s, recording_id=pl.lit(recording["recording_id"]))
        if end_s is not None:
            part = part.filter(pl.col("start_s") < end_s).with_columns(pl.col("end_s").clip(upper_bound=end_s))
        parts.append(part)
    if not parts:
        return IMPORTED_NARRATIONS.empty()
    joined = pl.concat(parts).sort("annotator", "start_s", maintain_order=True)
    index = pl.int_range(pl.len()).over("annotator").cast(pl.Int64)
    return IMPORTED_NARRATIONS.check(joined.with_columns(narration_index=index).select(IMPORTED_NARRATIONS.polars_schema.names()))
