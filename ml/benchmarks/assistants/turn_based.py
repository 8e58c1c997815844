"""Assistants that ask a general model every few seconds: from pictures, or from narrations through a helper LLM. Prompts stand beside.

Source: EGO-MC-Bench section 5 and appendices D and E (regular-interval prompting; narration models with a helper LLM).
"""

from abc import ABC, abstractmethod
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import Template

import numpy as np

from ml.benchmarks.assistants import prompts
from ml.benchmarks.assistants.asking import Answers, ModelCallError, ask, listed_times
from ml.benchmarks.assistants.interface import Frames, Times, Utterance
from ml.benchmarks.assistants.past import PastFrames
from ml.benchmarks.assistants.polling import RecentFeedback, YesNo, decide, read_yes_no
from ml.benchmarks.running import AssistantUnusableError
from ml.errors import InputError
from ml.llm.requests import Request
from ml.narration.narrator import Narration
from ml.video.jpeg import encode_jpeg
from ml.vocabulary import Status

SUCCESS_TEXT = "Success: the step is done."
Narrate = Callable[[np.ndarray, Sequence[float]], Narration]
"""A window of frames [k, H, W, 3] with their times in s to its text, or to the reason why there is none. Raises as a ``Narrator`` does."""


@dataclass(frozen=True)
class TurnOptions:
    """``max_images`` frames at most go into a request, evenly taken from the last ``history_s`` seconds of the step."""

    interval_s: float = 5.0
    history_s: float = 120.0
    frame_gap_s: float = 0.5
    max_images: int = 32
    memory_s: float = 60.0
    is_detailed: bool = True
    max_tokens: int = 256
    temperature: float = 0.0


class _Polling(ABC):
    """The clock and memory of one stream. A subclass says what the model gets to see."""

    def __init__(self, client: Answers, options: TurnOptions) -> None:
        self.client, self.options = client, options
        self.outcomes: Counter[Status] = Counter()  # of every answer; unparsable and refused ones are no event
        self._instruction, self._start_s, self._due_s, self._recent = "", 0.0, 0.0, RecentFeedback(options.memory_s)
        self._past: PastFrames | None = None

    def attach(self, past: PastFrames) -> None:
        """What is known of the stream now begun: every prompt is held against it."""
        self._past = past

    def start(self, instruction: str, start_s: float) -> None:
        self._begin(instruction, start_s)
        self._forget()

    def give_instruction(self, text: str, t_s: float) -> None:
        self.start(text, t_s)

    def observe(self, frames: Frames, times_s: Times) -> list[Utterance]:
        said = []
        for frame, t in zip(frames, times_s, strict=True):
            now_s = float(t)
            self._see(frame, now_s)
            if now_s >= self._due_s - 1e-9:
                while self._due_s <= now_s + 1e-9:
                    self._due_s += self.options.interval_s
                event = decide(now_s, self._is_complete, self._is_mistaken)
                if event is not None and event[0] == "success":
                    said.append(Utterance(now_s, "success", SUCCESS_TEXT))
                    break
                if event is not None:
                    self._recent.add(now_s, event[1])
                    said.append(Utterance(now_s, "feedback", event[1]))
        return said

    def _begin(self, instruction: str, start_s: float) -> None:
        self._instruction, self._start_s, self._due_s = instruction, start_s, start_s + self.options.interval_s
        self._recent = RecentFeedback(self.options.memory_s)

    def _ask(self, task: str, template: str, inputs: dict[str, object], images: tuple[bytes, ...], now_s: float) -> YesNo:
        shown = {name: "\n".join(value) or "nothing" if isinstance(value, list) else str(value) for name, value in inputs.items()}
        prompt = Template(template).safe_substitute(shown)
        if self._past is not None:
            self._past.check_text(prompt)
        request = Request(
            f"{task}@{now_s:g}", task, inputs, "", prompt, images, max_tokens=self.options.max_tokens, temperature=self.options.temperature
        )
        reply = ask(self.client, [request])[0]
        if reply.status is Status.ERROR:
            raise ModelCallError(f"{task} at {now_s:g} s: {reply.status}: {reply.reason}")
        answer = read_yes_no(reply)
        self.outcomes[answer.status] += 1
        return answer

    @abstractmethod
    def _see(self, frame: np.ndarray, t_s: float) -> None:
        """Takes in a frame."""

    @abstractmethod
    def _forget(self) -> None:
        """A new instruction: what was seen under the one before is over."""

    @abstractmethod
    def _is_complete(self, now_s: float) -> YesNo:
        """Whether the step is done."""

    @abstractmethod
    def _is_mistaken(self, now_s: float) -> YesNo:
        """Whether there is a mistake, and what to say."""


