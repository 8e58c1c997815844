"""Notices videos that arrive in the raw video folder and requests one run per file version. Looks at sizes and times only."""

from pathlib import Path

import dagster as dg

from ml.setting_sections.sources import RAW_VIDEOS
from ml.settings import Settings
from ml.sources.raw_videos import Cursor, scan_folder
from resources.partitions import RECORDINGS, recording_key

INTERVAL_S = 30
CHUNK = 100  # run requests of one tick; the rest come with the next


def raw_videos_sensor(settings: Settings, job_name: str) -> dg.SensorDefinition:
    """The sensor over ``data/raw_videos`` (or the folder of the settings), off until it is switched on in the UI."""
    folder = settings.path(settings.raw_videos.folder)
    ledger = settings.path(Path("sensors") / "raw_videos.sqlite")

    @dg.sensor(
        name="raw_videos_arrived",
        job_name=job_name,
        minimum_interval_seconds=INTERVAL_S,
        description=f"Takes in videos that arrive in {settings.raw_videos.folder}: adds a recording partition and requests a run.",
    )
    def raw_videos_arrived(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        folder.mkdir(parents=True, exist_ok=True)
        found = scan_folder(
            folder,
            Cursor.from_text(context.cursor),
            ledger,
            budget_s=settings.raw_videos.tick_seconds,
            stable_ticks=settings.raw_videos.stable_ticks,
            chunk=CHUNK,
        )
        for name, reason in found.refused:
            context.log.warning(f"{name}: {reason}")
        cursor = found.cursor.to_text()
        if not found.ready:
            context.update_cursor(cursor)
            return dg.SkipReason(f"{found.recordings} videos in the folder, {found.waiting} still being written, none new")
        keys = {arrival: recording_key(f"{RAW_VIDEOS}/{arrival.video.native_id}") for arrival in found.ready}
        return dg.SensorResult(
            run_requests=[
                dg.RunRequest(run_key=f"{key}@{arrival.version}", partition_key=key, tags={"interject/video": arrival.video.native_id})
                for arrival, key in keys.items()
            ],
            dynamic_partitions_requests=[RECORDINGS.build_add_request(list(keys.values()))],
            cursor=cursor,
        )

    return raw_videos_arrived
