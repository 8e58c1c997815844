"""Tables of pairs: their checks by a model and by people, the scores that filters use, and ``ego_comist``."""

from ml.tables.declarations.columns import (
    DIRECTION,
    FLAG,
    INSTRUCTION,
    MISTAKE_TYPE,
    PAIR_ID,
    REAL,
    REASON,
    RECORDING_ID,
    SPLIT,
    STATUS,
    STEP_UID,
    TEXT,
    WHOLE,
    null,
)
from ml.tables.schema import Column, Partitioning, Table

_PAIR_COLUMNS = (
    PAIR_ID,
    RECORDING_ID,
    STEP_UID,
    Column("source", TEXT, "source of the recording"),
    Column("licence", TEXT, "licence of the source's annotations"),
    SPLIT,
    null("split_file", TEXT, "file of the source that the split was read from; null where it was drawn here"),
    null("split_sha256", TEXT, "hash of that file"),
    MISTAKE_TYPE,
    DIRECTION,
    INSTRUCTION,
    null("counterfactual_instruction", TEXT, "changed instruction"),
    null("feedback", TEXT, "feedback"),
    null("clip_start_s", REAL, "clip start"),
    null("clip_end_s", REAL, "clip end"),
    null("t_s", REAL, "when the feedback is due"),
)
_KEPT_PAIR_COLUMNS = tuple(
    Column(c.name, c.dtype, c.doc, nullable=c.name in ("split", "split_file", "split_sha256"), allowed=c.allowed) for c in _PAIR_COLUMNS
)
_VERDICTS = (
    null("different", FLAG, "the counterfactual instruction asks for other than what the person does; null where it cannot be told"),
    null("feasible", FLAG, "it can be followed with what is there; null where it cannot be told"),
    null("of_type", FLAG, "the difference is of the pair's mistake type; null where it cannot be told"),
)
_CHECKED = tuple(null(f"check_{c.name}", FLAG, f"validity_check: {c.doc}") for c in _VERDICTS)
VALIDITY_CHECK = Table(
    "validity_check",
    "An independent check of each dated pair by the three questions of the EGO-CoMist study.",
    Partitioning.RECORDING,
    ("pair_id",),
    (
        PAIR_ID,
        RECORDING_ID,
        STEP_UID,
        MISTAKE_TYPE,
        DIRECTION,
        *_VERDICTS,
        null("why", TEXT, "what is wrong, or why a question is open"),
        Column("model", TEXT, "backend and model"),
        STATUS,
        REASON,
    ),
)
VALIDITY_SAMPLE = Table(
    "validity_sample",
    "Pairs that people are asked about, in the order in which they are shown.",
    Partitioning.SINGLE,
    ("pair_id",),
    (
        Column("position", WHOLE, "0-based place in the review"),
        *_KEPT_PAIR_COLUMNS,
        Column("video_path", TEXT, "video file"),
        Column("weight", REAL, "pairs of its stratum (source, type, direction) that this one stands for"),
        Column("shown_sha256", TEXT, "hash of what is shown; an answer counts only for what was shown"),
    ),
)
VALIDITY_ANSWERS = Table(
    "validity_answers",
    "What people answered, the latest of each person for each pair.",
    Partitioning.SINGLE,
    ("reviewer", "pair_id", "shown_sha256"),
    (
        Column("reviewer", TEXT, "name that the person gave"),
        PAIR_ID,
        Column("shown_sha256", TEXT, "hash of what was shown"),
        *_VERDICTS,
        null("apparent_s", REAL, "when the mistake becomes apparent, on the recording's time line"),
        Column("never_apparent", FLAG, "the person saw no such moment"),
        null("comment", TEXT, "remark"),
        Column("is_complete", FLAG, "three verdicts, and a moment where all three are yes"),
        Column("answered_at", TEXT, "UTC, ISO 8601"),
    ),
)
VALIDITY_REVIEW = Table(
    "validity_review",
    "People's verdicts summed up: shares of valid pairs, agreement, errors of the feedback timestamps.",
    Partitioning.SINGLE,
    ("measure", "question", "group"),
    (
        Column("measure", TEXT, "valid_share, agreement, kappa, check_agreement, check_kappa or timestamp_error_share"),
        Column("question", TEXT, "valid, different, feasible, of_type; for timestamps the bin of the error in s"),
        Column("group", TEXT, "`all`, a source, a mistake type, or a pair of reviewers"),
        null("value", REAL, "0..1; kappa -1..1; null where there is no data"),
        Column("n", WHOLE, "answers or answer pairs behind the value"),
        null("low", REAL, "95 % Wilson interval"),
        null("high", REAL, "95 % Wilson interval"),
    ),
)
COMIST_CANDIDATES = Table(
    "comist_candidates",
    "Every counterfactual with every score that a filter may use.",
    Partitioning.SINGLE,
    ("pair_id",),
    (
        *_PAIR_COLUMNS,
        null("original_similarity", REAL, "cosine of original and counterfactual instruction"),
        null("differs", FLAG, "the changed words mean something else by rule"),
        null("duplicate_of", TEXT, "earlier pair that this one nearly repeats"),
        null("duplicate_similarity", REAL, "cosine to that pair"),
        null("benchmark_step", TEXT, "nearest benchmark instruction"),
        null("benchmark_similarity", REAL, "cosine to it"),
        Column("benchmark_leak", FLAG, "a benchmark asks for either text on the same video"),
        *_CHECKED,
        STATUS,
        REASON,
    ),
)
COMIST_REJECTIONS = Table(
    "comist_rejections",
    "Candidates that are not in ego_comist, each with the first filter that rejects it under the settings.",
    Partitioning.SINGLE,
    ("pair_id",),
    (
        PAIR_ID,
        RECORDING_ID,
        Column("source", TEXT, "source of the recording"),
        MISTAKE_TYPE,
        DIRECTION,
        Column("rejection", TEXT, "first filter that rejects the pair"),
        STATUS,
        REASON,
    ),
)
EGO_COMIST = Table(
    "ego_comist",
    "Training pairs: filtered, balanced over directions, split by recording.",
    Partitioning.SINGLE,
    ("pair_id",),
    _KEPT_PAIR_COLUMNS,
)
