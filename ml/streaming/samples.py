"""Training samples and what they become: token sequence, speak targets per block, reply targets per token. No model weights, no loop."""

from collections.abc import Sequence
from dataclasses import dataclass

from ml.errors import InputError
from ml.streaming.layout import STRATEGY_AFTERWARDS, STRATEGY_AT_ONCE, Sequence3D, instruction_request, reply_text, time_string
from ml.streaming.model import StreamingModel
from ml.streaming.settings import FEEDBACK_AFTERWARDS, INFERRED_TIMES, FineTuneSettings
from ml.vocabulary import MessageKind

BLOCK_S = 1.0


@dataclass(frozen=True)
class TrainingSample:
    """One stream: from ``start_s`` to ``end_s`` of a recording under one instruction, with what the assistant should say.

    Times are seconds on the recording's time line; ``messages``: (t_s, ``feedback`` or ``success``, text) in time order, maybe none.
    ``mistake_type`` is that of the feedback, where known.
    """

    sample_id: str
    dataset: str
    recording_id: str
    video_path: str
    start_s: float
    end_s: float
    instruction: str
    messages: tuple[tuple[float, str, str], ...]
    weight: float = 1.0
    mistake_type: str | None = None

    @property
    def clip(self) -> tuple[str, float, float]:
        """What counterfactual twins share."""
        return self.recording_id, round(self.start_s, 3), round(self.end_s, 3)


@dataclass(frozen=True)
class Refusal:
    """A sample that cannot be trained on, and why."""

    sample_id: str
    reason: str


@dataclass
class BuiltSample:
    """``speak[i]``/``weights[i]``: target and weight of the i-th block; ``replies``: (index that predicts, token, weight).

    ``kinds``: (block index, token id of the reply's first token) for every speak target.
    """

    sequence: Sequence3D
    speak: list[float]
    weights: list[float]
    replies: list[tuple[int, int, float]]
    kinds: list[tuple[int, int]]

    @property
    def trained_tokens(self) -> int:
        """Supervised blocks and reply tokens."""
        return sum(weight > 0 for weight in self.weights) + len(self.replies)


