"""Scores side by side, with the rows that papers published beside those run here. Computes no score; published rows are data files.

Long form for all families: one row per run, group and metric. ``wide`` lays one protocol out as papers print it.
"""

from collections.abc import Sequence
from importlib.resources import files

import polars as pl

from ml.benchmarks.families import Family, parse_protocol
from ml.benchmarks.tally import ALL
from ml.tables.declarations.results import LEADERBOARD

HERE, PUBLISHED = "here", "published"
RUN_HERE = "run here"
METRICS: dict[Family, tuple[str, ...]] = {
    Family.EGO: (
        "ic_acc",
        "mistake_precision",
        "mistake_recall",
        "mistake_f1",
        "bertscore",
        "rouge_l",
        "false_success",
        "ic_acc_3s",
        "mistake_f1_3s",
    ),
    Family.GUIDEME: ("soft_precision", "soft_recall", "soft_f1", "score_m", "cs", "nr", "fa", "pc", "score"),
    Family.COOK_MRE: ("mpc_f1", "macro_f1", "type_acc", "corr_acc", "full_pass"),
}
RANKED_BY = {Family.EGO: "mistake_f1", Family.GUIDEME: "soft_f1", Family.COOK_MRE: "full_pass"}
GROUPS = {Family.EGO: (ALL,), Family.GUIDEME: (ALL, "instruction", "error", "correction"), Family.COOK_MRE: (ALL,)}
TITLES = {
    "ic_acc": "IC-Acc",
    "mistake_precision": "precision",
    "mistake_recall": "recall",
    "mistake_f1": "F1",
    "bertscore": "BERTScore",
    "rouge_l": "ROUGE-L",
    "false_success": "false success",
    "ic_acc_3s": "IC-Acc@3s",
    "mistake_f1_3s": "F1@3s",
    "soft_precision": "sPrecision",
    "soft_recall": "sRecall",
    "soft_f1": "sF1",
    "score_m": "Score_m",
    "cs": "CS",
    "nr": "NR",
    "fa": "FA",
    "pc": "PC",
    "score": "Score",
    "mpc_f1": "MPC F1",
    "macro_f1": "Macro F1",
    "type_acc": "TypeAcc",
    "corr_acc": "CorrAcc",
    "full_pass": "FullPass",
}
_PRINTED_PERCENT = ("soft_precision", "soft_recall", "soft_f1", *METRICS[Family.COOK_MRE])  # 0..1 here, percent in the papers' tables
_FILES = {Family.EGO: "ego_mc_bench.csv", Family.GUIDEME: "guideme.csv", Family.COOK_MRE: "cook_mre.csv"}
_RUN = ("protocol", "origin", "source", "experiment")


def published(family: Family) -> pl.DataFrame:
    """Rows of a paper's tables as printed: protocol, group, model, metrics, source.

    EGO-MC-Bench tables 2 and 3, in which one F1 is a slip (0.11/0.34 gives 0.17); GuideMe tables 2 to 5, in which the behaviour of
    Doubao-Seed-1.8 in table 2 sums to 93.9; Cook-MRE table 2, with hint only as far as a note on the paper gives it.
    """
    with files("ml.benchmarks.published").joinpath(_FILES[family]).open("rb") as file:
        return pl.read_csv(file.read())


def leaderboard(scores: pl.DataFrame, *, with_published: bool = True) -> pl.DataFrame:
    """``leaderboard`` from ``scores``: runs of this data folder by protocol and place, then the published rows, marked as such.

    A published row was measured on its own benchmark's videos and keeps that benchmark's protocol and its source: it is no rank among
    runs on another one.
    """
    parts = [_rows_here(scores)]
    if with_published:
        parts += [_published_rows(family) for family in Family]
    return LEADERBOARD.check(_placed(pl.concat(parts)))


