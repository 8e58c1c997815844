"""Streaming checkpoints on GuideMe benchmarks, from video features that are encoded once per recording.

A checkpoint watches for one instruction at a time. The one in force is the last request of the dialogue that the protocol's history holds:
of an assistant's turn the last sentence that begins with a verb, before any the user's own words. The stream begins with it, so that its
context is the video since then, whatever window the protocol gives to models that are asked.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from ml.benchmarks.assistants.per_second import SILENT
from ml.benchmarks.families import GuideMeVariant, History, parse_protocol
from ml.benchmarks.guideme.conversations import GuideMeItem
from ml.benchmarks.guideme.grids import grid_of
from ml.benchmarks.running import Progress, Row, RunJournal, run_units
from ml.counterfactuals.lexicon.verbs import COOKING_VERBS
from ml.counterfactuals.rules.parsing import parse, verb_lemma
from ml.errors import InputError
from ml.streaming.batch_runtime import messages_for_steps, stream_of
from ml.streaming.features import FeatureCache
from ml.streaming.runtime import SpeakingModel
from ml.streaming.streams import Utterance
from ml.tables.declarations.results import GUIDANCE_PREDICTIONS
from ml.vocabulary import Status

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_OPENING = re.compile(
    r"""^(?:(?:now|then|next|first|so|please|and|ok|okay|let['’]s|you\ (?:can|should|may|must|need\ to|have\ to)|go\ ahead\ and|
    (?:it['’]?\ ?s\ )?time\ to)\b[\s,]*)+""",
    re.IGNORECASE | re.VERBOSE,
)
_TOLERANCE_S = 1e-9


@dataclass(frozen=True)
class Request:
    """An instruction in force from ``start_s`` to ``end_s``, when the next one is given or the last instant is over."""

    text: str
    start_s: float
    end_s: float


def predict_guidance(
    speaker: SpeakingModel,
    features: FeatureCache,
    items: Sequence[GuideMeItem],
    *,
    experiment: str,
    protocol: str,
    journal: RunJournal | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """``guidance_predictions`` of a streaming model; a video that cannot be read gives a failed row per instant.

    A message is said at the first instant after it, where that is less than the protocol's interval later; at all others it is silent.
    Videos in ``journal`` are not run again, and each goes into it as it ends. Raises ``InputError`` for a protocol of another family.
    """
    variant = parse_protocol(protocol).guideme
    if variant is None:
        raise InputError("this is no GuideMe protocol", record=protocol, field="protocol")
    by_id = {item.video_id: item for item in items}

    def run_one(video_id: str) -> list[Row]:
        item = by_id[video_id]
        ticks = grid_of(item, variant)
        try:
            utterances = _utterances(speaker, features, item, requests_of(item, variant.history, ticks[-1] if ticks else item.start_s))
        except InputError as error:
            status = Status.NO_VIDEO if item.video_file is None else Status.BAD_VIDEO
            return [_row(tick, None, status, str(error)) for tick in ticks]
        except Exception as error:  # noqa: BLE001  one bad video must not stop the others
            return [_row(tick, None, Status.ERROR, f"{type(error).__name__}: {error}") for tick in ticks]
        return [_row(tick, _said_at(tick, utterances, variant)) for tick in ticks]

    made = run_units(list(by_id), run_one, journal=journal, progress=progress)
    rows = [
        {"experiment": experiment, "protocol": protocol, "recording_id": video_id, "instant_index": index, **row}
        for video_id, own in made.items()
        for index, row in enumerate(own)
    ]
    return GUIDANCE_PREDICTIONS.check(GUIDANCE_PREDICTIONS.rows(rows))


def _row(t_s: float, said: str | None, status: Status = Status.OK, reason: str | None = None) -> Row:
    return {"t_s": t_s, "said": said, "status": status.value, "reason": reason}


def requests_of(item: GuideMeItem, history: History, end_s: float) -> list[Request]:
    """What the person is to do, in time order without gaps. Without the true history only the user's own words are known."""
    told = [(turn.t_s, turn.text) for turn in item.turns if turn.speaker == "user"]
    if history is History.TRUE:
        told += [(turn.t_s, text) for turn in item.answers if (text := request_in(turn.text)) is not None]
    told = sorted((t_s, text) for t_s, text in told if t_s < end_s)
    ends = [*(t_s for t_s, _ in told[1:]), end_s]
    return [Request(text, t_s, end) for (t_s, text), end in zip(told, ends, strict=True) if end > t_s]


def request_in(text: str) -> str | None:
    """The last sentence that asks for something, without "Now" or "You can" before it; None in a remark."""
    for sentence in reversed(_SENTENCE_END.split(text.strip())):
        asked = _OPENING.sub("", sentence).strip()
        words = parse(asked)
        if len(words) > 1 and words[1].text not in ".!?" and (words[0].tag in ("VB", "VBP") or verb_lemma(words[0].lower) in COOKING_VERBS):
            return asked[0].upper() + asked[1:]
    return None


def _utterances(speaker: SpeakingModel, features: FeatureCache, item: GuideMeItem, requests: Sequence[Request]) -> list[Utterance]:
    if item.video_file is None:
        raise InputError("the recording has no video", record=item.video_id)
    streams = [stream_of(features, item.video_file, one.text, one.start_s, one.end_s) for one in requests]
    return [utterance for messages in messages_for_steps(speaker, streams) for utterance in messages.utterances]


def _said_at(now_s: float, utterances: Sequence[Utterance], variant: GuideMeVariant) -> str:
    due = [one.text for one in utterances if now_s - variant.interval_s + _TOLERANCE_S < one.t_s <= now_s + _TOLERANCE_S]
    return due[-1] if due else SILENT
