"""Tables of what assistants said on benchmarks, and of what it scored."""

from ml.tables.declarations.columns import EXPERIMENT, PROTOCOL, REAL, REASON, RECORDING_ID, STATUS, TEXT, WHOLE, null
from ml.tables.schema import Column, Partitioning, Table
from ml.vocabulary import MessageKind

PREDICTIONS = Table(
    "predictions",
    "What an assistant said on a benchmark; a failed item is a row too.",
    Partitioning.PROTOCOL,
    ("experiment", "protocol", "recording_id", "message_index"),
    (
        EXPERIMENT,
        PROTOCOL,
        RECORDING_ID,
        null("unit_id", TEXT, "step that was active for the assistant"),
        Column("message_index", WHOLE, "0-based within the recording"),
        null("t_s", REAL, "time of the decision"),
        null("kind", TEXT, "kind", tuple(MessageKind)),
        null("text", TEXT, "message"),
        null("score", REAL, "probability of the decision"),
        STATUS,
        REASON,
    ),
)
GUIDANCE_PREDICTIONS = Table(
    "guidance_predictions",
    "What an assistant said at each instant of a GuideMe protocol; a failed instant is a row too.",
    Partitioning.PROTOCOL,
    ("experiment", "protocol", "recording_id", "instant_index"),
    (
        EXPERIMENT,
        PROTOCOL,
        RECORDING_ID,
        Column("instant_index", WHOLE, "0-based place in the protocol's grid of the video"),
        Column("t_s", REAL, "instant"),
        null("said", TEXT, "`Silent` or an utterance; null where it failed"),
        STATUS,
        REASON,
    ),
)
CLIP_PREDICTIONS = Table(
    "clip_predictions",
    "What an assistant answered on each sample of Cook-MRE; a failed answer is a row too.",
    Partitioning.PROTOCOL,
    ("experiment", "protocol", "sample_id", "hint"),
    (
        EXPERIMENT,
        PROTOCOL,
        Column("sample_id", TEXT, "sample"),
        Column("hint", TEXT, "element that the question named", allowed=("none", "verb", "ingredient", "tool", "location")),
        null("answer", TEXT, "free answer; null where it failed"),
        STATUS,
        REASON,
    ),
)
SCORES = Table(
    "scores",
    "One metric of one experiment under one protocol.",
    Partitioning.PROTOCOL,
    ("experiment", "protocol", "metric", "group"),
    (
        EXPERIMENT,
        PROTOCOL,
        Column("metric", TEXT, "e.g. mistake_f1"),
        Column("group", TEXT, "`all`, or what it is cut by: mistake type, category, element, level of difficulty, kind of failure"),
        null("value", REAL, "value; null where there is no data"),
        Column("n", WHOLE, "items behind the value"),
        Column("n_missing", WHOLE, "items without an answer because the run failed on them or never reached them"),
        Column("n_unparsable", WHOLE, "items with an answer from which nothing could be read"),
        Column("n_judge_failed", WHOLE, "items that the judge gave no readable verdict on"),
        null("low", REAL, "95 % bootstrap interval over recordings, source clips for Cook-MRE"),
        null("high", REAL, "95 % bootstrap interval over recordings, source clips for Cook-MRE"),
        Column("options_hash", TEXT, "hash of the scorer options"),
    ),
)
LEADERBOARD = Table(
    "leaderboard",
    "Scores of all families side by side, with the papers' published rows.",
    Partitioning.SINGLE,
    ("protocol", "origin", "source", "experiment", "group", "metric"),
    (
        Column("family", TEXT, "family of the benchmark", allowed=("ego", "guideme", "cook_mre")),
        Column("benchmark", TEXT, "benchmark"),
        PROTOCOL,
        EXPERIMENT,
        Column("origin", TEXT, "run here, or published by a paper and not rerun here", allowed=("here", "published")),
        Column("source", TEXT, "paper and table of a published row, else `run here`"),
        Column("place", WHOLE, "1-based place among the rows of the same protocol and origin, by the family's ranking metric"),
        Column("group", TEXT, "`all`, or the category of the reference"),
        Column("metric", TEXT, "e.g. mistake_f1"),
        null("value", REAL, "value; null where there is no data"),
        null("low", REAL, "95 % bootstrap interval"),
        null("high", REAL, "95 % bootstrap interval"),
        null("n", WHOLE, "items behind the value; null for published rows"),
        null("n_missing", WHOLE, "items without an answer; null for published rows"),
        null("n_unparsable", WHOLE, "items with an unreadable answer; null for published rows"),
        null("n_judge_failed", WHOLE, "items without a verdict; null for published rows"),
        null("options_hash", TEXT, "hash of the scorer options; null for published rows"),
    ),
)
