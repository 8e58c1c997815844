"""A mix: training samples of several datasets with weights, refusals counted. Drawing from it is the matter of ``sampler``."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from ml.comist.splits import SplitSettings, SplitUnit, assign_splits, require_no_overlap
from ml.errors import InputError
from ml.mixes.samples import SAMPLE_SCHEMA, Samples
from ml.tables.declarations.training import TRAINING_MIX
from ml.vocabulary import Split

# The composition of EGO-CoMist+ (appendix on fine-tuning of the EGO-MC-Bench paper).
COMIST_PLUS: Mapping[str, float] = {"ego_comist": 0.6, "qicd": 0.3, "ego4d_goalstep": 0.1}
TOLERANCE_S = 0.05  # rounding of catalogue durations and message times


@dataclass(frozen=True)
class MixSettings:
    """``weights``: share of draws by dataset, any positive numbers; normalised over the datasets that a split has samples of.

    ``step_s``: seconds per streamed step, for the speak share (a pair of frames at 2 frames per second is one step).
    ``allow_missing``: whether a weighted dataset without a training sample is left out (its share goes to the others) or is an error.
    """

    weights: Mapping[str, float] = field(default_factory=lambda: dict(COMIST_PLUS))
    split: SplitSettings = field(default_factory=SplitSettings)
    step_s: float = 1.0
    allow_missing: bool = False

    def __post_init__(self) -> None:
        if not self.weights or any(not (math.isfinite(w) and w > 0) for w in self.weights.values()):
            raise InputError("weights must be positive numbers, at least one", field="weights")
        if self.step_s <= 0:
            raise InputError(f"{self.step_s} is no duration", field="step_s")


@dataclass(frozen=True)
class Mix:
    """``frame``: ``training_mix``. ``refused``: count by dataset and reason. ``speak_share``: see ``speak_share``."""

    frame: pl.DataFrame
    refused: pl.DataFrame
    speak_share: pl.DataFrame


def build_mix(name: str, settings: MixSettings, samples: Sequence[Samples | pl.DataFrame]) -> Mix:
    """The mix ``name`` of all ``samples`` (frames of ``SAMPLE_SCHEMA``), sorted by sample id.

    A row is refused, with the first reason that applies: ``not_in_mix`` (no weight), ``no_video``, ``empty_clip`` (end not after start),
    ``no_message``, ``no_text``, ``message_outside`` (a time out of the clip by more than 0.05 s), ``test_split``.

    The unit of splitting is the video file, which is more than the recording: QICD and CaptainCook4D name the same videos differently.
    A split that the source gives stays, and what one dataset holds out is held out for all (test before validation before train); videos
    without any are drawn by hash. So twins and windows of one recording never part. Weights of one split sum to 1 and are equal within a
    dataset. Raises ``InputError`` for a sample id that comes twice and for a weighted dataset without training samples.
    """
    if settings.split.unit is not SplitUnit.RECORDING:
        raise InputError("a mix is split by recording", field="split.unit", remedy="Split by person where the pairs are selected; it stays")
    frames = [part.frame if isinstance(part, Samples) else part for part in samples]
    frame = pl.concat([part.select(SAMPLE_SCHEMA.names()) for part in frames]) if frames else pl.DataFrame(schema=SAMPLE_SCHEMA)
    doubled = frame.filter(pl.col("sample_id").is_duplicated())
    if doubled.height:
        raise InputError("the sample comes twice", file=f"mix {name}", record=doubled["sample_id"][0], remedy="Pass each dataset once")
    splits = _splits(frame, settings.split)
    is_given = (frame["split"] == splits).fill_null(False)
    files = [pl.when(is_given).then(name).alias(name) for name in ("split_file", "split_sha256")]
    frame = frame.with_columns(*files, splits, _refusal(settings.weights).alias("refusal"))
    held_out = pl.col("refusal").is_null() & (pl.col("split") == Split.TEST)
    frame = frame.with_columns(pl.when(held_out).then(pl.lit("test_split")).otherwise("refusal").alias("refusal"))
    refused = frame.filter(pl.col("refusal").is_not_null()).group_by("dataset", "refusal").len("count").sort("dataset", "refusal")
    kept = frame.filter(pl.col("refusal").is_null()).drop("refusal")
    _require_training_samples(name, kept, settings)
    kept = kept.with_columns(pl.lit(name).alias("mix"), _weights(kept, settings.weights).alias("weight")).sort("sample_id")
    out = TRAINING_MIX.check(kept.select(TRAINING_MIX.polars_schema.names()))
    require_no_overlap(out)
    require_no_overlap(out, "video_path")
    return Mix(out, refused, speak_share(out, settings.step_s))


def _refusal(weights: Mapping[str, float]) -> pl.Expr:
    message = pl.element()
    time_s, text = message.struct.field("t_s"), message.struct.field("text")
    earliest, latest = pl.col("messages").list.eval(time_s).list.min(), pl.col("messages").list.eval(time_s).list.max()
    untimed = pl.col("messages").list.eval(~time_s.is_finite().fill_null(False)).list.any()
    blank = pl.col("messages").list.eval(text.fill_null("").str.strip_chars().str.len_chars() == 0).list.any()
    rules: list[tuple[pl.Expr, str]] = [
        (~pl.col("dataset").is_in(list(weights)), "not_in_mix"),
        (pl.col("video_path").is_null() | (pl.col("video_path") == ""), "no_video"),
        (~(pl.col("end_s") > pl.col("start_s")).fill_null(False) | ~pl.col("end_s").is_finite(), "empty_clip"),
        (pl.col("messages").list.len().fill_null(0) == 0, "no_message"),
        (blank | (pl.col("instruction").fill_null("").str.strip_chars().str.len_chars() == 0), "no_text"),
        (untimed | (earliest < pl.col("start_s") - TOLERANCE_S) | (latest > pl.col("end_s") + TOLERANCE_S), "message_outside"),
    ]
    return pl.coalesce([pl.when(applies).then(pl.lit(reason)) for applies, reason in rules])


def _splits(frame: pl.DataFrame, settings: SplitSettings) -> pl.Series:
    """Split of each row by its video; by its recording where it has none."""
    units = frame.select(pl.coalesce("video_path", "recording_id").alias("recording_id"), "split")
    held_out = pl.Enum([split.value for split in (Split.TEST, Split.VALIDATION, Split.TRAIN)])
    strictest = units.group_by("recording_id").agg(pl.col("split").cast(held_out).min().cast(pl.String))
    return units["recording_id"].replace_strict(assign_splits(strictest, settings), return_dtype=pl.String).alias("split")


def _require_training_samples(name: str, frame: pl.DataFrame, settings: MixSettings) -> None:
    present = set(frame.filter(pl.col("split") == Split.TRAIN)["dataset"])
    absent = sorted(settings.weights.keys() - present)
    if absent and not (settings.allow_missing and present):
        raise InputError(
            f"no training sample is left of {', '.join(absent)}",
            file=f"mix {name}",
            field="weights",
            remedy="See the refusals of the mix; take the dataset out of the weights, or allow missing datasets",
        )


def _weights(frame: pl.DataFrame, weights: Mapping[str, float]) -> pl.Series:
    counts = frame.group_by("split", "dataset").len()
    share = {(split, dataset): weights[dataset] for split, dataset, _ in counts.iter_rows()}
    total = {split: math.fsum(w for (of, _), w in share.items() if of == split) for split in {split for split, _ in share}}
    each = {(split, dataset): share[split, dataset] / total[split] / n for split, dataset, n in counts.iter_rows()}
    return pl.Series([each[key] for key in frame.select("split", "dataset").iter_rows()], dtype=pl.Float64)


def speak_share(frame: pl.DataFrame, step_s: float = 1.0) -> pl.DataFrame:
    """How rarely the assistant speaks: columns split, dataset, samples, steps, messages, speak_share (messages per streamed step).

    The dataset ``all`` weighs each sample as it is drawn. An assistant that is always silent is right on 1 - speak_share of the steps.
    """
    if step_s <= 0:
        raise InputError(f"{step_s} is no duration", field="step_s")
    counted = frame.select(
        "split",
        "dataset",
        "weight",
        ((pl.col("end_s") - pl.col("start_s")) / step_s).ceil().alias("steps"),
        pl.col("messages").list.len().cast(pl.Float64).alias("said"),
    )
    sums = (pl.len().alias("samples"), pl.col("steps").sum().cast(pl.Int64), pl.col("said").sum().cast(pl.Int64).alias("messages"))
    each = counted.group_by("split", "dataset").agg(*sums, (pl.col("said").sum() / pl.col("steps").sum()).alias("speak_share"))
    drawn = (pl.col("said") * pl.col("weight")).sum() / (pl.col("steps") * pl.col("weight")).sum()
    everything = counted.group_by("split").agg(pl.lit("all").alias("dataset"), *sums, drawn.alias("speak_share"))
    return pl.concat([each, everything.select(each.columns)]).sort("split", "dataset")


def refusal_counts(mix: Mix) -> dict[str, int]:
    """Refused samples by reason over all datasets."""
    counts: Counter[str] = Counter()
    for _, reason, n in mix.refused.iter_rows():
        counts[reason] += n
    return dict(sorted(counts.items()))
