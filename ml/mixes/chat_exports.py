"""A mix in the chat layouts of three trainers: ms-swift, LLaMA-Factory (sharegpt) and Qwen's own fine-tuning code.

Each sample is one exchange: the user gives the video and the instruction, the assistant answers with its messages, one a line, as
``<seconds> s: Feedback: <text>`` or ``Success``. Trainers take whole files, so the user's text names the part that is streamed and
times are on the recording's time line; with ``clips`` (a cut file by sample id) they count from the start of the clip. Every export is
checked by the rules that its reader enforces: these are the errors its users meet, found before training.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from ml.errors import InputError
from ml.mixes.exports import write_lines, write_text
from ml.tables.declarations.training import TRAINING_MIX
from ml.vocabulary import MessageKind

SYSTEM = (
    "You watch a person work and are given one instruction. Stay silent while they follow it. Speak when a mistake becomes apparent, and "
    "when the instruction is done. Write each message on a line of its own, with the time in seconds before it."
)
VIDEO = "<video>"
_MEDIA = re.compile(r"<(?:video|image|audio)>")
_LINE = re.compile(r"(?P<t_s>\d+(?:\.\d+)?) s: (?P<kind>Feedback|Success): (?P<text>.+)")
_LABEL = {MessageKind.FEEDBACK.value: "Feedback", MessageKind.SUCCESS.value: "Success"}


@dataclass(frozen=True)
class Exchange:
    """One sample as texts."""

    sample_id: str
    split: str
    video: str
    user: str
    assistant: str


def exchanges(frame: pl.DataFrame, clips: Mapping[str, Path] | None = None) -> list[Exchange]:
    """The samples of a ``training_mix`` as texts. ``InputError`` for a text with a media tag: it would shift a trainer's placeholders."""
    out = []
    for row in TRAINING_MIX.check(frame).iter_rows(named=True):
        clip = (clips or {}).get(row["sample_id"])
        zero_s = row["start_s"] if clip is not None else 0.0
        part = "" if clip is not None else f"The stream is the part from {row['start_s']:.1f} s to {row['end_s']:.1f} s of this video.\n"
        lines = [_line(m["t_s"] - zero_s, m["kind"], m["text"], row["sample_id"]) for m in row["messages"]]
        user, assistant = f"{VIDEO}\n{part}Instruction: {_one_line(row['instruction'])}", "\n".join(lines)
        if _MEDIA.search(row["instruction"]) or _MEDIA.search(assistant):
            raise InputError("the text holds a media tag", record=row["sample_id"], remedy="Mend the source text")
        out.append(Exchange(row["sample_id"], row["split"], str(clip or row["video_path"]), user, assistant))
    return out


def read_answer(text: str) -> list[dict[str, object]]:
    """Messages (t_s, kind, text) of an assistant's answer in this layout; lines that are no message are left out."""
    kinds = {label: kind for kind, label in _LABEL.items()}
    found = (_LINE.fullmatch(line.strip()) for line in text.splitlines())
    return [{"t_s": float(line["t_s"]), "kind": kinds[line["kind"]], "text": line["text"]} for line in found if line]


def _line(t_s: float, kind: str, text: str, sample_id: str) -> str:
    if kind not in _LABEL:
        raise InputError(f"the assistant says no {kind!r}", record=sample_id, field="messages", remedy="Leave such messages out of samples")
    return f"{t_s:.1f} s: {_LABEL[kind]}: {_one_line(text)}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def export_ms_swift(frame: pl.DataFrame, folder: Path, clips: Mapping[str, Path] | None = None) -> list[Path]:
    """``<split>.jsonl`` with ``messages`` and ``videos``, for ``swift sft --dataset``; the files."""
    return _by_split(
        frame,
        clips,
        folder,
        lambda x: {
            "id": x.sample_id,
            "messages": [
                {"role": "system", "content": SYSTEM},
                {"role": "user", "content": x.user},
                {"role": "assistant", "content": x.assistant},
            ],
            "videos": [x.video],
        },
        check_ms_swift,
    )


def export_llama_factory(frame: pl.DataFrame, folder: Path, name: str, clips: Mapping[str, Path] | None = None) -> list[Path]:
    """``<split>.jsonl`` in sharegpt form and ``dataset_info.json`` with ``<name>_<split>`` for each; ``folder`` is the ``dataset_dir``."""
    paths = _by_split(
        frame,
        clips,
        folder,
        lambda x: {
            "id": x.sample_id,
            "conversations": [{"from": "human", "value": x.user}, {"from": "gpt", "value": x.assistant}],
            "system": SYSTEM,
            "videos": [x.video],
        },
        check_llama_factory,
    )
    columns = {"messages": "conversations", "system": "system", "videos": "videos"}
    info = {f"{name}_{path.stem}": {"file_name": path.name, "formatting": "sharegpt", "columns": columns} for path in paths}
    write_text(folder / "dataset_info.json", json.dumps(info, indent=2) + "\n")
    return paths


