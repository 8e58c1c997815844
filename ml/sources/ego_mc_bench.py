"""EGO-MC-Bench importer: message timelines in which the person errs, is told, and corrects. Same columns as QICD, own videos.

The published column names were not checked against the data; ``columns`` reads a release that names them otherwise.
"""

from pathlib import Path

from ml.sources.imported import ImportedSource
from ml.sources.message_timeline import TimelineColumns, read_timelines, timeline_files
from ml.sources.reading import stated_licence
from ml.sources.video_files import captaincook4d_videos, videos_by_stem

LICENCE = "Qualcomm data licence agreement, research only"


def read_ego_mc_bench(annotations: Path, videos: Path | None, *, source: str, columns: TimelineColumns | None = None) -> ImportedSource:
    """Timelines of every Parquet file below ``annotations``; a video is found by its id as file name, anywhere below ``videos``.

    Clarifications and comments of the user stay messages of their kind. Raises ``InputError`` for files without the columns.
    """
    found = videos_by_stem(videos) | captaincook4d_videos(videos)
    return read_timelines(
        annotations,
        timeline_files(annotations),
        found,
        source=source,
        licence=stated_licence(annotations, {}, default=LICENCE),
        columns=columns or TimelineColumns(),
    )
