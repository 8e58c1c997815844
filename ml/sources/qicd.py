"""QICD importer (Qualcomm Interactive Cooking Dataset): message timelines on the videos of CaptainCook4D. Its video ids are recording ids
there, so a videos folder in CaptainCook4D's layout serves both."""

from pathlib import Path

from ml.errors import InputError
from ml.sources.imported import ImportedSource
from ml.sources.message_timeline import TimelineColumns, read_timelines, timeline_files
from ml.sources.reading import stated_licence
from ml.sources.video_files import captaincook4d_videos, videos_by_stem

LICENCE = "Qualcomm data licence agreement, research only"
PLAN_SETS = ("main", "advanced_planning")


def read_qicd(
    annotations: Path, videos: Path | None, *, source: str, plan_set: str = "main", columns: TimelineColumns | None = None
) -> ImportedSource:
    """Timelines below ``annotations`` (``<plan set>/<split>-*.parquet``, or files without a folder per plan set).

    Raises ``InputError`` for an unknown plan set and for files without the columns.
    """
    if plan_set not in PLAN_SETS:
        raise InputError(f"{plan_set!r} is no plan set", field="plan_set", remedy=f"Allowed: {', '.join(PLAN_SETS)}")
    found = videos_by_stem(videos) | captaincook4d_videos(videos)
    others = [annotations / name for name in PLAN_SETS if name != plan_set]
    return read_timelines(
        annotations,
        timeline_files(annotations, plan_set),
        found,
        source=source,
        licence=stated_licence(annotations, {}, default=LICENCE),
        columns=columns or TimelineColumns(),
        compared=[path for folder in others if folder.is_dir() for path in timeline_files(folder)],
    )