class TurnBasedAssistant(_Polling):
    """Asks a vision model about the frames of the step so far: is it finished, and if not, is there a mistake."""

    def __init__(self, client: Answers, options: TurnOptions | None = None) -> None:
        super().__init__(client, options or TurnOptions())
        self._frames: deque[tuple[float, bytes]] = deque()

    def _forget(self) -> None:
        self._frames.clear()

    def _see(self, frame: np.ndarray, t_s: float) -> None:
        if not self._frames or t_s - self._frames[-1][0] >= self.options.frame_gap_s - 1e-9:
            self._frames.append((t_s, encode_jpeg(frame)))
        while self._frames[0][0] < t_s - self.options.history_s:
            self._frames.popleft()

    def _pictures(self) -> tuple[list[float], tuple[bytes, ...]]:
        chosen = spread(len(self._frames), self.options.max_images)
        kept = [self._frames[index] for index in chosen]
        return [t for t, _ in kept], tuple(image for _, image in kept)

    def _inputs(self, now_s: float) -> tuple[dict[str, object], tuple[bytes, ...]]:
        times_s, images = self._pictures()
        recent: list[object] = list(self._recent.at(now_s))
        times = listed_times(times_s, self._start_s)
        return {
            "instruction": self._instruction,
            "recent": recent,
            "times_s": [f"{t:g}" for t in times_s],
            "times": times,
            "now_s": now_s,
        }, images

    def _is_complete(self, now_s: float) -> YesNo:
        inputs, images = self._inputs(now_s)
        return self._ask("ego_step_complete", prompts.COMPLETION, inputs, images, now_s)

    def _is_mistaken(self, now_s: float) -> YesNo:
        inputs, images = self._inputs(now_s)
        template = prompts.MISTAKE_DETAILED if self.options.is_detailed else prompts.MISTAKE_SIMPLE
        return self._ask("ego_step_mistake", template, inputs, images, now_s)


class NarrationAssistant(_Polling):
    """Narrates what it sees every interval and asks a helper LLM about the narrations of the step so far.

    Where a window has no narration (cut, refused, empty), there is nothing new to judge: the helper is not asked, and that counts as one
    answer that could not be read. A narrator that fails, fails the unit.
    """

    def __init__(self, narrate: Narrate, client: Answers, options: TurnOptions | None = None) -> None:
        super().__init__(client, options or TurnOptions())
        self._narrate = narrate
        self._window: list[tuple[float, np.ndarray]] = []
        self._narrations: list[str] = []
        self._unread: YesNo | None = None

    def _forget(self) -> None:
        self._window, self._narrations, self._unread = [], [], None

    def _see(self, frame: np.ndarray, t_s: float) -> None:
        self._window.append((t_s, frame))

    def _is_complete(self, now_s: float) -> YesNo:
        if self._window:
            self._unread = self._note_window(now_s)
            self._window = []
        return self._unread or self._ask("narrated_step_complete", prompts.NARRATED_COMPLETION, self._inputs(), (), now_s)

    def _is_mistaken(self, now_s: float) -> YesNo:
        return self._unread or self._ask("narrated_step_mistake", prompts.NARRATED_MISTAKE, self._inputs(), (), now_s)

    def _note_window(self, now_s: float) -> YesNo | None:
        """Notes the narration of the window; where there is none, the answer that cannot be had from it."""
        times = [t for t, _ in self._window]
        told = self._told(np.stack([frame for _, frame in self._window]), times, now_s)
        is_told = told.status is Status.OK
        self._narrations.append(f"{times[0]:g} s to {times[-1]:g} s: {told.text if is_told else '(not narrated)'}")
        if is_told:
            return None
        self.outcomes[told.status] += 1
        return YesNo(None, "", told.status, told.reason)

    def _told(self, frames: np.ndarray, times_s: Sequence[float], now_s: float) -> Narration:
        try:
            told = self._narrate(frames, times_s)
        except InputError as error:
            raise AssistantUnusableError(f"narrator: {error}") from error
        match told.status:
            case Status.OVER_BUDGET:
                raise AssistantUnusableError(
                    f"the narrator's budget is spent ({told.reason}). Raise it and run again; paid replies are kept"
                )
            case Status.ERROR:
                raise ModelCallError(f"narration at {now_s:g} s: {told.status}: {told.reason}")
        return told

    def _inputs(self) -> dict[str, object]:
        return {"instruction": self._instruction, "narrations": list(self._narrations)}


def spread(available: int, wanted: int) -> list[int]:
    """At most ``wanted`` of ``available`` indices, evenly spaced, with the last one always among them."""
    if available <= wanted:
        return list(range(available))
    return sorted({round((index + 1) * available / wanted) - 1 for index in range(wanted)})
