"""The same messages as ``runtime.StreamingAssistant``, for many single-instruction streams at once, by full forwards.

A stream's blocks up to its first message depend on no reply, so one forward over whole streams finds every first message; these are
written, put in, and the forward is repeated for the streams that go on. Each pass costs one forward; most streams need two.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import torch

from ml.streaming.features import FeatureCache
from ml.streaming.generate import continue_greedily
from ml.streaming.head import Decision
from ml.streaming.layout import Sequence3D, parse_reply, time_string
from ml.streaming.runtime import SpeakingModel
from ml.streaming.samples import block_range, block_times
from ml.streaming.streams import StreamVoice, Utterance

FORWARD_TOKENS = 16_384
STREAMS_AT_ONCE = 128


@dataclass(frozen=True, eq=False)
class StepStream:
    """A stream under one instruction: features [blocks, tokens, width] and the frame times of each block."""

    instruction: str
    features: torch.Tensor
    times_s: tuple[tuple[float, ...], ...]


def stream_of(features: FeatureCache, video_path: str, instruction: str, start_s: float, end_s: float) -> StepStream:
    """The stream of a stretch of a video. Raises ``InputError`` where the video is shorter or cannot be read."""
    times = tuple(block_times(block) for block in block_range(start_s, end_s))
    return StepStream(instruction, features.of_clip(video_path, start_s, end_s), times)


@dataclass
class StreamMessages:
    """What was said in a stream, and how many repeats were left unsaid."""

    utterances: list[Utterance]
    suppressed: int


@dataclass
class _Progress:
    key: str
    stream: StepStream
    voice: StreamVoice
    is_over: bool
    replies: dict[int, list[int]] = field(default_factory=dict)
    utterances: list[Utterance] = field(default_factory=list)
    next_block: int = 0


def messages_for_steps(speaker: SpeakingModel, streams: Sequence[StepStream]) -> list[StreamMessages]:
    """Messages of each stream, equal to those of cached streaming over the same features. Raises what the model raises."""
    waiting = iter(enumerate(streams))

    def draw() -> tuple[str, StepStream] | None:
        drawn = next(waiting, None)
        return None if drawn is None else (str(drawn[0]), drawn[1])

    ended: dict[str, StreamMessages] = {}
    for key, messages in messages_as_they_end(speaker, draw):
        if isinstance(messages, Exception):
            raise messages
        ended[key] = messages
    return [ended[str(index)] for index in range(len(streams))]


def messages_as_they_end(
    speaker: SpeakingModel, draw: Callable[[], tuple[str, StepStream] | None], at_once: int = STREAMS_AT_ONCE
) -> Iterator[tuple[str, StreamMessages | Exception]]:
    """The streams that ``draw`` hands out under their keys, each with its messages as soon as it is over.

    ``at_once`` streams go side by side: the place of one that is over is drawn anew, so that no pass is a small one. ``draw`` is asked
    again after a None while streams are under way. Where a pass fails, its streams are begun anew one by one, and a stream that fails
    alone comes with its error.
    """
    active: list[_Progress] = []
    while True:
        while len(active) < at_once and (drawn := draw()) is not None:
            key, stream = drawn
            active.append(_Progress(key, stream, StreamVoice(speaker.thresholds, speaker.settings), is_over=not stream.times_s))
        if not active:
            return
        failed: Exception | None = None
        try:
            _advance(speaker, [state for state in active if not state.is_over])
        except Exception as error:  # noqa: BLE001  one bad stream must not stop the others
            failed = error
        if failed is not None:
            for state in active:
                yield state.key, failed if len(active) == 1 else _alone(speaker, state.stream)
            active = []
        for state in active:
            if state.is_over:
                yield state.key, StreamMessages(state.utterances, state.voice.suppressed)
        active = [state for state in active if not state.is_over]


def _alone(speaker: SpeakingModel, stream: StepStream) -> StreamMessages | Exception:
    waiting = iter([("", stream)])
    return next(messages for _, messages in messages_as_they_end(speaker, lambda: next(waiting, None)))


def _advance(speaker: SpeakingModel, active: Sequence[_Progress]) -> None:
    """One pass: every stream to the end of its next message, or to its own end."""
    if not active:
        return
    streams = [state.stream for state in active]
    probabilities = block_probabilities(speaker, streams, [state.replies for state in active])
    speaking: list[tuple[_Progress, int, Decision]] = []
    for state, (speak, feedback) in zip(active, probabilities, strict=True):
        times = state.stream.times_s
        state.is_over = True
        for block in range(state.next_block, len(times)):
            decision = state.voice.consider(times[block][-1], speak[block], feedback[block])
            if decision is not None:
                speaking.append((state, block, decision))
                break
    written = _write_replies(speaker, speaking)
    for (state, block, decision), tokens in zip(speaking, written, strict=True):
        times = state.stream.times_s
        utterance = state.voice.say(times[block][-1], decision, parse_reply(speaker.model.decode(tokens)))
        if utterance is not None:
            state.utterances.append(utterance)
        state.replies[block] = [*tokens, speaker.model.tokens.turn_end]
        state.next_block = block + 1
        state.is_over = state.voice.finished or state.next_block == len(times)


@torch.no_grad()
def block_probabilities(
    speaker: SpeakingModel, streams: Sequence[StepStream], replies: Sequence[dict[int, list[int]]] | None = None
) -> list[tuple[list[float], list[float]]]:
    """(p(speak), p(feedback | speak)) of every block of each stream, given the replies put in after some blocks."""
    inserted = replies or [{} for _ in streams]
    sequences = [_sequence(speaker, stream, said, len(stream.times_s)) for stream, said in zip(streams, inserted, strict=True)]
    results: list[tuple[list[float], list[float]]] = [([], []) for _ in streams]
    order = sorted(range(len(streams)), key=lambda index: len(sequences[index]))
    at = 0
    while at < len(order):
        size = 1
        while at + size < len(order) and (size + 1) * len(sequences[order[at + size]]) <= FORWARD_TOKENS:
            size += 1
        batch = order[at : at + size]
        hidden, _ = speaker.model.hidden_states([sequences[index] for index in batch], [streams[index].features for index in batch])
        for row, index in enumerate(batch):
            results[index] = speaker.probabilities(hidden[row, sequences[index].block_ends])
        at += size
    return results


def _sequence(speaker: SpeakingModel, stream: StepStream, replies: dict[int, list[int]], blocks: int) -> Sequence3D:
    sequence = speaker.instruction_sequence(stream.instruction)
    for block in range(blocks):
        sequence.add_block(block, time_string(stream.times_s[block], stream.times_s[0][0]))
        if block in replies and block < blocks - 1:
            sequence.add_tokens(replies[block])
    return sequence


def _write_replies(speaker: SpeakingModel, speaking: Sequence[tuple[_Progress, int, Decision]]) -> list[list[int]]:
    """Tokens of each reply, first token given by its decision, without the turn end."""
    prompts, features, firsts = [], [], []
    for state, block, decision in speaking:
        sequence = _sequence(speaker, state.stream, state.replies, block + 1)
        firsts.append(speaker.first_token(decision.kind))
        sequence.add_tokens(firsts[-1:])
        prompts.append(sequence)
        features.append(state.stream.features[: block + 1])
    following = continue_greedily(speaker.model, prompts, features, speaker.settings.max_reply_tokens - 1) if prompts else []
    return [[first, *rest] for first, rest in zip(firsts, following, strict=True)]
