"""Every counterfactual with every score that a filter may use. Thresholds are the matter of ``selection``.

Near-duplicates. The published set keeps the same step text on many videos, so equal texts alone are no duplicate. Two things are
told apart:

* *same clip*: both pairs lie in one recording on the same step, or on clips that overlap by ``clip_overlap`` (intersection over union);
* *copy*: the same texts on another clip, which is wanted up to a number of copies per text.

In both cases the similarity of two pairs is the smaller one of cos(original, original) and cos(counterfactual, counterfactual), and
pairs are compared only when mistake type, direction and all amounts in both texts are equal: MiniLM cannot tell "2 scoops" from "3 scoops".
``duplicate_of`` points to the most similar earlier pair (earlier in the order of recording, step, pair id), a same-clip pair first when
its similarity is at least ``same_clip_floor``. The search runs over distinct text pairs, never over rows.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from ml.comist.difference import Signature, differs, signature
from ml.embeddings.neighbours import EXACT_ROWS, earlier_neighbours, nearest
from ml.embeddings.vectors import Matrix, TextVectors, distinct
from ml.errors import InputError
from ml.tables.declarations.pairs import COMIST_CANDIDATES, VALIDITY_CHECK
from ml.vocabulary import Status

NO_TIMESTAMP = "no feedback timestamp was inferred for this pair"


@dataclass(frozen=True)
class CandidateSettings:
    """What is measured. ``duplicate_floor``: similarity below which no neighbour is kept. All cosines lie in -1..1."""

    duplicate_floor: float = 0.90
    same_clip_floor: float = 0.97
    clip_overlap: float = 0.5
    neighbours: int = 8
    exact_rows: int = EXACT_ROWS


def candidate_texts(counterfactuals: pl.DataFrame, benchmark_texts: Iterable[str] = ()) -> list[str]:
    """Distinct texts whose vectors ``build_candidates`` needs."""
    changed = counterfactuals.filter(pl.col("counterfactual_instruction").is_not_null())
    return distinct([*changed["instruction"], *changed["counterfactual_instruction"], *benchmark_texts])


def build_candidates(
    counterfactuals: pl.DataFrame,
    feedback_timestamps: pl.DataFrame,
    recordings: pl.DataFrame,
    benchmark_texts: Iterable[str],
    vectors: TextVectors,
    settings: CandidateSettings | None = None,
    *,
    checks: pl.DataFrame | None = None,
    leaks: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """``comist_candidates``: one row per counterfactual row, whatever its status.

    Status and reason are the counterfactual's where it is not ok, else the timestamp's; a pair without a timestamp row is ``waiting``.
    Frames are of the declared tables; ``vectors`` holds ``candidate_texts``. ``checks``: rows of ``validity_check``. ``leaks``: columns
    recording_id, instruction, from ``ml.comist.leaks``. Raises ``InputError`` for a recording that is not in
    ``recordings``, for a pair id that comes twice, and for a text without a vector.
    """
    settings = settings or CandidateSettings()
    frame = _joined(counterfactuals, feedback_timestamps, recordings)
    scored = frame["counterfactual_instruction"].is_not_null().to_numpy()
    chosen = frame.filter(pl.Series(scored))
    originals, changed = chosen["instruction"].to_list(), chosen["counterfactual_instruction"].to_list()
    original_rows, changed_rows = vectors.rows(originals), vectors.rows(changed)
    matrix = vectors.matrix
    similarity = np.einsum("ij,ij->i", matrix[original_rows], matrix[changed_rows])
    duplicate_of, duplicate_similarity = _duplicates(chosen, original_rows, changed_rows, matrix, settings)
    step, step_similarity = _benchmark(original_rows, changed_rows, vectors, distinct(benchmark_texts))
    scores = chosen.select("pair_id").with_columns(
        pl.Series("original_similarity", _rounded(similarity), dtype=pl.Float64),
        pl.Series("differs", [differs(a, b) for a, b in zip(originals, changed, strict=True)], dtype=pl.Boolean),
        pl.Series("duplicate_of", duplicate_of, dtype=pl.String),
        pl.Series("duplicate_similarity", duplicate_similarity, dtype=pl.Float64),
        pl.Series("benchmark_step", step, dtype=pl.String),
        pl.Series("benchmark_similarity", step_similarity, dtype=pl.Float64),
    )
    out = frame.join(scores, on="pair_id", how="left", maintain_order="left").with_columns(_leaked(frame, leaks).alias("benchmark_leak"))
    out = out.join(_verdicts(checks), on="pair_id", how="left", maintain_order="left", validate="1:1")
    return COMIST_CANDIDATES.check(out.select(COMIST_CANDIDATES.polars_schema.names()))


def _verdicts(checks: pl.DataFrame | None) -> pl.DataFrame:
    rows = VALIDITY_CHECK.empty() if checks is None else checks
    return rows.select("pair_id", *(pl.col(name).alias(f"check_{name}") for name in ("different", "feasible", "of_type")))


def _leaked(frame: pl.DataFrame, leaks: pl.DataFrame | None) -> pl.Expr:
    if leaks is None:
        return pl.lit(False)
    texts = frame.unpivot(on=["instruction", "counterfactual_instruction"], index=["pair_id", "recording_id"], value_name="text")
    found = texts.join(leaks, left_on=["recording_id", "text"], right_on=["recording_id", "instruction"], how="semi")["pair_id"]
    return pl.col("pair_id").is_in(found.unique().to_list())


def _joined(counterfactuals: pl.DataFrame, timestamps: pl.DataFrame, recordings: pl.DataFrame) -> pl.DataFrame:
    doubled = counterfactuals.filter(pl.col("pair_id").is_duplicated())
    if doubled.height:
        raise InputError("the pair id comes twice", file="counterfactuals", record=doubled["pair_id"][0], field="pair_id")
    unknown = counterfactuals.join(recordings, on="recording_id", how="anti")
    if unknown.height:
        raise InputError(
            "no such recording", file="recordings", record=unknown["recording_id"][0], remedy="Materialize recordings before the candidates"
        )
    due = timestamps.select(
        "pair_id", "clip_start_s", "clip_end_s", "t_s", pl.col("status").alias("due_status"), pl.col("reason").alias("due_reason")
    )
    made = pl.col("status") == Status.OK
    return (
        counterfactuals.join(
            recordings.select("recording_id", "source", "licence", "split", "split_file", "split_sha256"), on="recording_id", how="left"
        )
        .join(due, on="pair_id", how="left", validate="1:1")
        .with_columns(
            pl.when(made).then(pl.coalesce("due_status", pl.lit(Status.WAITING.value))).otherwise("status").alias("status"),
            pl.when(~made)
            .then("reason")
            .when(pl.col("due_status").is_null())
            .then(pl.lit(NO_TIMESTAMP))
            .otherwise("due_reason")
            .alias("reason"),
        )
        .sort("recording_id", "step_uid", "mistake_type", "pair_id")
    )


def _rounded(values: Sequence[float] | NDArray[np.floating]) -> NDArray[np.float64]:
    """Six decimals: what float32 products agree on between machines."""
    rounded: NDArray[np.float64] = np.asarray(values, dtype=np.float64).round(6)
    return rounded


def _benchmark(
    originals: NDArray[np.int64], changed: NDArray[np.int64], vectors: TextVectors, texts: list[str]
) -> tuple[list[str | None], list[float | None]]:
    """Nearest benchmark instruction to either text of each pair: both become instructions of training samples."""
    if not texts or not len(originals):
        return [None] * len(originals), [None] * len(originals)
    used, place = np.unique(np.concatenate([originals, changed]), return_inverse=True)
    best, cosine = nearest(vectors.matrix[used], vectors.of_texts(texts))
    first, second = place[: len(originals)], place[len(originals) :]
    winner = np.where(cosine[second] >= cosine[first], second, first)
    return [texts[row] for row in best[winner]], _rounded(cosine[winner]).tolist()


def _duplicates(
    frame: pl.DataFrame, originals: NDArray[np.int64], changed: NDArray[np.int64], matrix: Matrix, settings: CandidateSettings
) -> tuple[list[str | None], list[float | None]]:
    groups = _comparable(frame)
    ids = frame["pair_id"].to_list()
    other, similarity = _copies(groups, originals, changed, matrix, settings)
    near, near_similarity = _same_clip(frame, groups, originals, changed, matrix, settings)
    use_near = (near_similarity >= settings.same_clip_floor) | ((near >= 0) & (near_similarity >= similarity))
    other, similarity = np.where(use_near, near, other), np.where(use_near, near_similarity, similarity)
    names = [ids[row] if row >= 0 else None for row in other]
    return names, [float(value) if row >= 0 else None for row, value in zip(other, _rounded(similarity), strict=True)]


def _comparable(frame: pl.DataFrame) -> NDArray[np.int64]:
    """Group number per row: rows of one group share mistake type, direction and the amounts of both texts in order."""
    numbers: dict[tuple[object, ...], int] = {}
    out = np.empty(frame.height, dtype=np.int64)
    columns = frame.select("mistake_type", "direction", "instruction", "counterfactual_instruction")
    for row, (kind, direction, original, changed) in enumerate(columns.iter_rows()):
        first: Signature = signature(original)
        second: Signature = signature(changed)
        out[row] = numbers.setdefault((kind, direction, first.amounts, second.amounts), len(numbers))
    return out


def _copies(
    groups: NDArray[np.int64], originals: NDArray[np.int64], changed: NDArray[np.int64], matrix: Matrix, settings: CandidateSettings
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Most similar earlier row with the same or near texts; -1 and -2.0 where there is none."""
    keys = np.stack([groups, originals, changed], axis=1)
    _, first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    place = place.reshape(-1)
    leader = first[place]  # the earliest row with these very texts
    rows = np.arange(len(groups))
    other = np.where(leader < rows, leader, -1)
    similarity = np.where(leader < rows, 1.0, -2.0)
    leaders = np.sort(first)
    by_group = leaders[np.argsort(groups[leaders], kind="stable")]
    for members in np.split(by_group, np.flatnonzero(np.diff(groups[by_group])) + 1):
        if len(members) > 1:
            joined = np.concatenate([matrix[originals[members]], matrix[changed[members]]], axis=1)
            joined = (joined / np.sqrt(2)).astype(np.float32)
            found = earlier_neighbours(joined, settings.duplicate_floor, settings.neighbours, exact_rows=settings.exact_rows)
            row, target = members[found.row], members[found.other]
            for i, j, value in zip(row, target, _pair_similarity(row, target, originals, changed, matrix), strict=True):
                if value >= settings.duplicate_floor and (value > similarity[i] or (value == similarity[i] and j < other[i])):
                    other[i], similarity[i] = j, value
    return other, similarity


