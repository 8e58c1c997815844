"""The streaming assistant: cached, one block of frames at a time, speaking by itself. It never holds a later frame.

``messages_for_steps`` in ``batch_runtime`` gives the same messages for many streams at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ml.errors import InputError
from ml.streaming.head import Decision, SpeakHead
from ml.streaming.layout import STRATEGY_AT_ONCE, Sequence3D, instruction_request, parse_reply, time_string
from ml.streaming.model import StreamingModel
from ml.streaming.settings import DEFAULT_RUNTIME, RuntimeSettings, Thresholds
from ml.streaming.streams import StreamVoice, Utterance
from ml.vocabulary import MessageKind


@dataclass
class SpeakingModel:
    """A tuned model with its head and thresholds: everything an assistant is made of. Many assistants may share one."""

    model: StreamingModel
    head: SpeakHead
    thresholds: Thresholds
    settings: RuntimeSettings = DEFAULT_RUNTIME

    @torch.no_grad()
    def probabilities(self, states: torch.Tensor) -> tuple[list[float], list[float]]:
        """p(speak) and p(feedback | speak) at hidden states [n, H]."""
        pair = torch.tensor([self.model.tokens.feedback, self.model.tokens.success], device=states.device)
        logits = self.model.lm_head(states).float()[:, pair]
        return torch.sigmoid(self.head(states)).tolist(), torch.softmax(logits, dim=-1)[:, 0].tolist()

    def first_token(self, kind: MessageKind) -> int:
        return self.model.tokens.feedback if kind is MessageKind.FEEDBACK else self.model.tokens.success

    def instruction_sequence(self, instruction: str) -> Sequence3D:
        sequence = self.model.sequence()
        sequence.add_request(instruction_request(instruction, STRATEGY_AT_ONCE))
        return sequence


class StreamingAssistant:
    """One stream at a time over a shared ``SpeakingModel``. Not for two threads at once.

    ``suppressed`` counts messages left unsaid because the same text was said shortly before.
    """

    def __init__(self, speaker: SpeakingModel) -> None:
        self._speaker = speaker
        self._sequence: Sequence3D | None = None
        self._cache: Any = None
        self._fed = 0
        self._voice = StreamVoice(speaker.thresholds, speaker.settings)
        self._held_frames: list[np.ndarray] = []
        self._held_times: list[float] = []
        self._origin_s: float | None = None
        self._last_s = float("-inf")
        self._suppressed_before = 0

    @property
    def suppressed(self) -> int:
        return self._suppressed_before + self._voice.suppressed

    def start(self, instruction: str, start_s: float) -> None:
        """Forget the stream before and begin a new one at ``start_s`` with its instruction."""
        self._suppressed_before = 0
        self._voice = StreamVoice(self._speaker.thresholds, self._speaker.settings)
        self._last_s = start_s - 1e-6
        self._begin(instruction)

    def give_instruction(self, text: str, t_s: float) -> None:
        """The next instruction, at ``t_s`` of the same recording. Frames before ``t_s`` are refused from then on."""
        if self._sequence is None:
            raise InputError("no stream has been started", remedy="Call start first")
        self._suppressed_before += self._voice.suppressed
        self._voice = StreamVoice(self._speaker.thresholds, self._speaker.settings)
        self._last_s = max(self._last_s, t_s - 1e-6)
        if self._speaker.settings.keep_context:
            self._sequence.add_request(instruction_request(text, STRATEGY_AT_ONCE))
        else:
            self._begin(text)

    def observe(self, frames: np.ndarray, times_s: Sequence[float] | np.ndarray) -> list[Utterance]:
        """Further frames uint8 [k, H, W, 3] with their times; what is said about them, stamped with the last frame seen by then.

        Frames wait until a block of ``frames_per_block`` is complete. Raises InputError for times that go back.
        """
        if self._sequence is None:
            raise InputError("no stream has been started", remedy="Call start first")
        if len(frames) != len(times_s):
            raise InputError(f"{len(frames)} frames but {len(times_s)} times", field="times_s")
        said: list[Utterance] = []
        for frame, t_s in zip(frames, times_s, strict=True):
            if t_s < self._last_s - 1e-6:
                raise InputError(f"frame at {t_s} s after one at {self._last_s} s", field="times_s", remedy="Give frames in time order")
            self._last_s = float(t_s)
            if self._voice.finished:
                continue
            self._held_frames.append(frame)
            self._held_times.append(float(t_s))
            if len(self._held_frames) == self._speaker.model.frames_per_block:
                utterance = self._observe_block(np.stack(self._held_frames), self._held_times)
                self._held_frames, self._held_times = [], []
                if utterance is not None:
                    said.append(utterance)
        return said

    def observe_features(self, features: torch.Tensor, times_s: Sequence[float]) -> Utterance | None:
        """One block whose features [tokens, width] are at hand already; ``times_s`` of its frames."""
        if self._sequence is None:
            raise InputError("no stream has been started", remedy="Call start first")
        self._last_s = times_s[-1]
        return None if self._voice.finished else self._step(features.unsqueeze(0), times_s)

    def _begin(self, instruction: str) -> None:
        self._sequence = self._speaker.instruction_sequence(instruction)
        self._cache, self._fed, self._origin_s = self._speaker.model.new_cache(), 0, None
        self._held_frames, self._held_times = [], []

    def _observe_block(self, frames: np.ndarray, times_s: Sequence[float]) -> Utterance | None:
        return self._step(self._speaker.model.encode_video(frames), times_s)

    @torch.no_grad()
    def _step(self, features: torch.Tensor, times_s: Sequence[float]) -> Utterance | None:
        assert self._sequence is not None
        if self._origin_s is None:
            self._origin_s = times_s[0]
        self._sequence.add_block(len(self._sequence.blocks), time_string(times_s, self._origin_s))
        state = self._feed(features)
        speak, feedback = self._speaker.probabilities(state.unsqueeze(0))
        decision = self._voice.consider(times_s[-1], speak[0], feedback[0])
        if decision is None:
            return None
        return self._voice.say(times_s[-1], decision, self._write(decision))

    def _write(self, decision: Decision) -> str:
        """Generate the reply, its first token given by the decision; it stays in the stream."""
        assert self._sequence is not None
        speaker, tokens = self._speaker, self._speaker.model.tokens
        written = [speaker.first_token(decision.kind)]
        while len(written) < speaker.settings.max_reply_tokens:
            self._sequence.add_tokens(written[-1:])
            following = int(speaker.model.lm_head(self._feed(None)).argmax())
            if following == tokens.turn_end:
                break
            written.append(following)
        else:
            self._sequence.add_tokens(written[-1:])
        self._sequence.add_tokens([tokens.turn_end])
        return parse_reply(speaker.model.decode(written))

    def _feed(self, features: torch.Tensor | None) -> torch.Tensor:
        """Feed the tokens not fed yet; the hidden state [H] of the last one."""
        assert self._sequence is not None
        ids = self._sequence.ids[self._fed :]
        positions = torch.tensor(self._sequence.positions[self._fed :]).T.unsqueeze(1)
        self._fed = len(self._sequence)
        return self._speaker.model.continue_cached(self._cache, [ids], positions, features)[0, -1]


def load_speaker(base: StreamingModel, folder: Path, settings: RuntimeSettings = DEFAULT_RUNTIME) -> SpeakingModel:
    """Adapter, head and thresholds of a checkpoint folder on ``base`` (which is changed in place).

    Raises ``InputError`` for a folder that a kill left half-written, whose files were changed, or that fits another base.
    """
    from ml.streaming.adapter import read_adapter
    from ml.streaming.checkpoint_files import check_seal
    from ml.streaming.thresholds import read_thresholds

    check_seal(folder)
    model, head = read_adapter(base, folder)
    return SpeakingModel(model, head, read_thresholds(folder), settings)
