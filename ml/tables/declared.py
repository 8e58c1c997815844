"""Every table of the platform, declared once. Reading and writing live in ``ml.tables.store``; values are made elsewhere."""

import polars as pl

from ml.tables.schema import Column, Partitioning, Table
from ml.vocabulary import Direction, MessageKind, MistakeType, Split, Status

TEXT, REAL, WHOLE, FLAG = pl.String(), pl.Float64(), pl.Int64(), pl.Boolean()
TEXTS = pl.List(pl.String())
FIELDS = pl.List(pl.Struct({"name": pl.String(), "value": pl.String()}))
MESSAGES = pl.List(pl.Struct({"t_s": pl.Float64(), "kind": pl.String(), "text": pl.String()}))

RECORDING_ID = Column("recording_id", TEXT, "`<source>/<native id>`")
STEP_UID = Column("step_uid", TEXT, "step within its recording: `<native step id>#<occurrence>`; stable over re-imports")
PAIR_ID = Column("pair_id", TEXT, "hash of recording, step, mistake type, attribute index and direction")
MISTAKE_TYPE = Column("mistake_type", TEXT, "mistake type", allowed=tuple(MistakeType))
DIRECTION = Column("direction", TEXT, "counterfactual attribute relative to the original", allowed=tuple(Direction))
STATUS = Column("status", TEXT, "outcome of the row", allowed=tuple(Status))
REASON = Column("reason", TEXT, "why the status is not ok", nullable=True)
SPLIT = Column("split", TEXT, "split of the recording", nullable=True, allowed=tuple(Split))
INSTRUCTION = Column("instruction", TEXT, "what the person is asked to do")
EXPERIMENT = Column("experiment", TEXT, "what was tuned or scored: an experiment of the settings, or a floor")
PROTOCOL = Column("protocol", TEXT, "benchmark and how it feeds the model: `<benchmark>.<feed>`, see `ml.benchmarks.families`")


def null(name: str, dtype: pl.DataType, doc: str, allowed: tuple[str, ...] | None = None) -> Column:
    return Column(name, dtype, doc, nullable=True, allowed=allowed)


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
_STEP_COLUMNS = (
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
    "imported_steps", "Steps as the source's files give them.", Partitioning.SOURCE, ("recording_id", "step_uid"), _STEP_COLUMNS
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
    (*_STEP_COLUMNS[:-2], null("description", TEXT, "the source's own words, where it describes instead of instructs"), STATUS, REASON),
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
        Column("split", TEXT, "train or validation", allowed=tuple(Split)),
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

TABLES: dict[str, Table] = {value.name: value for value in list(globals().values()) if isinstance(value, Table)}
