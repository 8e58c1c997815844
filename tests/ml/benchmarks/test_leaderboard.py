"""The leaderboard in long form, and the published rows of three papers."""

import polars as pl
import pytest

from ml.benchmarks.cook_mre.metrics import implied_macro_f1
from ml.benchmarks.families import Family, parse_protocol
from ml.benchmarks.leaderboard import GROUPS, METRICS, RANKED_BY, families_of, leaderboard, published, wide
from ml.tables.declarations.results import SCORES


def row(experiment, protocol, metric, value, group="all"):
    counts = {"n": 3, "n_missing": 1, "n_unparsable": 0, "n_judge_failed": 0}
    common = {"experiment": experiment, "protocol": protocol, "options_hash": "0"}
    return {**common, "metric": metric, "group": group, "value": value, **counts, "low": None, "high": None}


@pytest.fixture
def board():
    rows = []
    for family, protocol in ((Family.EGO, "k.per_step"), (Family.GUIDEME, "k.anchor-own"), (Family.COOK_MRE, "k.hint")):
        for experiment, value in (("worse", 0.1), ("better", 0.3), ("void", None)):
            rows += [row(experiment, protocol, metric, value) for metric in METRICS[family]]
            rows += [row(experiment, protocol, RANKED_BY[family], value, group) for group in (*GROUPS[family][1:], "timing")]
            rows.append(row(experiment, protocol, "quiet_units", 7.0))
    return leaderboard(SCORES.rows(rows))


@pytest.mark.parametrize(("family", "count"), [(Family.EGO, 24), (Family.GUIDEME, 37), (Family.COOK_MRE, 19)])
def test_published_rows_are_marked_and_keep_their_source(board, family, count):
    printed = published(family)
    assert printed.height == count
    assert printed["source"].null_count() == 0
    own = board.filter((pl.col("family") == family.value) & (pl.col("origin") == "published"))
    assert own.select("protocol", "source", "experiment", "group").unique().height == count
    assert own.select("n", "n_missing", "options_hash", "low").null_count().row(0) == (own.height,) * 4
    assert {parse_protocol(protocol).family for protocol in own["protocol"].unique()} == {family}
    shares = own.filter(pl.col("metric").is_in(["soft_f1", "mpc_f1", "full_pass", "mistake_f1"]))
    assert shares["value"].is_between(0, 1).all()


@pytest.mark.parametrize("protocol", ["k.per_step", "k.anchor-own", "k.hint"])
def test_runs_are_placed_by_the_ranking_metric_and_laid_out_wide(board, protocol):
    family = parse_protocol(protocol).family
    table = wide(board, protocol)
    assert table["experiment"].to_list() == ["better", "worse", "void"]
    assert table["place"].to_list() == [1, 2, 3]
    assert set(METRICS[family]) < set(table.columns)
    assert table["n_missing"].to_list() == [1, 1, 1]
    assert "quiet_units" not in set(board["metric"])
    assert "timing" not in set(board["group"])


def test_protocols_come_by_family(board):
    assert [p for p in families_of(board) if p.startswith("k.")] == ["k.per_step", "k.anchor-own", "k.hint"]
    best = wide(board, "cook_mre.default", origin="published")
    assert best["experiment"][0] == "InternVL3-38B"  # by Full Pass, as the paper says
    assert best["full_pass"][0] == pytest.approx(0.57)


def test_printed_tables_agree_with_themselves():
    behaviour = published(Family.GUIDEME).filter(pl.col("cs").is_not_null())
    sums = behaviour.select("model", "source", pl.sum_horizontal("cs", "nr", "fa", "pc").alias("sum"))
    off = sums.filter((pl.col("sum") - 100).abs() > 0.25)["model"].to_list()
    assert off == ["Doubao-Seed-1.8"]  # the slip that the paper's table 2 holds
    for model in published(Family.COOK_MRE).filter(pl.col("macro_f1").is_not_null()).iter_rows(named=True):
        implied = implied_macro_f1(*(model[name] / 100 for name in ("mpc_f1", "corr_acc", "full_pass")))
        assert 100 * implied == pytest.approx(model["macro_f1"], abs=0.15)


def test_an_empty_data_folder_shows_the_published_rows_alone():
    board = leaderboard(SCORES.empty())
    assert set(board["origin"]) == {"published"}
    assert leaderboard(SCORES.empty(), with_published=False).is_empty()
