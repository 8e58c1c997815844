"""Tables of one recording each: its video, its steps on its own time line, its narrations."""

from ml.tables.declarations.columns import FLAG, REAL, REASON, RECORDING_ID, STATUS, STEP_UID, TEXT, WHOLE, null
from ml.tables.declarations.sources import IMPORTED_RECORDINGS, STEP_COLUMNS
from ml.tables.schema import Column, Partitioning, Table
from ml.vocabulary import Status

VIDEO_PROBE = Table(
    "video_probe",
    "What a video file really holds.",
    Partitioning.RECORDING,
    ("recording_id",),
    (
        RECORDING_ID,
        null("video_path", TEXT, "file"),
        null("file_bytes", WHOLE, "size"),
        null("header_duration_s", REAL, "duration that the container claims"),
        null("decodable_s", REAL, "end of the last frame that decodes, from the first displayed frame"),
        null("rate_num", WHOLE, "frame rate numerator"),
        null("rate_den", WHOLE, "frame rate denominator"),
        null("width", WHOLE, "upright width in pixels"),
        null("height", WHOLE, "upright height in pixels"),
        null("rotation_deg", WHOLE, "clockwise rotation applied for display"),
        null("codec", TEXT, "codec"),
        null("warning", TEXT, "header and content differ, and the like"),
        STATUS,
        REASON,
    ),
)
RECORDINGS = Table(
    "recordings",
    "Recordings with what is known of their video.",
    Partitioning.RECORDING,
    ("recording_id",),
    (
        *IMPORTED_RECORDINGS.columns[:-2],
        null("duration_s", REAL, "decodable length, else the annotated one"),
        Column("video_status", TEXT, "outcome of the probe", allowed=tuple(Status)),
        STATUS,
        REASON,
    ),
)
STEPS = Table(
    "steps",
    "Steps on the recording's own time line, checked against its length; described ones turned into instructions.",
    Partitioning.RECORDING,
    ("recording_id", "step_uid"),
    (*STEP_COLUMNS[:-2], null("description", TEXT, "the source's own words, where it describes instead of instructs"), STATUS, REASON),
)
INSTRUCTIONS = Table(
    "instructions",
    "Descriptions of a source filtered to cooking and turned into instructions; a row without one says why.",
    Partitioning.RECORDING,
    ("recording_id", "step_uid"),
    (
        RECORDING_ID,
        STEP_UID,
        Column("description", TEXT, "what the source says was done"),
        null("is_cooking", FLAG, "whether it is a step of cooking; null where nobody was asked"),
        null("instruction", TEXT, "what a person would be asked to do"),
        Column("model", TEXT, "backend and model"),
        STATUS,
        REASON,
    ),
)
PROPOSED_STEPS = Table(
    "proposed_steps",
    "Steps proposed from narrations, for recordings without a recipe; a row without one says why.",
    Partitioning.RECORDING,
    ("recording_id", "proposal_index"),
    (
        RECORDING_ID,
        Column("proposal_index", WHOLE, "0-based, in time order of the parts and in the order of the reply"),
        null("part_start_s", REAL, "start of the part of the recording that was asked about"),
        null("part_end_s", REAL, "end of that part"),
        null("start_s", REAL, "start of the step, as answered"),
        null("end_s", REAL, "end of the step, as answered"),
        null("instruction", TEXT, "what a person would be asked to do"),
        Column("model", TEXT, "backend and model"),
        STATUS,
        REASON,
    ),
)
NARRATIONS = Table(
    "narrations",
    "What the person does, in 10 s windows every 5 s.",
    Partitioning.RECORDING,
    ("recording_id", "window_index"),
    (
        RECORDING_ID,
        Column("window_index", WHOLE, "0-based"),
        Column("start_s", REAL, "window start"),
        Column("end_s", REAL, "window end"),
        null("text", TEXT, "narration"),
        Column("narrator", TEXT, "dataset, or backend and model"),
        Column("is_repeat", FLAG, "same text as the window before, at least three in a row"),
        STATUS,
        REASON,
    ),
)
