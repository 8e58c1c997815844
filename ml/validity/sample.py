"""Which pairs people are asked about: a stratified, seeded draw. What they answer is in ``answers``."""

import hashlib
from typing import Final

import polars as pl

from ml.comist.splits import unit_interval
from ml.errors import InputError
from ml.tables.declarations.pairs import VALIDITY_SAMPLE
from ml.vocabulary import Status

STRATA: Final = ("source", "mistake_type", "direction")
# The inferred time is not among them: people mark theirs before they see it, so a new inference leaves their answers standing.
SHOWN: Final = ("recording_id", "mistake_type", "instruction", "counterfactual_instruction", "feedback", "clip_start_s", "clip_end_s")


def draw_sample(pairs: pl.DataFrame, recordings: pl.DataFrame, size: int = 500, seed: int = 0) -> pl.DataFrame:
    """``validity_sample``: ``size`` of ``pairs`` (rows with the columns of ``ego_comist``), all where there are fewer.

    Only pairs whose video can be shown are drawn. Each stratum (source, mistake type, direction) gets its share, and at least one where
    ``size`` allows it. Within a stratum pairs are taken in the order of a hash of seed and pair id, so that further pairs move few others.
    The order of showing is drawn the same way, over all strata. Raises ``InputError`` for a size below 1.
    """
    if size < 1:
        raise InputError(f"a sample of {size} pairs is none", field="size", remedy="Ask for at least 1")
    videos = recordings.filter(pl.col("video_status") == Status.OK).select("recording_id", "video_path").drop_nulls()
    open_pairs = pairs.join(videos, on="recording_id", how="inner").sort("pair_id")
    if not open_pairs.height:
        return VALIDITY_SAMPLE.empty()
    strata = dict(sorted(open_pairs.group_by(*STRATA), key=lambda item: item[0]))
    wanted = allot([group.height for group in strata.values()], size)
    parts = [
        _first(group, seed, count).with_columns((pl.lit(group.height) / pl.lit(max(count, 1))).alias("weight"))
        for group, count in zip(strata.values(), wanted, strict=True)
        if count
    ]
    drawn = pl.concat(parts)
    order = sorted(range(drawn.height), key=lambda row: unit_interval("review order", seed, drawn["pair_id"][row]))
    shown = drawn[order].with_columns(pl.Series("position", range(drawn.height), dtype=pl.Int64), shown_hash(drawn[order]))
    return VALIDITY_SAMPLE.check(shown.select(VALIDITY_SAMPLE.polars_schema.names()))


def allot(sizes: list[int], total: int) -> list[int]:
    """Places by stratum: in proportion by largest remainder, none above its size, one at least where ``total`` has a place for each."""
    total = min(total, sum(sizes))
    least = 1 if total >= len(sizes) else 0
    quotas = [size * total / sum(sizes) for size in sizes]
    places = [min(size, max(least, int(quota))) for size, quota in zip(sizes, quotas, strict=True)]
    by_remainder = sorted(range(len(sizes)), key=lambda i: (places[i] - quotas[i], i))
    while sum(places) < total:
        places[next(i for i in by_remainder if places[i] < sizes[i])] += 1
        by_remainder.sort(key=lambda i: (places[i] - quotas[i], i))
    while sum(places) > total:  # the least of one took more than the shares leave
        places[max((i for i in range(len(sizes)) if places[i] > least), key=lambda i: places[i] - quotas[i])] -= 1
    return places


def _first(group: pl.DataFrame, seed: int, count: int) -> pl.DataFrame:
    order = sorted(range(group.height), key=lambda row: unit_interval("review", seed, group["pair_id"][row]))
    return group[order[:count]]


def shown_hash(frame: pl.DataFrame) -> pl.Series:
    """Hash of what a reviewer is shown of each pair, as the series ``shown_sha256``."""
    texts = ["\x1f".join(str(value) for value in row) for row in frame.select(SHOWN).iter_rows()]
    return pl.Series("shown_sha256", [hashlib.sha256(text.encode()).hexdigest()[:24] for text in texts], dtype=pl.String)
