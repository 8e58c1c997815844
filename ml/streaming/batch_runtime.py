"""The same messages as ``runtime.StreamingAssistant``, for many single-instruction streams at once, by full forwards.

A stream's blocks up to its first message depend on no reply, so one forward over whole streams finds every first message; these are
written, put in, and the forward is repeated for the streams that go on. Each pass costs one forward; most streams need two.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from ml.streaming.generate import continue_greedily
from ml.streaming.head import Decision
from ml.streaming.layout import Sequence3D, parse_reply, time_string
from ml.streaming.runtime import SpeakingModel
from ml.streaming.streams import StreamVoice, Utterance

FORWARD_TOKENS = 16_384


@dataclass(frozen=True, eq=False)
class StepStream:
    """A stream under one instruction: features [blocks, tokens, width] and the frame times of each block."""

    instruction: str
    features: torch.Tensor
    times_s: tuple[tuple[float, ...], ...]


@dataclass
class StreamMessages:
    """What was said in a stream, and how many repeats were left unsaid."""

    utterances: list[Utterance]
    suppressed: int


@dataclass
class _Progress:
    voice: StreamVoice
    replies: dict[int, list[int]] = field(default_factory=dict)
    utterances: list[Utterance] = field(default_factory=list)
    next_block: int = 0


def messages_for_steps(speaker: SpeakingModel, streams: Sequence[StepStream]) -> list[StreamMessages]:
    """Messages of each stream, equal to those of cached streaming over the same features."""
    states = [_Progress(StreamVoice(speaker.thresholds, speaker.settings)) for _ in streams]
    active = [index for index, stream in enumerate(streams) if stream.times_s]
    while active:
        probabilities = block_probabilities(speaker, [streams[index] for index in active], [states[index].replies for index in active])
        speaking: list[tuple[int, int, Decision]] = []
        for index, (speak, feedback) in zip(active, probabilities, strict=True):
            state, times = states[index], streams[index].times_s
            for block in range(state.next_block, len(times)):
                decision = state.voice.consider(times[block][-1], speak[block], feedback[block])
                if decision is not None:
                    speaking.append((index, block, decision))
                    break
        written = _write_replies(speaker, streams, states, speaking)
        active = []
        for (index, block, decision), tokens in zip(speaking, written, strict=True):
            state, times = states[index], streams[index].times_s
            utterance = state.voice.say(times[block][-1], decision, parse_reply(speaker.model.decode(tokens)))
            if utterance is not None:
                state.utterances.append(utterance)
            state.replies[block] = [*tokens, speaker.model.tokens.turn_end]
            state.next_block = block + 1
            if not state.voice.finished and state.next_block < len(times):
                active.append(index)
    return [StreamMessages(state.utterances, state.voice.suppressed) for state in states]


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


def _write_replies(
    speaker: SpeakingModel, streams: Sequence[StepStream], states: list[_Progress], speaking: list[tuple[int, int, Decision]]
) -> list[list[int]]:
    """Tokens of each reply, first token given by its decision, without the turn end."""
    prompts, features, firsts = [], [], []
    for index, block, decision in speaking:
        sequence = _sequence(speaker, streams[index], states[index].replies, block + 1)
        firsts.append(speaker.first_token(decision.kind))
        sequence.add_tokens(firsts[-1:])
        prompts.append(sequence)
        features.append(streams[index].features[: block + 1])
    following = continue_greedily(speaker.model, prompts, features, speaker.settings.max_reply_tokens - 1) if prompts else []
    return [[first, *rest] for first, rest in zip(firsts, following, strict=True)]
