"""Tables of the three counterfactual stages: attributes, counterfactuals, feedback timestamps."""

import polars as pl

from ml.tables.declarations.columns import (
    DIRECTION,
    FIELDS,
    INSTRUCTION,
    MISTAKE_TYPE,
    PAIR_ID,
    REAL,
    REASON,
    RECORDING_ID,
    STATUS,
    STEP_UID,
    TEXT,
    WHOLE,
    null,
)
from ml.tables.schema import Column, Partitioning, Table

ATTRIBUTES = Table(
    "attributes",
    "What a step says about each mistake type; a row without attribute says why there is none.",
    Partitioning.RECORDING,
    ("recording_id", "step_uid", "mistake_type", "attribute_index"),
    (
        RECORDING_ID,
        STEP_UID,
        MISTAKE_TYPE,
        Column("attribute_index", WHOLE, "0-based; a step may measure several ingredients"),
        INSTRUCTION,
        Column("fields", FIELDS, "attribute fields by name, e.g. ingredient and quantity"),
        Column("model", TEXT, "backend and model"),
        STATUS,
        REASON,
    ),
)
COUNTERFACTUALS = Table(
    "counterfactuals",
    "Changed attribute, changed instruction and the feedback for it.",
    Partitioning.RECORDING,
    ("pair_id",),
    (
        PAIR_ID,
        RECORDING_ID,
        STEP_UID,
        MISTAKE_TYPE,
        Column("attribute_index", WHOLE, "attribute that was changed"),
        DIRECTION,
        INSTRUCTION,
        Column("fields", FIELDS, "original fields, and the changed ones prefixed `counterfactual_`"),
        null("counterfactual_instruction", TEXT, "changed instruction"),
        null("feedback", TEXT, "one line that names what is wrong and what was asked"),
        Column("model", TEXT, "backend and model"),
        STATUS,
        REASON,
    ),
)
FEEDBACK_TIMESTAMPS = Table(
    "feedback_timestamps",
    "When the feedback of a counterfactual is due.",
    Partitioning.RECORDING,
    ("pair_id",),
    (
        PAIR_ID,
        RECORDING_ID,
        STEP_UID,
        MISTAKE_TYPE,
        DIRECTION,
        null("clip_start_s", REAL, "clip start on the recording's time line; null where the step has no times"),
        null("clip_end_s", REAL, "clip end"),
        null("t_s", REAL, "due time on the recording's time line; null unless ok"),
        Column("options_s", pl.List(pl.Float64()), "times that were allowed"),
        null("cooking_start_s", REAL, "timing mistakes: when cooking began, as answered"),
        null("raw_answer", TEXT, "what the backend answered"),
        Column("model", TEXT, "backend and model"),
        STATUS,
        REASON,
    ),
)
