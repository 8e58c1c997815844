"""Candidates to training pairs: a cheap function of stored scores and settings. Nothing is measured here.

Filters in this order; the first that applies is the pair's rejection:

1. not_ok            the pair was not made, or no time was found
2. not_different     same amounts, levels and content words as the original, or the check says so: never a mistake
3. not_feasible      the check says that it cannot be followed with what is there
4. other_type        the check says that the difference is not of the pair's mistake type
5. too_close         direction alternative only: cosine to the original too high. Changed amounts and levels are judged by 2 alone
6. benchmark_leak    a benchmark asks for the same text on the same video
7. near_benchmark    either text is nearly a benchmark instruction
8. refused_by_people most reviewers called it invalid
9. near_duplicate    nearly repeats a kept pair on the same clip
10. too_many_copies  nearly the same texts on other clips and recordings, above the cap
11. unbalanced       the direction has more pairs than its opposite

A pair that is rejected never counts against another one: 9 to 11 look at what is left. The check is ``ml.validity``; a question that it
left open rejects nothing.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import polars as pl

from ml.comist.splits import SplitSettings, SplitUnit, assign_splits, require_no_overlap, unit_interval
from ml.counterfactuals.registry import DIRECTIONS
from ml.errors import InputError
from ml.tables.declarations.pairs import COMIST_REJECTIONS, EGO_COMIST
from ml.vocabulary import Direction, MistakeType, Status


class Rejection(StrEnum):
    NOT_OK = "not_ok"
    NOT_DIFFERENT = "not_different"
    NOT_FEASIBLE = "not_feasible"
    OTHER_TYPE = "other_type"
    TOO_CLOSE = "too_close"
    BENCHMARK_LEAK = "benchmark_leak"
    NEAR_BENCHMARK = "near_benchmark"
    REFUSED_BY_PEOPLE = "refused_by_people"
    NEAR_DUPLICATE = "near_duplicate"
    TOO_MANY_COPIES = "too_many_copies"
    UNBALANCED = "unbalanced"


@dataclass(frozen=True)
class SelectionSettings:
    """Thresholds are cosines of the stored scores; None switches a filter off.

    The defaults are for real recipes, where the embedded model gives .70 to .90 to a changed verb and above .98 to a changed comma.
    ``few_texts`` are sources with few sentences by nature (the sample kitchen), to which ``near_benchmark`` and ``copies_per_text`` do
    not apply. ``clip_overlap`` must be that of the candidates. ``balance_within`` names the columns within which opposite directions come
    in equal number. ``validity_check`` and ``reviews``: whether pairs go that the independent check or people called invalid.
    """

    too_close: float | None = 0.98
    near_benchmark: float | None = 0.99
    near_duplicate: float | None = 0.97
    copies_per_text: int | None = 20
    validity_check: bool = True
    reviews: bool = True
    balance: bool = True
    balance_within: tuple[str, ...] = ("source", "mistake_type", "split")
    few_texts: frozenset[str] = frozenset()
    clip_overlap: float = 0.5
    split: SplitSettings = field(default_factory=SplitSettings)
    seed: int = 0


@dataclass(frozen=True)
class Selection:
    """``candidates``: all rows with their split and ``rejection``, null where kept; ``ego_comist``: the kept ones; ``rejections``: count by
    reason; ``rejected``: the table ``comist_rejections``.
    """

    candidates: pl.DataFrame
    ego_comist: pl.DataFrame
    rejections: Mapping[str, int]

    @property
    def rejected(self) -> pl.DataFrame:
        rows = self.candidates.filter(pl.col("rejection").is_not_null())
        return COMIST_REJECTIONS.check(rows.select(COMIST_REJECTIONS.polars_schema.names()))


def select(
    candidates: pl.DataFrame,
    settings: SelectionSettings | None = None,
    *,
    refused: Collection[str] = (),
    persons: Mapping[str, str] | None = None,
) -> Selection:
    """Apply the filters, then balance and split; the result does not depend on the order of rows.

    ``refused``: ids of pairs that people called invalid. ``persons``: person by recording id, needed for splits by person.
    Raises ``InputError`` where a split parts a unit.
    """
    settings = settings or SelectionSettings()
    frame = candidates.sort("recording_id", "step_uid", "mistake_type", "pair_id")
    splits = assign_splits(_with_persons(frame, persons, settings), settings.split)
    drawn = pl.col("recording_id").replace_strict(splits, return_dtype=pl.String)
    is_kept = pl.col("split").is_not_null() & settings.split.keep_source
    files = [pl.when(is_kept).then(name).alias(name) for name in ("split_file", "split_sha256")]
    frame = frame.with_columns(drawn.alias("split"), *files)
    frame = frame.with_columns(_row_filters(settings, refused if settings.reviews else ()).alias("rejection"))
    frame = _drop_duplicates(frame, settings)
    if settings.balance:
        frame = _drop_unbalanced(frame, settings)
    kept = frame.filter(pl.col("rejection").is_null()).select(EGO_COMIST.polars_schema.names())
    require_no_overlap(kept)
    if persons is not None and settings.split.unit is SplitUnit.PERSON:
        require_no_overlap(_with_persons(kept, persons, settings), "person_id")
    rejections = Counter(frame["rejection"].drop_nulls().to_list())
    return Selection(frame, EGO_COMIST.check(kept), dict(sorted(rejections.items())))


def _with_persons(frame: pl.DataFrame, persons: Mapping[str, str] | None, settings: SelectionSettings) -> pl.DataFrame:
    if settings.split.unit is not SplitUnit.PERSON:
        return frame
    if persons is None:
        raise InputError("splits by person need to know who performs", field="persons", remedy="Pass person by recording id")
    return frame.with_columns(pl.col("recording_id").replace_strict(dict(persons), default=None, return_dtype=pl.String).alias("person_id"))


def _row_filters(settings: SelectionSettings, refused: Collection[str]) -> pl.Expr:
    complete = pl.all_horizontal(pl.col("counterfactual_instruction", "feedback", "clip_start_s", "clip_end_s", "t_s").is_not_null())
    alternative = pl.col("direction") == Direction.ALTERNATIVE

    def denied(question: str) -> pl.Expr:
        return ~pl.col(f"check_{question}").fill_null(True) if settings.validity_check else pl.lit(False)

    rules: list[tuple[pl.Expr, Rejection]] = [
        ((pl.col("status") != Status.OK) | ~complete, Rejection.NOT_OK),
        (~pl.col("differs").fill_null(False) | denied("different"), Rejection.NOT_DIFFERENT),
        (denied("feasible"), Rejection.NOT_FEASIBLE),
        (denied("of_type"), Rejection.OTHER_TYPE),
    ]
    if settings.too_close is not None:
        rules.append((alternative & (pl.col("original_similarity") >= settings.too_close), Rejection.TOO_CLOSE))
    rules.append((pl.col("benchmark_leak"), Rejection.BENCHMARK_LEAK))
    if settings.near_benchmark is not None:
        is_near = pl.col("benchmark_similarity").fill_null(-1.0) >= settings.near_benchmark
        rules.append((is_near & ~pl.col("source").is_in(list(settings.few_texts)), Rejection.NEAR_BENCHMARK))
    rules.append((pl.col("pair_id").is_in(list(refused)), Rejection.REFUSED_BY_PEOPLE))
    return pl.coalesce([pl.when(applies).then(pl.lit(reason.value)) for applies, reason in rules])


def _drop_duplicates(frame: pl.DataFrame, settings: SelectionSettings) -> pl.DataFrame:
    """Filters 9 and 10 in row order: chains of ``duplicate_of`` end at the first pair with nearly these texts, which counts its copies.

    A pair repeats any kept pair of its chain that lies on the same clip, also where the pair that it points to was rejected itself.
    """
    if settings.near_duplicate is None:
        return frame
    columns = [
        "pair_id",
        "source",
        "recording_id",
        "step_uid",
        "clip_start_s",
        "clip_end_s",
        "duplicate_of",
        "duplicate_similarity",
        "rejection",
    ]
    rows = {row["pair_id"]: row for row in frame.select(columns).iter_rows(named=True)}
    root: dict[str, str] = {}
    kept: defaultdict[tuple[str, str], list[Mapping[str, object]]] = defaultdict(list)  # of one chain in one recording
    copies: Counter[str] = Counter()
    cap = math.inf if settings.copies_per_text is None else settings.copies_per_text
    out: list[str | None] = []
    for pair_id, row in rows.items():
        earlier = rows.get(row["duplicate_of"]) if (row["duplicate_similarity"] or -1.0) >= settings.near_duplicate else None
        chain = root[pair_id] = pair_id if earlier is None else root[earlier["pair_id"]]
        if row["rejection"] is None:
            if any(_on_same_clip(row, other, settings.clip_overlap) for other in kept[chain, row["recording_id"]]):
                row["rejection"] = Rejection.NEAR_DUPLICATE.value
            elif row["source"] not in settings.few_texts and copies[chain] >= cap:
                row["rejection"] = Rejection.TOO_MANY_COPIES.value
            else:
                copies[chain] += row["source"] not in settings.few_texts
                kept[chain, row["recording_id"]].append(row)
        out.append(row["rejection"])
    return frame.with_columns(pl.Series("rejection", out, dtype=pl.String))


def _on_same_clip(one: Mapping[str, object], other: Mapping[str, object], overlap: float) -> bool:
    """Whether two pairs of one recording, both with clip times, lie on one step or on clips that overlap so much."""
    if one["step_uid"] == other["step_uid"]:
        return True
    start, end = (float(str(one[name])) for name in ("clip_start_s", "clip_end_s"))
    first, last = (float(str(other[name])) for name in ("clip_start_s", "clip_end_s"))
    union = max(end, last) - min(start, first)
    return union > 0 and max(0.0, min(end, last) - max(start, first)) / union >= overlap


def _drop_unbalanced(frame: pl.DataFrame, settings: SelectionSettings) -> pl.DataFrame:
    """Filter 11. Which pairs stay is drawn by hash of the step, so that both directions of one step tend to stay together."""
    paired = [kind for kind in MistakeType if len(DIRECTIONS[kind]) > 1]
    open_rows = frame.filter(pl.col("rejection").is_null() & pl.col("mistake_type").is_in(paired))
    dropped: list[str] = []
    for _, group in open_rows.group_by(list(settings.balance_within), maintain_order=True):
        for kind, of_kind in group.group_by("mistake_type", maintain_order=True):
            counts = {direction: of_kind.filter(pl.col("direction") == direction) for direction in DIRECTIONS[MistakeType(str(kind[0]))]}
            allowed = min(rows.height for rows in counts.values())
            for rows in counts.values():
                ids = sorted(
                    (unit_interval("balance", settings.seed, recording, step), pair_id)
                    for recording, step, pair_id in rows.select("recording_id", "step_uid", "pair_id").iter_rows()
                )
                dropped += [pair_id for _, pair_id in ids[allowed:]]
    return frame.with_columns(
        pl.when(pl.col("pair_id").is_in(dropped)).then(pl.lit(Rejection.UNBALANCED.value)).otherwise("rejection").alias("rejection")
    )
