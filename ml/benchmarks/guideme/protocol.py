"""How GuideMe asks an assistant: instants of a grid, a window of video, and a dialogue history that ends before now. Scores nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import polars as pl

from ml.benchmarks.assistants.interface import Answered, FramesProvider, LookAheadError
from ml.benchmarks.assistants.past import PastFrames
from ml.benchmarks.assistants.per_second import Answer, AnswerFactory, Moment, Said
from ml.benchmarks.assistants.turn_based import spread
from ml.benchmarks.families import GuideMeVariant, History, parse_protocol
from ml.benchmarks.guideme.conversations import GuideMeItem
from ml.benchmarks.guideme.grids import grid_of
from ml.benchmarks.guideme.options import SilenceRule
from ml.benchmarks.guideme.timeline import is_silence
from ml.benchmarks.running import STOPS_THE_RUN, Progress, Row, RunJournal, run_units
from ml.errors import InputError
from ml.tables.declarations.results import GUIDANCE_PREDICTIONS
from ml.video.jpeg import encode_jpeg
from ml.vocabulary import Status


@dataclass(frozen=True)
class WindowPictures:
    """``fps`` and ``max_images`` bound the pictures of one question; the window's length is the protocol's."""

    fps: float = 1.0
    max_images: int = 60


TELLING_WORDS = 3  # a shorter reference ("Good job.") stands in texts by chance


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
    answer: Answer,
    item: GuideMeItem,
    ticks_s: Sequence[float],
    frames: FramesProvider,
    variant: GuideMeVariant,
    pictures: WindowPictures = WindowPictures(),
) -> list[tuple[float, Answered]]:
    """What is answered at every tick, asked in time order with the frames of the window up to it.

    Frames are read once, forward; those that leave the window are dropped. Raises ``LookAheadError``.
    """
    if not ticks_s:
        return []
    window = _Window(frames, item.video_id, max(0.0, ticks_s[0] - variant.window_s), ticks_s[-1], pictures.fps)
    references = [(turn.t_s, turn.text) for turn in item.answers if len(turn.text.split()) >= TELLING_WORDS]
    past = PastFrames(frames, item.video_id, 0.0, lambda: window.now_s, references)
    if hasattr(answer, "attach"):
        answer.attach(past)
    own: list[Said] = []
    said: list[tuple[float, Answered]] = []
    for now_s in ticks_s:
        shown = window.at(now_s, variant.window_s)
        dialogue = dialogue_before(item, own, now_s, variant.history)
        check_dialogue(dialogue, now_s)
        knowledge = item.knowledge if variant.shows_knowledge else ""
        check_text = partial(_check_text, past, (knowledge, *(turn.text for turn in dialogue)))
        chosen = [shown[index] for index in spread(len(shown), pictures.max_images)]
        images, times_s = tuple(image for _, image in chosen), tuple(t for t, _ in chosen)
        moment = Moment(now_s, knowledge, variant.window_s, images, times_s, dialogue, check_text)
        found = answer(moment)
        said.append((now_s, found))
        if found.text is not None:
            own.append(Said(now_s, "assistant", found.text))
    return said


def _check_text(past: PastFrames, known: Sequence[str], text: str) -> None:
    """Raise ``LookAheadError`` where a text holds a later reference beside what the assistant may know at this instant."""
    for one in sorted((one for one in known if len(one.split()) >= TELLING_WORDS), key=len, reverse=True):
        text = text.replace(one, " ")
    past.check_text(text)


class _Window:
    """Frames of one video, read forward: those up to now, no older than the window."""

    def __init__(self, frames: FramesProvider, recording_id: str, start_s: float, end_s: float, fps: float) -> None:
        self._frames = self._thinned(frames, recording_id, start_s, end_s, fps)
        self._held: list[tuple[float, bytes]] = []
        self._next: tuple[float, bytes] | None = None
        self.now_s = start_s

    def at(self, now_s: float, window_s: float) -> list[tuple[float, bytes]]:
        """(time, JPEG) of the frames in (now - window, now]."""
        self.now_s = now_s
        while True:
            self._next = self._next or next(self._frames, None)
            if self._next is None or self._next[0] > now_s + 1e-9:
                break
            self._held.append(self._next)
            self._next = None
        self._held = [entry for entry in self._held if entry[0] > now_s - window_s + 1e-9]
        return self._held

    @staticmethod
    def _thinned(frames: FramesProvider, recording_id: str, start_s: float, end_s: float, fps: float) -> Iterator[tuple[float, bytes]]:
        last_s = float("-inf")
        for chunk, times_s in frames(recording_id, start_s, end_s):
            for frame, t in zip(chunk, times_s, strict=True):
                if float(t) > end_s + 1e-6:
                    raise LookAheadError(f"{recording_id}: a frame at {float(t):.3f} s is past the last instant at {end_s:.3f} s")
                if float(t) - last_s >= 1 / fps - 1e-6:
                    last_s = float(t)
                    yield last_s, encode_jpeg(frame) if frame.size else b""


def predict_guideme(
    factory: AnswerFactory,
    items: Sequence[GuideMeItem],
    frames: FramesProvider,
    *,
    experiment: str,
    protocol: str,
    pictures: WindowPictures = WindowPictures(),
    workers: int = 1,
    journal: RunJournal | None = None,
    progress: Progress | None = None,
) -> pl.DataFrame:
    """``guidance_predictions`` of an assistant on every video, ``workers`` videos at a time; those in ``journal`` are not run again.

    A failed answer is a row with its status; a video that cannot be read gives a failed row per instant. Raises ``LookAheadError``, and
    ``AssistantUnusableError`` where no instant could be asked about.
    """
    variant = parse_protocol(protocol).guideme
    if variant is None:
        raise InputError("this is no GuideMe protocol", record=protocol, field="protocol")
    by_id = {item.video_id: item for item in items}

    def run_one(video_id: str) -> list[Row]:
        ticks = grid_of(by_id[video_id], variant)
        try:
            said = run_guideme(factory(), by_id[video_id], ticks, frames, variant, pictures)
        except STOPS_THE_RUN:
            raise
        except Exception as error:  # noqa: BLE001  one bad video must not stop the others
            status = Status.BAD_VIDEO if isinstance(error, InputError) else Status.ERROR
            said = [(tick, Answered(None, status, f"{type(error).__name__}: {error}")) for tick in ticks]
        return [{"t_s": tick, "said": found.text, "status": found.status.value, "reason": found.reason} for tick, found in said]

    made = run_units(list(by_id), run_one, workers=workers, journal=journal, progress=progress)
    rows = [
        {"experiment": experiment, "protocol": protocol, "recording_id": video_id, "instant_index": index, **row}
        for video_id, own in made.items()
        for index, row in enumerate(own)
    ]
    return GUIDANCE_PREDICTIONS.check(GUIDANCE_PREDICTIONS.rows(rows))