def export_qwen(frame: pl.DataFrame, folder: Path, clips: Mapping[str, Path] | None = None) -> list[Path]:
    """``<split>.jsonl`` for qwen-vl-finetune: ``annotation_path`` of an entry in its data list, with an empty ``data_path``.

    Its reader knows human and gpt turns only, so the system text opens the user's turn.
    """
    return _by_split(
        frame,
        clips,
        folder,
        lambda x: {
            "id": x.sample_id,
            "video": x.video,
            "conversations": [{"from": "human", "value": f"{SYSTEM}\n{x.user}"}, {"from": "gpt", "value": x.assistant}],
        },
        check_qwen,
    )


def _by_split(
    frame: pl.DataFrame,
    clips: Mapping[str, Path] | None,
    folder: Path,
    layout: Callable[[Exchange], dict[str, object]],
    check: Callable[[Iterable[Mapping[str, object]]], None],
) -> list[Path]:
    made = exchanges(frame, clips)
    paths = []
    for split in sorted({x.split for x in made}):
        rows = [layout(x) for x in made if x.split == split]
        check(rows)
        paths.append(folder / f"{split}.jsonl")
        write_lines(paths[-1], rows)
    return paths


def check_ms_swift(rows: Iterable[Mapping[str, object]]) -> None:
    """Rules of ms-swift's messages format: a system turn only first, user and assistant in turn, the answer last and not empty, and as
    many ``<video>`` tags as ``videos``. ``InputError`` names the row.
    """
    for row in rows:
        turns = [(str(m["role"]), str(m["content"])) for m in _list(row, "messages")]
        body = turns[1:] if turns and turns[0][0] == "system" else turns
        _check_turns(row, body, ("user", "assistant"))
        _check_tags(row, [text for _, text in turns], [str(video) for video in _list(row, "videos")])


def check_llama_factory(rows: Iterable[Mapping[str, object]]) -> None:
    """Rules of LLaMA-Factory's sharegpt format: human in odd, gpt in even places, an even number of turns, as many ``<video>`` tags in
    all turns as ``videos``. ``InputError`` names the row.
    """
    for row in rows:
        turns = [(str(m["from"]), str(m["value"])) for m in _list(row, "conversations")]
        _check_turns(row, turns, ("human", "gpt"))
        _check_tags(row, [text for _, text in turns], [str(video) for video in _list(row, "videos")])


def check_qwen(rows: Iterable[Mapping[str, object]]) -> None:
    """Rules of qwen-vl-finetune's reader: human and gpt turns, ``<video>`` tags in human turns only, each with one file of ``video`` and
    none left over. ``InputError`` names the row.
    """
    for row in rows:
        turns = [(str(m["from"]), str(m["value"])) for m in _list(row, "conversations")]
        _check_turns(row, turns, ("human", "gpt"))
        video = row.get("video", [])
        _check_tags(
            row, [text for who, text in turns if who == "human"], [video] if isinstance(video, str) else list(map(str, _list(row, "video")))
        )
        if any(_MEDIA.search(text) for who, text in turns if who == "gpt"):
            raise InputError("the answer holds a media tag", record=str(row.get("id")))


def _list(row: Mapping[str, object], name: str) -> list:
    value = row.get(name)
    if not isinstance(value, list):
        raise InputError("a list is missing", record=str(row.get("id")), field=name)
    return value


def _check_turns(row: Mapping[str, object], turns: Sequence[tuple[str, str]], roles: tuple[str, str]) -> None:
    wanted = [roles[index % 2] for index in range(len(turns))]
    if not turns or len(turns) % 2 or [who for who, _ in turns] != wanted:
        raise InputError(f"turns are {[who for who, _ in turns]}, not {roles[0]} and {roles[1]} in turn", record=str(row.get("id")))
    if any(not text.strip() for _, text in turns):
        raise InputError("a turn is empty: nothing would be learned from it", record=str(row.get("id")))


def _check_tags(row: Mapping[str, object], texts: Sequence[str], videos: Sequence[str]) -> None:
    tags = sum(text.count(VIDEO) for text in texts)
    if tags != len(videos) or not all(videos):
        raise InputError(f"{tags} {VIDEO} tags and {len(videos)} videos", record=str(row.get("id")), field="videos")
