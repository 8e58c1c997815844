"""Tables that hold a benchmark in canonical form: units with their reference messages."""

from ml.tables.declarations.columns import FLAG, INSTRUCTION, REAL, RECORDING_ID, TEXT, TEXTS, WHOLE, null
from ml.tables.schema import Column, Partitioning, Table
from ml.vocabulary import MessageKind, MistakeType

BENCHMARK_STEPS = Table(
    "benchmark_steps",
    "Steps of a benchmark in canonical form.",
    Partitioning.SOURCE,
    ("benchmark", "unit_id"),
    (
        Column("benchmark", TEXT, "benchmark"),
        Column("unit_id", TEXT, "recording and step, e.g. `<recording>/<position>`"),
        RECORDING_ID,
        Column("position", WHOLE, "0-based place in the recording"),
        Column("start_s", REAL, "when the instruction is given"),
        Column("end_s", REAL, "when the next instruction is given, else end of video"),
        INSTRUCTION,
        null("mistake_type", TEXT, "type of the mistake in the step, if one", tuple(MistakeType)),
        null("completed", FLAG, "false where it is known that the instruction is never carried out; null where only messages tell"),
        null("video_path", TEXT, "video file"),
    ),
)
BENCHMARK_MESSAGES = Table(
    "benchmark_messages",
    "Reference messages of a benchmark.",
    Partitioning.SOURCE,
    ("benchmark", "unit_id", "message_index"),
    (
        Column("benchmark", TEXT, "benchmark"),
        Column("unit_id", TEXT, "step"),
        Column("message_index", WHOLE, "0-based, in time order"),
        Column("t_s", REAL, "time on the recording's time line"),
        Column("kind", TEXT, "kind", allowed=tuple(MessageKind)),
        Column("text", TEXT, "message"),
        null("mistake_type", TEXT, "type of mistake", tuple(MistakeType)),
    ),
)
BENCHMARK_DIALOGUES = Table(
    "benchmark_dialogues",
    "Videos of a GuideMe benchmark in canonical form.",
    Partitioning.SOURCE,
    ("benchmark", "recording_id"),
    (
        Column("benchmark", TEXT, "benchmark"),
        RECORDING_ID,
        null("goal", TEXT, "task as the annotation infers it"),
        null("knowledge", TEXT, "task knowledge as the annotation infers it"),
        Column("start_s", REAL, "first user turn; 0 without one"),
        null("duration_s", REAL, "decodable length of the video, where it is known"),
        null("video_path", TEXT, "video file"),
    ),
)
BENCHMARK_TURNS = Table(
    "benchmark_turns",
    "Reference dialogues of a GuideMe benchmark.",
    Partitioning.SOURCE,
    ("benchmark", "recording_id", "turn_index"),
    (
        Column("benchmark", TEXT, "benchmark"),
        RECORDING_ID,
        Column("turn_index", WHOLE, "0-based, in time order"),
        Column("t_s", REAL, "time; whole seconds in the published format"),
        Column("speaker", TEXT, "who says it", allowed=("user", "assistant")),
        Column("text", TEXT, "what is said"),
        null("category", TEXT, "instruction, error or correction, where the annotation says so"),
    ),
)
BENCHMARK_CLIPS = Table(
    "benchmark_clips",
    "Samples of a Cook-MRE benchmark: a clip with an instruction that it follows or deviates from in one element.",
    Partitioning.SOURCE,
    ("benchmark", "sample_id"),
    (
        Column("benchmark", TEXT, "benchmark"),
        Column("sample_id", TEXT, "sample"),
        Column("clip_id", TEXT, "source clip; several samples may share one"),
        RECORDING_ID,
        null("video_path", TEXT, "video file"),
        Column("start_s", REAL, "clip start on the recording's time line"),
        null("end_s", REAL, "clip end; null: to the end of the video"),
        INSTRUCTION,
        Column("sample_class", TEXT, "whether the instruction deviates from the clip", allowed=("mistake", "correct")),
        null("element", TEXT, "element that deviates", ("verb", "ingredient", "tool", "location")),
        Column("original", TEXT, "what the clip really shows"),
        null("difficulty", TEXT, "level of the deviation", ("easy", "hard")),
        Column("elements", TEXTS, "elements that the original description has; a hint may name each"),
    ),
)
