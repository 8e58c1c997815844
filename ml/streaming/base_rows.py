"""What the embedded base model is trained on: rows made from the sample kitchen's truth. No model and no training loop.

Three kinds of row:
* narration: ten seconds of video, then what the person does (with a label of what happens in each second for the auxiliary loss);
* comparison: an instruction, the step's video so far, and now and then a narrator's remark on how the two relate: "So far: ...",
  "As asked: ...", "Not as asked: ...". They teach the model to hold an instruction against a picture. They are no speak/silent
  targets: the remark comes at random seconds, not when something becomes apparent, and its words are not those of a reply;
* text: an instruction, a narration in words, and the same remark or the reply that an assistant would give.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

from ml.sample_kitchen.script import Recording, Step
from ml.sample_kitchen.truth import FRAME_GAP_S, counterfactuals, window_narration
from ml.sample_kitchen.wording import WAITS, feedback_text, instruction_text, success_text
from ml.sample_kitchen.world import Instruction, Kind
from ml.streaming.layout import (
    NARRATION_REQUEST,
    REPLY_PREFIX,
    STRATEGY_AFTERWARDS,
    STRATEGY_AT_ONCE,
    instruction_request,
    reply_text,
)
from ml.vocabulary import MessageKind

WINDOW_S = 10
MAX_COMPARISON_BLOCKS = 18
REMARK_SHARE = 0.3
REMARK_IN_WORDS_SHARE = 0.4
OFFSET_SHARE = 0.3
SHORT_SHARE = 0.2  # a recording's last window is shorter than the others
MAX_OFFSET_S = 100
COUNTED = (Kind.SCOOP, Kind.PLACE)
TEXT_REQUEST = "Instruction: {instruction} Narration: {narration}"
SO_FAR, AS_ASKED, NOT_AS_ASKED = "So far", "As asked", "Not as asked"


@dataclass(frozen=True)
class BaseRow:
    """One sequence. ``replies``: (block after which it stands, text); block -1 means after the closing request ``ask``.

    ``first_second`` and ``blocks`` say which seconds of the recording are shown; ``offset_s`` is added to the time strings.
    """

    recording: int
    first_second: int
    blocks: int
    request: str | None
    ask: str | None
    replies: tuple[tuple[int, str], ...]
    offset_s: float = 0.0


def narration_row(recordings: list[Recording], rng: random.Random) -> BaseRow:
    """A random window of a random recording."""
    index = rng.randrange(len(recordings))
    blocks = rng.randrange(5, WINDOW_S) if rng.random() < SHORT_SHARE else WINDOW_S
    start = rng.randrange(max(1, int(recordings[index].duration_s) - blocks))
    text = window_narration(recordings[index], start, start + blocks).text
    offset = round(rng.uniform(0, MAX_OFFSET_S), 1) if rng.random() < OFFSET_SHARE else 0.0
    return BaseRow(index, start, blocks, None, NARRATION_REQUEST, ((-1, text),), offset)


def comparison_rows(recordings: list[Recording], rng: random.Random, counted_share: float = 0.0) -> list[BaseRow]:
    """The same seconds of one step twice: with the instruction that was followed, and with one that was not.

    ``counted_share`` of the pairs show a step whose instruction asks for a number of things.
    """
    must_count = counted_share > 0 and rng.random() < counted_share
    while True:
        index = rng.randrange(len(recordings))
        step = rng.choice(recordings[index].steps)
        if must_count and step.instruction.kind not in COUNTED:
            continue
        first = int(step.start_s)
        available = min(int(recordings[index].duration_s), int(step.end_s) + 2) - first
        if available >= 4:
            break
    blocks = min(available, MAX_COMPARISON_BLOCKS)
    other = rng.choice(counterfactuals(step))
    marks = [block for block in range(blocks) if rng.random() < REMARK_SHARE or block == blocks - 1]
    offset = round(rng.random(), 1) if rng.random() < OFFSET_SHARE else 0.0
    rows = []
    for asked, apparent_s in ((step.instruction, step.success_s), (other.instruction, other.apparent_s)):
        assert apparent_s is not None
        agrees = asked == step.instruction
        replies = tuple(
            (block, remark(recordings[index], first, first + block + 0.5, apparent_s, agrees, whole=block == blocks - 1)) for block in marks
        )
        request = instruction_request(instruction_text(asked), rng.choice((STRATEGY_AT_ONCE, STRATEGY_AFTERWARDS)))
        rows.append(BaseRow(index, first, blocks, request, None, replies, offset))
    return rows


def remark(recording: Recording, first_s: float, seen_s: float, apparent_s: float, agrees: bool, whole: bool) -> str:
    """A narrator's remark at ``seen_s`` on how the seconds since ``first_s`` relate to the instruction, with a sentence if ``whole``."""
    standing = SO_FAR if seen_s < apparent_s else AS_ASKED if agrees else NOT_AS_ASKED
    return f"{standing}: {last_sentence(recording, first_s, seen_s)}" if whole else f"{standing}."


def last_sentence(recording: Recording, first_s: float, seen_s: float) -> str:
    end_s = seen_s + FRAME_GAP_S  # the window whose last frame is at seen_s
    text = window_narration(recording, max(first_s, end_s - WINDOW_S), end_s).text
    return text.split(". ")[-1].rstrip(".") + "." if text else WAITS


def text_row(recordings: list[Recording], rng: random.Random) -> BaseRow:
    """Words only: instruction and narration, then the remark or an assistant's reply."""
    recording = rng.choice(recordings)
    step = rng.choice(recording.steps)
    done, narration = step.instruction, narration_of(recording, step)
    asked = rng.choice(counterfactuals(step)).instruction if rng.random() < 0.5 else done
    request = TEXT_REQUEST.format(instruction=instruction_text(asked), narration=narration)
    standing = f"{AS_ASKED if asked == done else NOT_AS_ASKED}: {narration}"
    reply = standing if rng.random() < REMARK_IN_WORDS_SHARE else assistant_reply(asked, done)
    return BaseRow(-1, 0, 0, request, None, ((-1, reply),))


def narration_of(recording: Recording, step: Step) -> str:
    """One sentence for the whole step: its main action."""
    main = window_narration(recording, step.start_s, step.end_s).main
    return main.text if main else WAITS


def assistant_reply(asked: Instruction, done: Instruction) -> str:
    """What an assistant says at the end of a step in which ``done`` was performed although ``asked`` was the instruction."""
    if asked == done:
        return reply_text(MessageKind.SUCCESS, success_text(asked))
    return reply_text(MessageKind.FEEDBACK, feedback_text(asked, done))


def fixed_phrases() -> list[str]:
    """Phrases of the layout and the rows that occur in every sequence and should cost few tokens."""
    standings = [text for standing in (SO_FAR, AS_ASKED, NOT_AS_ASKED) for text in (f"{standing}: {WAITS}", f"{standing}.")]
    requests = [instruction_request("", strategy) for strategy in (STRATEGY_AT_ONCE, STRATEGY_AFTERWARDS)]
    return [NARRATION_REQUEST, TEXT_REQUEST, *REPLY_PREFIX.values(), *standings, *requests]


def vocabulary_sentences(recordings: list[Recording]) -> Iterator[str]:
    """Every sentence that rows of these recordings can hold, for training the tokenizer."""
    for recording in recordings:
        for start in range(0, int(recording.duration_s), WINDOW_S // 2):
            yield window_narration(recording, start, start + WINDOW_S).text
        for step in recording.steps:
            for asked in (step.instruction, *(other.instruction for other in counterfactuals(step))):
                yield instruction_text(asked)
                yield assistant_reply(asked, step.instruction)
