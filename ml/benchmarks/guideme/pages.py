"""What a report shows of a GuideMe run beside its figures: charts, timelines, matched answers to read."""

from collections.abc import Sequence

import polars as pl

from ml.benchmarks.guideme.embedding import BoundedCosines, Encode
from ml.benchmarks.guideme.options import GuideMeOptions
from ml.benchmarks.guideme.scores import CATEGORIES, GuidanceVideo
from ml.benchmarks.guideme.soft import lay_out, match_video
from ml.benchmarks.guideme.timeline import is_silence
from ml.benchmarks.plots import per_group_plot, timing_error_plot
from ml.benchmarks.report import Chart, SampleTable
from ml.benchmarks.tally import ALL
from ml.benchmarks.timelines import Lane, Point, Timeline, timeline_svg

SHOWN_PAIRS = 25
TIMED_VIDEOS = 200  # of which the timing chart is made; matching them again embeds their texts again
LONGEST_S = 30.0


def pages(
    videos: Sequence[GuidanceVideo], encode: Encode, scores: pl.DataFrame, options: GuideMeOptions, experiment: str, timelines: int
) -> tuple[list[Chart], list[Chart], list[SampleTable]]:
    """Charts, timelines of the first videos, matched answers side by side."""
    cosines = BoundedCosines(encode)
    errors: list[float] = []
    lines: list[Chart] = []
    rows: list[tuple[str, ...]] = []
    for place, video in enumerate(videos[:TIMED_VIDEOS]):
        laid = lay_out(video.instants, options.soft)
        cosines.prepare([*laid.said, *laid.references])
        links = []
        for match in match_video(laid, cosines, options.soft).matches:
            said, reference = laid.usable[match.said_at], laid.usable[match.reference_at]
            links.append((reference.t_s, said.t_s))
            off = said.t_s - reference.t_s
            errors.append(max(-LONGEST_S, min(LONGEST_S - 1e-6, off)))
            if len(rows) < SHOWN_PAIRS:
                where = f"{video.video_id} {reference.t_s:g}\u00a0s"
                rows.append((where, f"{off:+g} s", f"{match.similarity:.2f}", reference.reference, said.said or ""))
        if place < timelines:
            lines.append(Chart(video.video_id, svg=timeline_svg(_timeline(video, experiment, links, options))))
    charts = []
    if set(scores["group"]) & set(CATEGORIES):
        charts.append(Chart("Soft F1 per category", per_group_plot(scores, "soft_f1", CATEGORIES)))
        if "score" in set(scores["metric"]):
            charts.append(Chart("Score per category", per_group_plot(scores, "score", CATEGORIES, 100.0)))
    charts.append(Chart("Behaviour, percent of records", _behaviour(scores)))
    charts.append(Chart("Timing of matched answers, cut at 30 s", timing_error_plot(errors, LONGEST_S)))
    header = ("where", "off by", "cosine", "reference", "said")
    return charts, lines, [SampleTable(f"Matched answers, first {len(rows)}", header, tuple(rows))] if rows else []


def _behaviour(scores: pl.DataFrame) -> bytes:
    """CS, NR, FA and PC as groups of one chart."""
    names = ("cs", "nr", "fa", "pc")
    rows = scores.filter((pl.col("group") == ALL) & pl.col("metric").is_in(names))
    laid = rows.with_columns(group=pl.col("metric").str.to_uppercase(), metric=pl.lit("share (%)"))
    return per_group_plot(laid, "share (%)", [name.upper() for name in names], 100.0)


def _timeline(video: GuidanceVideo, experiment: str, links: Sequence[tuple[float, float]], options: GuideMeOptions) -> Timeline:
    rule = options.soft.silence
    references = [Point(x.t_s, x.category or "reference", x.reference) for x in video.instants if not is_silence(x.reference, rule)]
    said = [
        Point(x.t_s, "failed" if x.said is None else "said", x.said or "no answer came")
        for x in video.instants
        if x.said is None or not is_silence(x.said, rule)
    ]
    return Timeline(video.video_id, (Lane("reference", tuple(references)), Lane(experiment, tuple(said))), (), tuple(links))
