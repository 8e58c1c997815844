"""What Ego4D's own catalogue ``ego4d.json`` says of its videos. The annotation files have importers of their own."""

from pathlib import Path

from ml.sources.reading import Record, TimeUnit, read_json

CATALOGUE = "ego4d.json"


def read_durations(annotations: Path) -> dict[str, float]:
    """Length of each video in seconds by uid; empty where the catalogue is absent."""
    path = annotations / CATALOGUE
    if not path.exists():
        return {}
    document = Record.of(read_json(path), path, "file")
    videos = (video for video in document.items("videos") if video.has("duration_sec"))
    return {video.text("video_uid"): video.time("duration_sec", TimeUnit.SECONDS) for video in videos}
