"""Tables that importers fill: what a source's files say, before any video was opened."""

import polars as pl

from ml.tables.declarations.columns import FLAG, INSTRUCTION, REAL, REASON, RECORDING_ID, SPLIT, STATUS, STEP_UID, TEXT, TEXTS, WHOLE, null
from ml.tables.schema import Column, Partitioning, Table
from ml.vocabulary import MessageKind, MistakeType

IMPORTED_RECORDINGS = Table(
    "imported_recordings",
    "Recordings as the source's annotation files give them.",
    Partitioning.SOURCE,
    ("recording_id",),
    (
        RECORDING_ID,
        Column("source", TEXT, "name of the source in the settings"),
        Column("native_id", TEXT, "id inside the source"),
        null("activity", TEXT, "recipe or goal"),
        SPLIT,
        null("split_file", TEXT, "file that the split was read from"),
        null("split_sha256", TEXT, "hash of that file"),
        Column("licence", TEXT, "licence of the annotations, as the source states it"),
        null("video_path", TEXT, "video file; null where none is configured or found"),
        null("annotated_duration_s", REAL, "duration that the annotations claim"),
        null("has_mistakes", FLAG, "whether the annotations mark any step as erroneous"),
        null("person_id", TEXT, "who performs"),
        null("environment_id", TEXT, "where"),
        Column(
            "members",
            pl.List(pl.Struct({"video_uid": pl.String(), "offset_s": pl.Float64()})),
            "source videos of a joined recording, with offsets; else empty",
        ),
        STATUS,
        REASON,
    ),
)
STEP_COLUMNS = (
    RECORDING_ID,
    STEP_UID,
    null("native_step_id", TEXT, "step id in the source"),
    null("graph_node_ids", TEXTS, "recipe-local task graph nodes with this text"),
    Column("occurrence", WHOLE, "0-based count of this step id within the recording, in time order"),
    Column("position", WHOLE, "0-based place in the recording by start; omitted steps last"),
    null("start_s", REAL, "start; null for an omitted step"),
    null("end_s", REAL, "end; null for an omitted step"),
    INSTRUCTION,
    Column("is_instruction", FLAG, "false where the source describes instead of instructs"),
    null("performed_text", TEXT, "what was really done, where the source says so"),
    Column("error_tags", TEXTS, "error tags exactly as in the source"),
    Column("error_texts", TEXTS, "one text per tag; empty string where none"),
    Column("is_clean", FLAG, "no error tag, really performed, not contradictory: usable for counterfactuals"),
    null("parent_uid", TEXT, "step that this substep belongs to"),
    null("category", TEXT, "what the source files the step under"),
    null("relevance", TEXT, "Goal-Step relevance"),
    Column("is_continued", FLAG, "continues an earlier segment of the same step"),
    Column("is_proposed", FLAG, "proposed by a model from narrations, not annotated"),
    STATUS,
    REASON,
)
IMPORTED_STEPS = Table(
    "imported_steps", "Steps as the source's files give them.", Partitioning.SOURCE, ("recording_id", "step_uid"), STEP_COLUMNS
)
IMPORTED_NARRATIONS = Table(
    "imported_narrations",
    "Narrations that a source ships.",
    Partitioning.SOURCE,
    ("recording_id", "annotator", "narration_index"),
    (
        RECORDING_ID,
        Column("annotator", TEXT, "pass or annotator; never concatenate two"),
        Column("narration_index", WHOLE, "0-based, in time order"),
        Column("start_s", REAL, "time of the narration"),
        Column("end_s", REAL, "end; next distinct start, capped, where the source gives points"),
        Column("text", TEXT, "cleaned text"),
    ),
)
IMPORTED_MESSAGES = Table(
    "imported_messages",
    "Message timelines that a source ships (QICD, EGO-MC-Bench).",
    Partitioning.SOURCE,
    ("recording_id", "message_index"),
    (
        RECORDING_ID,
        Column("message_index", WHOLE, "0-based, in time order"),
        Column("t_s", REAL, "time of the message"),
        Column("kind", TEXT, "kind of message", allowed=tuple(MessageKind)),
        Column("text", TEXT, "message"),
        null("mistake_type", TEXT, "for feedback on a mistake", tuple(MistakeType)),
        null("step_uid", TEXT, "step that the message belongs to"),
        Column("native_type", TEXT, "type string of the source"),
    ),
)
IMPORT_PROBLEMS = Table(
    "import_problems",
    "What an importer found odd, with the rule it applied.",
    Partitioning.SOURCE,
    ("problem_index",),
    (
        Column("problem_index", WHOLE, "0-based"),
        null("recording_id", TEXT, "recording"),
        null("record", TEXT, "record within the file"),
        Column("kind", TEXT, "short name of the problem"),
        Column("detail", TEXT, "what the file says"),
        Column("rule", TEXT, "what the importer did"),
    ),
)
