"""People's answers summed up: shares of valid pairs, agreement between people and with the check, errors of the timestamps.

Only complete answers to what the sample shows now count.
"""

import math
import operator
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any, Final

import polars as pl

from ml.benchmarks.plots import timestamp_error_shares
from ml.tables.declarations.pairs import VALIDITY_REVIEW
from ml.validity.questions import QUESTIONS, VALID

Row = dict[str, Any]
ALL: Final = "all"
Z95: Final = 1.959964


def counted_answers(sample: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    """Complete answers joined to their pair of the sample, with ``valid`` and ``error_s`` (inferred minus the person's time)."""
    shown = sample.select("pair_id", "shown_sha256", "source", "mistake_type", "direction", "t_s", "weight")
    complete = answers.filter("is_complete").join(shown, on=["pair_id", "shown_sha256"], how="inner")
    valid = pl.all_horizontal(*QUESTIONS)
    return complete.with_columns(valid.alias(VALID), pl.when(valid).then(pl.col("t_s") - pl.col("apparent_s")).alias("error_s")).sort(
        "reviewer", "pair_id"
    )


def people_refuse(answers: pl.DataFrame, shown: pl.DataFrame) -> list[str]:
    """Pairs that most of their reviewers called invalid; a tie refuses nothing. ``shown``: pair_id, shown_sha256 of the sample."""
    complete = answers.filter("is_complete").join(shown.select("pair_id", "shown_sha256"), on=["pair_id", "shown_sha256"], how="semi")
    votes = complete.group_by("pair_id").agg(pl.all_horizontal(*QUESTIONS).mean().alias("valid"))
    return votes.filter(pl.col("valid") < 0.5)["pair_id"].sort().to_list()


def sum_up(sample: pl.DataFrame, answers: pl.DataFrame, checks: pl.DataFrame) -> pl.DataFrame:
    """``validity_review``. A pair's verdict is its reviewers' mean; shares weigh pairs by what they stand for in their stratum."""
    counted = counted_answers(sample, answers)
    rows = [
        *_shares(counted, ALL),
        *(row for name in ("source", "mistake_type") for key, part in _parts(counted, name) for row in _shares(part, key)),
        *_between_people(counted),
        *_with_check(counted, checks),
        *_errors(counted, ALL),
        *(row for key, part in _parts(counted, "mistake_type") for row in _errors(part, key)),
    ]
    return VALIDITY_REVIEW.rows(rows)


def _parts(frame: pl.DataFrame, name: str) -> list[tuple[str, pl.DataFrame]]:
    return [(str(key[0]), part) for key, part in sorted(frame.group_by(name), key=lambda item: str(item[0]))]


def _row(measure: str, question: str, group: str, value: float | None, n: int, interval: tuple[float, float] | None = None) -> Row:
    low, high = interval or (None, None)
    return {"measure": measure, "question": question, "group": group, "value": value, "n": n, "low": low, "high": high}


def _shares(counted: pl.DataFrame, group: str) -> list[Row]:
    """Of pairs: the mean over reviewers first, so that a pair with many reviewers counts once."""
    pairs = counted.group_by("pair_id").agg(
        pl.col("weight").first(), *(pl.col(name).cast(pl.Float64).mean() for name in (VALID, *QUESTIONS))
    )
    weights = pairs["weight"].to_list()
    rows = []
    for name in (VALID, *QUESTIONS):
        value = math.fsum(map(operator.mul, pairs[name].to_list(), weights)) / math.fsum(weights) if weights else None
        interval = None if value is None else wilson(value, _effective(weights))
        rows.append(_row("valid_share", name, group, value, pairs.height, interval))
    return rows


def _effective(weights: Sequence[float]) -> float:
    """Kish's effective number of equally weighted pairs."""
    return sum(weights) ** 2 / sum(weight**2 for weight in weights)


def wilson(share: float, n: float) -> tuple[float, float]:
    """95 % Wilson score interval of a share among ``n``."""
    centre = (share + Z95**2 / (2 * n)) / (1 + Z95**2 / n)
    half = Z95 / (1 + Z95**2 / n) * math.sqrt(share * (1 - share) / n + Z95**2 / (4 * n**2))
    return max(0.0, centre - half), min(1.0, centre + half)


def _between_people(counted: pl.DataFrame) -> list[Row]:
    """Each two reviewers over the pairs that both answered, and all of these together."""
    by_person = dict(_parts(counted, "reviewer"))
    rows: list[Row] = []
    for name in (VALID, *QUESTIONS):
        together: list[tuple[bool, bool]] = []
        for one, other in combinations(by_person, 2):
            both = by_person[one].join(by_person[other], on="pair_id", how="inner", suffix="_other").sort("pair_id")
            if not both.height:
                continue
            pairs = list(zip(both[name].to_list(), both[f"{name}_other"].to_list(), strict=True))
            together += pairs
            rows += _agreement_rows(("agreement", "kappa"), name, f"{one} & {other}", pairs)
        if together:
            rows.append(_row("agreement", name, ALL, agreement(together), len(together), wilson(agreement(together), len(together))))
            rows.append(_row("kappa", name, ALL, _fleiss(counted, name), len(together)))
    return rows


def _with_check(counted: pl.DataFrame, checks: pl.DataFrame) -> list[Row]:
    """Each answer beside the check's, per question; ``valid`` where the check answered all three or said no to one."""
    told = checks.filter(pl.col("status") == "ok").select("pair_id", *(pl.col(name).alias(f"{name}_check") for name in QUESTIONS))
    both = counted.join(told, on="pair_id", how="inner").with_columns(
        pl.all_horizontal(*(f"{name}_check" for name in QUESTIONS)).alias(f"{VALID}_check")
    )
    rows: list[Row] = []
    for name in (VALID, *QUESTIONS):
        known = both.filter(pl.col(f"{name}_check").is_not_null())
        pairs = list(zip(known[name].to_list(), known[f"{name}_check"].to_list(), strict=True))
        rows += _agreement_rows(("check_agreement", "check_kappa"), name, ALL, pairs)
    return rows


def _agreement_rows(measures: tuple[str, str], question: str, group: str, pairs: list[tuple[bool, bool]]) -> list[Row]:
    if not pairs:
        return [_row(measure, question, group, None, 0) for measure in measures]
    plain = agreement(pairs)
    return [
        _row(measures[0], question, group, plain, len(pairs), wilson(plain, len(pairs))),
        _row(measures[1], question, group, cohen_kappa(pairs), len(pairs)),
    ]


def agreement(pairs: Sequence[tuple[bool, bool]]) -> float:
    """Share of equal verdicts."""
    return sum(one == other for one, other in pairs) / len(pairs)


def cohen_kappa(pairs: Sequence[tuple[bool, bool]]) -> float | None:
    """Cohen's kappa of two raters; None where chance alone would make them agree, since both always say the same."""
    n = len(pairs)
    yes = (sum(one for one, _ in pairs) / n, sum(other for _, other in pairs) / n)
    chance = yes[0] * yes[1] + (1 - yes[0]) * (1 - yes[1])
    return None if chance >= 1.0 else (agreement(pairs) - chance) / (1 - chance)


def _fleiss(counted: pl.DataFrame, name: str) -> float | None:
    votes = counted.group_by("pair_id").agg(pl.col(name).cast(pl.Int64).sum().alias("yes"), pl.len().alias("n")).filter(pl.col("n") > 1)
    return fleiss_kappa(votes.select("yes", "n").rows())


def fleiss_kappa(votes: Iterable[tuple[int, int]]) -> float | None:
    """Fleiss' kappa of (yes votes, votes) per item with at least two votes; numbers of votes may differ between items.

    None where all votes are the same.
    """
    items = list(votes)
    if not items:
        return None
    observed = sum((yes * (yes - 1) + (n - yes) * (n - yes - 1)) / (n * (n - 1)) for yes, n in items) / len(items)
    share = sum(yes for yes, _ in items) / sum(n for _, n in items)
    chance = share**2 + (1 - share) ** 2
    return None if chance >= 1.0 else (observed - chance) / (1 - chance)


def _errors(counted: pl.DataFrame, group: str) -> list[Row]:
    errors = counted["error_s"].drop_nulls().to_list()
    if not errors:
        return []
    return [_row("timestamp_error_share", label, group, share, len(errors)) for label, share in timestamp_error_shares(errors).items()]
