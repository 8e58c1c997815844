"""Tables of training: samples of a mix, the log of a fine-tuning run."""

from ml.tables.declarations.columns import EXPERIMENT, INSTRUCTION, MESSAGES, REAL, RECORDING_ID, TEXT, WHOLE, null
from ml.tables.schema import Column, Partitioning, Table
from ml.vocabulary import MistakeType, Split

TRAINING_MIX = Table(
    "training_mix",
    "Training samples of a mix with their weights.",
    Partitioning.MIX,
    ("sample_id",),
    (
        Column("sample_id", TEXT, "unique sample"),
        Column("mix", TEXT, "mix of the settings"),
        Column("dataset", TEXT, "ego_comist, qicd, ego4d_goalstep, ..."),
        RECORDING_ID,
        null("pair_id", TEXT, "pair that the sample comes from"),
        Column("source", TEXT, "source of the recording"),
        Column("licence", TEXT, "licence of the source's annotations"),
        Column("split", TEXT, "train or validation", allowed=tuple(Split)),
        null("split_file", TEXT, "file of the source that the split was read from; null where the split was drawn or made stricter here"),
        null("split_sha256", TEXT, "hash of that file"),
        Column("video_path", TEXT, "video file"),
        Column("start_s", REAL, "stream start on the recording's time line"),
        Column("end_s", REAL, "stream end"),
        INSTRUCTION,
        Column("messages", MESSAGES, "what the assistant should say, in time order, on the recording's time line"),
        null("mistake_type", TEXT, "mistake type of the feedback", tuple(MistakeType)),
        Column("weight", REAL, "expected share of draws within the mix, over all samples of one split"),
    ),
)
TUNING_LOG = Table(
    "tuning_log",
    "What a fine-tuning run logged.",
    Partitioning.EXPERIMENT,
    ("experiment", "step", "metric"),
    (
        EXPERIMENT,
        Column("step", WHOLE, "optimizer step"),
        Column("metric", TEXT, "name"),
        Column("value", REAL, "value"),
        Column("elapsed_s", REAL, "seconds of tuning so far"),
    ),
)