def _pair_similarity(
    row: NDArray[np.int64], other: NDArray[np.int64], originals: NDArray[np.int64], changed: NDArray[np.int64], matrix: Matrix
) -> NDArray[np.float64]:
    first = np.einsum("ij,ij->i", matrix[originals[row]], matrix[originals[other]])
    second = np.einsum("ij,ij->i", matrix[changed[row]], matrix[changed[other]])
    return _rounded(np.minimum(first, second))


def _same_clip(
    frame: pl.DataFrame,
    groups: NDArray[np.int64],
    originals: NDArray[np.int64],
    changed: NDArray[np.int64],
    matrix: Matrix,
    settings: CandidateSettings,
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Most similar earlier row on the same clip; -1 and -2.0 where there is none. Work is bounded by the pairs of one recording."""
    other = np.full(frame.height, -1, dtype=np.int64)
    similarity = np.full(frame.height, -2.0)
    recordings = frame["recording_id"].rle_id().to_numpy()
    steps = frame["step_uid"].to_numpy()
    start = frame["clip_start_s"].fill_null(np.nan).to_numpy()
    end = frame["clip_end_s"].fill_null(np.nan).to_numpy()
    for members in np.split(np.arange(frame.height), np.flatnonzero(np.diff(recordings)) + 1):
        comparable = np.tril(groups[members][:, None] == groups[members][None, :], k=-1)
        if not comparable.any():
            continue
        shared = overlap(start[members], end[members]) >= settings.clip_overlap
        comparable &= shared | (steps[members][:, None] == steps[members][None, :])
        row, target = (members[index] for index in np.nonzero(comparable))
        for i, j, value in zip(row, target, _pair_similarity(row, target, originals, changed, matrix), strict=True):
            if value >= settings.duplicate_floor and value > similarity[i]:
                other[i], similarity[i] = j, value
    return other, similarity


def overlap(start_s: NDArray[np.float64], end_s: NDArray[np.float64]) -> NDArray[np.float64]:
    """Intersection over union of every two intervals, shape (n, n); 0 where an end is unknown or both are empty."""
    shared = np.minimum(end_s[:, None], end_s[None, :]) - np.maximum(start_s[:, None], start_s[None, :])
    union = np.maximum(end_s[:, None], end_s[None, :]) - np.minimum(start_s[:, None], start_s[None, :])
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = np.maximum(shared, 0.0) / union
    return np.where(np.isfinite(ratio), ratio, 0.0)
