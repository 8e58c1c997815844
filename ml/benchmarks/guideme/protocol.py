"""How GuideMe asks an assistant: instants of a grid, a window of video, and a dialogue history that ends before now. Scores nothing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from string import Template

from ml.benchmarks.assistants import prompts
from ml.benchmarks.assistants.interface import FramesProvider, LookAheadError
from ml.benchmarks.assistants.turn_based import Answers, ModelCallError, spread
from ml.benchmarks.families import History
from ml.benchmarks.guideme.conversations import GuideMeItem, as_video
from ml.benchmarks.guideme.options import SilenceRule
from ml.benchmarks.guideme.scores import GuidanceVideo
from ml.benchmarks.guideme.timeline import SameSecond, is_silence
from ml.llm.requests import Request
from ml.video.jpeg import encode_jpeg
from ml.vocabulary import Status


@dataclass(frozen=True)
class DenseOptions:
    """The window is the same for every history. ``fps`` and ``max_images`` bound the pictures of one question."""

    window_s: float = 60.0
    interval_s: float = 1.0
    history: History = History.TRUE
    fps: float = 1.0
    max_images: int = 60


@dataclass(frozen=True)
class Said:
    """One turn of the dialogue so far."""

    t_s: float
    speaker: str
    text: str


@dataclass(frozen=True)
class Moment:
    """What an assistant gets at one instant."""

    now_s: float
    goal: str
    knowledge: str
    window_s: float
    images: tuple[bytes, ...]
    dialogue: tuple[Said, ...]


Answer = Callable[[Moment], str | None]
"""What is said at a moment: "Silent" or an utterance; None where it failed."""


def check_dialogue(dialogue: Sequence[Said], now_s: float) -> None:
    """Raise ``LookAheadError`` when the dialogue holds a turn that is not before now: the reference of this instant or a later one."""
    for turn in dialogue:
        if turn.speaker == "assistant" and turn.t_s >= now_s - 1e-9:
            raise LookAheadError(f"at {now_s:g} s the dialogue holds what is said at {turn.t_s:g} s: {turn.text!r}")
        if turn.t_s > now_s + 1e-9:
            raise LookAheadError(f"at {now_s:g} s the dialogue holds a turn of {turn.t_s:g} s")


def dialogue_before(item: GuideMeItem, own: Sequence[Said], now_s: float, history: History) -> tuple[Said, ...]:
    """User turns up to now and the assistant's turns before now, by ``history``; own silence is left out."""
    asked = [Said(t.t_s, t.speaker, t.text) for t in item.turns if t.speaker == "user" and t.t_s <= now_s + 1e-9]
    match history:
        case History.TRUE:
            answers = [Said(t.t_s, t.speaker, t.text) for t in item.answers if t.t_s < now_s - 1e-9]
        case History.OWN:
            answers = [turn for turn in own if turn.t_s < now_s - 1e-9 and not is_silence(turn.text, SilenceRule.LENIENT)]
        case History.NONE:
            answers = []
    return tuple(sorted([*asked, *answers], key=lambda turn: (turn.t_s, turn.speaker)))


def run_guideme(
    answer: Answer, item: GuideMeItem, ticks_s: Sequence[float], frames: FramesProvider, options: DenseOptions
) -> GuidanceVideo:
    """Ask ``answer`` at every tick in time order, with the frames of the window up to it. A failed instant is kept as missing.

    Frames are read once, forward; those that leave the window are dropped. Raises ``LookAheadError``.
    """
    held: list[tuple[float, bytes]] = []
    chunks = iter(frames(item.video_id, max(0.0, ticks_s[0] - options.window_s) if ticks_s else 0.0, ticks_s[-1] if ticks_s else 0.0))
    pending: list[tuple[float, bytes]] = []
    last_s = float("-inf")
    own: list[Said] = []
    said: dict[float, str | None] = {}
    for now_s in ticks_s:
        while not pending or pending[-1][0] <= now_s + 1e-9:
            chunk = next(chunks, None)
            if chunk is None:
                break
            for frame, t in zip(*chunk, strict=True):
                if float(t) - last_s >= 1 / options.fps - 1e-6:
                    last_s = float(t)
                    pending.append((float(t), encode_jpeg(frame) if frame.size else b""))
        held += [entry for entry in pending if entry[0] <= now_s + 1e-9]
        pending = [entry for entry in pending if entry[0] > now_s + 1e-9]
        held = [entry for entry in held if entry[0] > now_s - options.window_s + 1e-9]
        dialogue = dialogue_before(item, own, now_s, options.history)
        check_dialogue(dialogue, now_s)
        images = tuple(held[index][1] for index in spread(len(held), options.max_images))
        text = answer(Moment(now_s, item.goal, item.knowledge, options.window_s, images, dialogue))
        said[now_s] = text
        if text is not None:
            own.append(Said(now_s, "assistant", text))
    rule = SameSecond.JOINED if options.history is History.OWN else SameSecond.LAST
    return as_video(item, ticks_s, said, options.interval_s, rule)


@dataclass(frozen=True)
class PerSecondAssistant:
    """Asks a vision model for the word Silent or an utterance, given the window and the dialogue so far."""

    client: Answers
    max_tokens: int = 128

    def __call__(self, moment: Moment) -> str | None:
        dialogue = [f"[{turn.t_s:g} s] {turn.speaker}: {turn.text}" for turn in moment.dialogue]
        inputs: dict[str, object] = {
            "goal": moment.goal,
            "knowledge": moment.knowledge,
            "window_s": f"{moment.window_s:g}",
            "now_s": f"{moment.now_s:g}",
            "dialogue": "\n".join(dialogue) or "nothing",
        }
        prompt = Template(prompts.PER_SECOND).safe_substitute(inputs)
        request = Request(f"guide@{moment.now_s:g}", "guide", inputs, "", prompt, moment.images, max_tokens=self.max_tokens)
        reply = self.client.run([request])[0]
        if reply.status is Status.OVER_BUDGET:
            raise ModelCallError(f"the budget is spent at {moment.now_s:g} s: {reply.reason}")
        return reply.text.strip() if reply.status is Status.OK and reply.text is not None else None