def block_range(start_s: float, end_s: float) -> range:
    """Blocks of a recording's one-second grid whose frames (at b and b + 0.5 s) lie in [start_s, end_s)."""
    first = -int(-(start_s - 1e-6) // BLOCK_S)
    last = int((end_s - BLOCK_S / 2 + 1e-6) // BLOCK_S)
    return range(first, max(first, last + 1))


def block_times(block: int) -> tuple[float, float]:
    """Presentation times of a block's two frames; the second is when a decision on it can be made."""
    return block * BLOCK_S, block * BLOCK_S + BLOCK_S / 2


def strategy_of(dataset: str) -> str:
    """How the prompt names the dataset's way of intervening (EGO-CoMist+ mixes both and says which in the prompt)."""
    return STRATEGY_AFTERWARDS if dataset in FEEDBACK_AFTERWARDS else STRATEGY_AT_ONCE


def build_sample(sample: TrainingSample, model: StreamingModel, settings: FineTuneSettings, delays: Sequence[int] = ()) -> BuiltSample:
    """Sequence and targets of a sample. ``delays[i]``: blocks between the i-th message's time and its reply (default 0).

    Raises InputError for a sample that cannot be trained on: no block, a message outside the stream, an unknown kind, empty text, or more
    than ``max_tokens`` tokens. Nothing is ever cut.
    """
    blocks = block_range(sample.start_s, sample.end_s)
    if not blocks:
        raise _refused(sample, "no whole second of video between start_s and end_s", "Give a longer stream")
    placed = _place_messages(sample, blocks, delays)
    ignored = settings.ignored_before_inferred if sample.dataset in INFERRED_TIMES else settings.ignored_before_exact
    count = placed[-1][1] + 1 if placed and placed[-1][2] is MessageKind.SUCCESS else len(blocks)
    speak, weights = [0.0] * count, [1.0] * count
    kinds: list[tuple[int, int]] = []
    for due, said, kind, _ in placed:
        margin = ignored if kind is MessageKind.FEEDBACK else settings.ignored_before_exact
        for index in range(max(0, due - margin), due):
            weights[index] = 0.0 if speak[index] == 0.0 else weights[index]
        first = model.tokens.feedback if kind is MessageKind.FEEDBACK else model.tokens.success
        for index in range(due, said + 1):
            speak[index], weights[index] = 1.0, 1.0
            kinds.append((index, first))
    sequence = model.sequence()
    sequence.add_request(instruction_request(sample.instruction, strategy_of(sample.dataset)))
    replies: list[tuple[int, int, float]] = []
    after = {said: reply_text(kind, text) for _, said, kind, text in placed}
    origin = block_times(blocks[0])[0]
    for index, block in enumerate(blocks[:count]):
        sequence.add_block(block, time_string(block_times(block), origin))
        if index in after:
            for order, place in enumerate(sequence.add_reply(after[index])):
                replies.append((place - 1, sequence.ids[place], settings.first_token_weight if order == 0 else 1.0))
    if len(sequence) > settings.max_tokens:
        raise _refused(
            sample, f"{len(sequence)} tokens are more than max_tokens {settings.max_tokens}", "Shorten the stream or raise max_tokens"
        )
    return BuiltSample(sequence, speak, weights, replies, kinds)


def check_samples(
    samples: Sequence[TrainingSample], model: StreamingModel, settings: FineTuneSettings
) -> tuple[list[TrainingSample], list[Refusal]]:
    """Samples that can be trained on, and the others with their reasons. Raises InputError when none is left."""
    kept, refused = [], []
    for sample in samples:
        try:
            built = build_sample(sample, model, settings, [settings.max_delay_blocks] * len(sample.messages))
        except InputError as error:
            refused.append(Refusal(sample.sample_id, error.problem))
            continue
        if built.trained_tokens:
            kept.append(sample)
        else:
            refused.append(Refusal(sample.sample_id, "no trained token"))
    if samples and not kept:
        raise InputError(f"none of {len(samples)} samples can be trained on; first: {refused[0].reason}", record=refused[0].sample_id)
    return kept, refused


def _place_messages(sample: TrainingSample, blocks: range, delays: Sequence[int]) -> list[tuple[int, int, MessageKind, str]]:
    """(block index when due, block index after which it is said, kind, text) in order; each block holds one reply at most."""
    placed: list[tuple[int, int, MessageKind, str]] = []
    previous = -1
    for number, (t_s, kind_name, text) in enumerate(sorted(sample.messages, key=lambda message: message[0])):
        if kind_name not in (MessageKind.FEEDBACK, MessageKind.SUCCESS):
            raise _refused(sample, f"message kind {kind_name!r} is neither feedback nor success", "Leave such messages out")
        if not text.strip():
            raise _refused(sample, "a message has no text", "Leave it out")
        due = next((index for index, block in enumerate(blocks) if block_times(block)[1] >= t_s - 1e-6), None)
        if due is None and t_s <= sample.end_s + BLOCK_S:
            due = len(blocks) - 1
        if due is None or t_s < sample.start_s - BLOCK_S:
            raise _refused(sample, f"message at {t_s} s is outside the stream", "Correct the time or the clip")
        due = max(due, previous + 1)
        if due >= len(blocks):
            raise _refused(sample, "more messages than blocks at the end of the stream", "Merge them")
        delay = delays[number] if number < len(delays) else 0
        said = min(due + delay, len(blocks) - 1)
        placed.append((due, said, MessageKind(kind_name), text))
        previous = said
    return placed


def _refused(sample: TrainingSample, problem: str, remedy: str) -> InputError:
    return InputError(problem, record=sample.sample_id, field="messages" if "message" in problem else "start_s, end_s", remedy=remedy)