def wide(board: pl.DataFrame, protocol: str, *, group: str = ALL, origin: str | None = None) -> pl.DataFrame:
    """One protocol as a table: runs by place in rows, metrics in columns, and ``n`` behind the metric that ranks."""
    family = parse_protocol(protocol).family
    chosen = board.filter((pl.col("protocol") == protocol) & (pl.col("group") == group))
    if origin is not None:
        chosen = chosen.filter(pl.col("origin") == origin)
    present = set(chosen["metric"])
    frame = chosen.select("origin", "place", "experiment", "source").unique(maintain_order=True)
    for metric in METRICS[family]:
        if metric in present:
            column = chosen.filter(pl.col("metric") == metric).select("experiment", "source", pl.col("value").alias(metric))
            frame = frame.join(column, on=["experiment", "source"], how="left", validate="1:1")
    ranked = chosen.filter(pl.col("metric") == RANKED_BY[family]).select("experiment", "source", "n", "n_missing")
    return frame.join(ranked, on=["experiment", "source"], how="left").sort("origin", "place", "experiment")


def families_of(board: pl.DataFrame) -> Sequence[str]:
    """Protocols of a leaderboard in the order of families, then by name."""
    order = {family.value: place for place, family in enumerate(Family)}
    pairs = board.select("family", "protocol").unique().rows()
    return [protocol for _, protocol in sorted(pairs, key=lambda pair: (order[pair[0]], pair[1]))]


def _rows_here(scores: pl.DataFrame) -> pl.DataFrame:
    kept = []
    for (protocol,), part in scores.partition_by("protocol", as_dict=True, maintain_order=True).items():
        parsed = parse_protocol(str(protocol))
        shown = part.filter(pl.col("metric").is_in(METRICS[parsed.family]) & pl.col("group").is_in(GROUPS[parsed.family]))
        kept.append(
            shown.with_columns(
                family=pl.lit(parsed.family.value), benchmark=pl.lit(parsed.benchmark), origin=pl.lit(HERE), source=pl.lit(RUN_HERE)
            )
        )
    if not kept:
        return LEADERBOARD.empty()
    return pl.concat(kept).with_columns(place=pl.lit(0, dtype=pl.Int64)).select(LEADERBOARD.polars_schema.names())


def _published_rows(family: Family) -> pl.DataFrame:
    printed = published(family)
    metrics = [name for name in METRICS[family] if name in printed.columns]
    scale = {name: 0.01 if name in _PRINTED_PERCENT else 1.0 for name in metrics}
    rows: list[dict[str, object]] = []
    for row in printed.iter_rows(named=True):
        common: dict[str, object] = {
            "family": family.value,
            "benchmark": parse_protocol(row["protocol"]).benchmark,
            "protocol": row["protocol"],
            "experiment": row["model"],
            "origin": PUBLISHED,
            "source": row["source"],
            "place": 0,
            "group": row["group"],
        }
        rows += [{**common, "metric": name, "value": round(row[name] * scale[name], 6)} for name in metrics if row[name] is not None]
    return LEADERBOARD.rows(rows)


def _placed(rows: pl.DataFrame) -> pl.DataFrame:
    """Place of each run among those of its protocol and origin, by the ranking metric over all; runs without it come last."""
    ranking = pl.DataFrame({"family": [f.value for f in Family], "ranking": [RANKED_BY[f] for f in Family]})
    best = (
        rows.join(ranking, on="family")
        .filter((pl.col("metric") == pl.col("ranking")) & (pl.col("group") == ALL))
        .select(*_RUN, pl.col("value").alias("ranked"))
    )
    runs = rows.select(*_RUN).unique().join(best, on=list(_RUN), how="left")
    places = runs.sort("ranked", "experiment", "source", descending=[True, False, False], nulls_last=True).with_columns(
        pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("protocol", "origin").alias("place")
    )
    family_order = {family.value: place for place, family in enumerate(Family)}
    ordered = rows.drop("place").join(places.select(*_RUN, "place"), on=list(_RUN), how="left", maintain_order="left")
    return ordered.sort(pl.col("family").replace_strict(family_order), "origin", "protocol", "place", maintain_order=True).select(
        LEADERBOARD.polars_schema.names()
    )
