"""Which benchmark steps lie on videos that training pairs come from. What is done about it is the matter of ``selection``."""

from collections.abc import Iterable, Mapping

import polars as pl

# QICD annotates CaptainCook4D's videos under their own recording ids (dataset card of QICD).
SHARED_VIDEOS: Mapping[str, str] = {"qicd": "captaincook4d"}


def sources_that_share(kinds: Mapping[str, str]) -> list[tuple[str, str]]:
    """(guest, home) of sources by name, of which the guest's kind annotates the videos of the home's."""
    return [(guest, home) for guest, of in kinds.items() for home, kind in kinds.items() if SHARED_VIDEOS.get(of) == kind]


def benchmark_leaks(benchmark_steps: pl.DataFrame, recordings: pl.DataFrame, shared: Iterable[tuple[str, str]] = ()) -> pl.DataFrame:
    """Benchmark instructions by the training recording that shows the same video: columns recording_id, instruction.

    The same video means the same recording id, the same video file, or the same native id (the recording id after its first slash) in
    two sources (guest, home) of ``shared``.
    """
    steps = benchmark_steps.select("recording_id", "video_path", "instruction").unique()
    aliases = pl.concat(
        [
            recordings.select(pl.col("recording_id").alias("seen_as"), "recording_id"),
            *(
                recordings.filter(pl.col("source") == home).select(
                    (pl.lit(f"{guest}/") + pl.col("native_id")).alias("seen_as"), "recording_id"
                )
                for guest, home in shared
            ),
        ]
    ).unique()
    by_id = steps.join(aliases, left_on="recording_id", right_on="seen_as", how="inner", suffix="_home").select(
        pl.col("recording_id_home").alias("recording_id"), "instruction"
    )
    files = recordings.filter(pl.col("video_path").is_not_null()).select("video_path", pl.col("recording_id").alias("recording_id_home"))
    by_file = steps.join(files, on="video_path", how="inner").select(pl.col("recording_id_home").alias("recording_id"), "instruction")
    return pl.concat([by_id, by_file]).unique().sort("recording_id", "instruction")
