"""A mix in QICD's message layout (dataset-formats, section 5): a row is a sample, a take of its video. Reading QICD: ``ml.sources``."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import polars as pl

from ml.errors import InputError
from ml.mixes.exports import write_frame, write_text
from ml.tables.declarations.training import TRAINING_MIX
from ml.vocabulary import MessageKind, MistakeType

INSTRUCTION = "instruction"
SUCCESS = "feedback_action_aligned_success"
UNALIGNED = "feedback_action_unaligned_success"  # feedback that names no mistake type: another step than the one asked for
FINISH = "feedback_finish_all"
FINISH_TEXT = "You have finished all the steps."
MISTAKES = {kind: f"feedback_action_aligned_mistake_{kind}_error" for kind in MistakeType}
TYPES = {INSTRUCTION, SUCCESS, UNALIGNED, FINISH, *MISTAKES.values()}
_TIES = {**dict.fromkeys([UNALIGNED, *MISTAKES.values()], 0), SUCCESS: 1, FINISH: 2, INSTRUCTION: 3}
CARD = """# Training mix in QICD's message layout

A row is one take: an instruction at its start and what the assistant should say, with times in seconds of the whole video. Takes of one
video may overlap and disagree, since a changed instruction stands beside the original one; `video` names the video of a take.
"""
SCHEMA = pl.Schema(
    {
        "video_id": pl.String(),
        "video": pl.String(),
        "sample_id": pl.String(),
        "activity_name": pl.String(),
        "output_texts": pl.List(pl.String()),
        "output_timestamps": pl.List(pl.Float64()),
        "output_types": pl.List(pl.String()),
        "output_actions": pl.List(pl.String()),
        "remaining_plan": pl.List(pl.List(pl.String())),
    }
)


def qicd_rows(frame: pl.DataFrame, activities: Mapping[str, str] | None = None) -> pl.DataFrame:
    """Rows of ``SCHEMA`` from a ``training_mix``. ``video`` is the recording's native id; ``activities`` gives names by recording id.

    The layout has one row per ``video_id``, and samples of one recording overlap: each is a take of its own, ``<native id>~<number>``
    (a video with one sample keeps its id). Each row ends with a closing message at the clip's end: the dataset's own loader gives out
    a segment only when something closes it.
    """
    rows = []
    native_ids = Counter(recording_id.split("/", 1)[-1] for recording_id in frame["recording_id"])  # two sources may show one video
    taken: Counter[str] = Counter()
    for sample in TRAINING_MIX.check(frame).iter_rows(named=True):
        mistake = MISTAKES[MistakeType(sample["mistake_type"])] if sample["mistake_type"] else UNALIGNED
        said = [
            (m["t_s"], SUCCESS if m["kind"] == MessageKind.SUCCESS else mistake, m["text"])
            for m in sample["messages"]
            if m["kind"] in (MessageKind.SUCCESS, MessageKind.FEEDBACK)
        ]
        said.sort(key=lambda message: (message[0], _TIES[message[1]]))
        closing = max([sample["end_s"], *(t_s for t_s, _, _ in said)])
        timeline = [(sample["start_s"], INSTRUCTION, sample["instruction"]), *said, (closing, FINISH, FINISH_TEXT)]
        recording_id = sample["recording_id"]
        native_id = recording_id.split("/", 1)[-1]
        taken[native_id] += 1
        rows.append(
            {
                "video_id": f"{native_id}~{taken[native_id]}" if native_ids[native_id] > 1 else native_id,
                "video": native_id,
                "sample_id": sample["sample_id"],
                "activity_name": (activities or {}).get(recording_id),
                "output_texts": [text for _, _, text in timeline],
                "output_timestamps": [t_s for t_s, _, _ in timeline],
                "output_types": [kind for _, kind, _ in timeline],
                "output_actions": [None] * len(timeline),
                "remaining_plan": [[]] * len(timeline),
            }
        )
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def export_qicd(frame: pl.DataFrame, folder: Path, activities: Mapping[str, str] | None = None) -> list[Path]:
    """``main/<split>-00000-of-00001.parquet`` below ``folder`` and a card with the configuration ``main``; the data files, checked."""
    paths = []
    every = qicd_rows(frame, activities)
    check_qicd(every.iter_rows(named=True))
    split_of = dict(frame.select("sample_id", "split").iter_rows())
    splits = pl.Series([split_of[sample_id] for sample_id in every["sample_id"]], dtype=pl.String)
    for split in sorted(splits.unique()):
        paths.append(folder / "main" / f"{split}-00000-of-00001.parquet")
        write_frame(paths[-1], every.filter(splits == split))
    files = "\n".join(f"  - split: {path.name.split('-', 1)[0]}\n    path: main/{path.name}" for path in paths)
    write_text(folder / "README.md", f"---\nconfigs:\n- config_name: main\n  data_files:\n{files}\n---\n\n{CARD}")
    return paths


def check_qicd(rows: Iterable[Mapping[str, Sequence[object]]]) -> int:
    """Number of segments that QICD's loader would give out. ``InputError`` for a row that breaks the layout's rules.

    Rules: one row per video id; parallel arrays of one length; known types; the first message an instruction; times ascend; at one time
    feedback before success before the next instruction; every segment answered, and closed by an instruction or the closing message.
    """
    segments = 0
    seen: set[str] = set()
    for row in rows:
        record = str(row["video_id"])
        texts, times, types = row["output_texts"], [float(str(t)) for t in row["output_timestamps"]], [str(t) for t in row["output_types"]]
        lengths = {len(row[name]) for name in ("output_texts", "output_timestamps", "output_types", "remaining_plan")}
        problem = None
        if record in seen:
            problem = "the video id stands in two rows"
        elif len(lengths) != 1 or not texts:
            problem = f"arrays of lengths {sorted(lengths)}"
        elif unknown := sorted(set(types) - TYPES):
            problem = f"unknown type {unknown[0]!r}"
        elif types[0] != INSTRUCTION:
            problem = "the first message is no instruction"
        elif types[-1] != FINISH:
            problem = "nothing closes the last segment, so it is never given out"
        else:
            problem = _order_problem(times, types)
        if problem:
            raise InputError(problem, record=record)
        seen.add(record)
        segments += types.count(INSTRUCTION)
    return segments


def _order_problem(times: Sequence[float], types: Sequence[str]) -> str | None:
    for index in range(1, len(times)):
        if times[index] < times[index - 1]:
            return f"time {times[index]} follows {times[index - 1]}"
        in_segment = types[index - 1] != INSTRUCTION
        if in_segment and times[index] == times[index - 1] and _TIES[types[index]] < _TIES[types[index - 1]]:
            return f"{types[index]} follows {types[index - 1]} at one time"
        if types[index] in (INSTRUCTION, FINISH) and types[index - 1] == INSTRUCTION:
            return "an instruction without an answer"
    return None
