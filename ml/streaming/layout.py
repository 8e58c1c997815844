"""How a stream becomes a token sequence: chat turns, time strings, frame blocks, replies, and 3-D positions.

One layout for every Qwen3-VL / Qwen3.5 checkpoint, the embedded one included. A stream is

    <|im_start|>user\\n{request}<|im_end|>\\n<|im_start|>assistant\\n
    <0.2 seconds><|vision_start|><|video_pad|>*n<|vision_end|>  [reply<|im_end|>]
    <1.2 seconds><|vision_start|><|video_pad|>*n<|vision_end|>  [reply<|im_end|>]  ...

so there is exactly one ``<|vision_end|>`` per streamed block, and what follows it is either the next block (silence) or a reply.
Time strings follow transformers' Qwen3-VL processor: mean time of the block's frames, one decimal, here counted from the start of the
stream. Positions are explicit (M-RoPE: temporal, row, column), because the ones the library infers from a cache go stale.
Nothing here knows a model's weights.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from ml.errors import InputError
from ml.vocabulary import MessageKind

Tokenizer = Any  # a transformers tokenizer; the library ships no usable type for "any fast tokenizer"
Encode = Callable[[str], list[int]]

SPECIAL_TOKENS = {
    "turn_start": "<|im_start|>",
    "turn_end": "<|im_end|>",
    "vision_start": "<|vision_start|>",
    "vision_end": "<|vision_end|>",
    "video_pad": "<|video_pad|>",
}
REPLY_PREFIX = {MessageKind.FEEDBACK: "Feedback:", MessageKind.SUCCESS: "Success:"}
INSTRUCTION_REQUEST = "{strategy} Instruction: {instruction}"
NARRATION_REQUEST = "Describe what the person does."
STRATEGY_AT_ONCE = "Speak at once."
STRATEGY_AFTERWARDS = "Speak afterwards."


@dataclass(frozen=True)
class LayoutTokens:
    """Token ids that the layout needs, resolved once for a tokenizer."""

    turn_start: int
    turn_end: int
    vision_start: int
    vision_end: int
    video_pad: int
    feedback: int
    success: int
    pad: int


def resolve_tokens(tokenizer: Tokenizer) -> LayoutTokens:
    """Ids of the layout's tokens. Raises InputError where one is missing, is split, or the two reply kinds begin alike."""
    ids = {}
    for name, text in SPECIAL_TOKENS.items():
        encoded = tokenizer.encode(text, add_special_tokens=False)
        if len(encoded) != 1 or tokenizer.decode(encoded) != text:
            raise InputError(f"{text} is not one token of this tokenizer", remedy="Use a Qwen3-VL or Qwen3.5 tokenizer")
        ids[name] = encoded[0]
    kinds = {kind: tokenizer.encode(prefix, add_special_tokens=False)[0] for kind, prefix in REPLY_PREFIX.items()}
    if kinds[MessageKind.FEEDBACK] == kinds[MessageKind.SUCCESS]:
        raise InputError("feedback and success replies begin with the same token", remedy="Use a tokenizer that tells them apart")
    pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else ids["turn_end"]
    return LayoutTokens(**ids, feedback=kinds[MessageKind.FEEDBACK], success=kinds[MessageKind.SUCCESS], pad=pad)


def plain_encoder(tokenizer: Tokenizer) -> Encode:
    """Text to token ids. A special token spelt out in a text stays text, so no instruction can open a turn or fake a frame."""

    @lru_cache(maxsize=20_000)
    def encode(text: str) -> tuple[int, ...]:
        return tuple(tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True))

    return lambda text: list(encode(text))


def time_string(frame_times_s: Sequence[float], stream_start_s: float) -> str:
    """``<12.0 seconds>``: mean of the block's frame times, counted from ``stream_start_s``."""
    mean_s = (frame_times_s[0] + frame_times_s[-1]) / 2 - stream_start_s
    return f"<{max(0.0, mean_s):.1f} seconds>"


def reply_text(kind: MessageKind, text: str) -> str:
    """The reply as the model writes it: ``Feedback: {text}`` or ``Success: {text}``."""
    return f"{REPLY_PREFIX[kind]} {text.strip()}"


def parse_reply(reply: str) -> str:
    """The message text of a generated reply, without its prefix."""
    for prefix in REPLY_PREFIX.values():
        if reply.startswith(prefix):
            return reply[len(prefix) :].strip()
    return reply.strip()


def instruction_request(instruction: str, strategy: str = STRATEGY_AT_ONCE) -> str:
    return INSTRUCTION_REQUEST.format(strategy=strategy, instruction=instruction.strip())


class Sequence3D:
    """A token sequence under construction with its positions and the places of its blocks.

    ``ids`` token ids; ``positions`` (temporal, row, column) per token; ``block_ends`` index of each block's ``<|vision_end|>``;
    ``blocks`` the caller's number of each block, for looking up its features.
    """

    def __init__(self, encode: Encode, tokens: LayoutTokens, rows: int, columns: int) -> None:
        self.encode, self._tokens, self._rows, self._columns = encode, tokens, rows, columns
        self.ids: list[int] = []
        self.positions: list[tuple[int, int, int]] = []
        self.block_ends: list[int] = []
        self.blocks: list[int] = []
        self._next = 0

    def __len__(self) -> int:
        return len(self.ids)

    def add_tokens(self, ids: Sequence[int]) -> range:
        """Append text tokens; returns the range of their indices."""
        start = len(self.ids)
        for token in ids:
            self.ids.append(token)
            self.positions.append((self._next,) * 3)
            self._next += 1
        return range(start, len(self.ids))

    def add_request(self, request: str) -> None:
        """A user turn with ``request``, then the head of the assistant's turn. Closes an open assistant turn first."""
        tokens, newline = self._tokens, self.encode("\n")
        if self.ids:
            self.add_tokens([tokens.turn_end, *newline])
        self.add_tokens([tokens.turn_start, *self.encode("user\n"), *self.encode(request), tokens.turn_end, *newline])
        self.add_tokens([tokens.turn_start, *self.encode("assistant\n")])

    def open_user_turn(self) -> None:
        self.add_tokens([self._tokens.turn_start, *self.encode("user\n")])

    def ask(self, request: str) -> None:
        """End a user turn that already holds video with ``request`` and open the assistant's turn."""
        tokens = self._tokens
        self.add_tokens([*self.encode(request), tokens.turn_end, *self.encode("\n"), tokens.turn_start, *self.encode("assistant\n")])

    def add_block(self, block: int, time: str) -> None:
        """One frame block with its time string. ``block`` is the caller's number for its features."""
        tokens = self._tokens
        self.add_tokens([*self.encode(time), tokens.vision_start])
        for row in range(self._rows):
            for column in range(self._columns):
                self.ids.append(tokens.video_pad)
                self.positions.append((self._next, self._next + row, self._next + column))
        self._next += max(self._rows, self._columns)
        self.add_tokens([tokens.vision_end])
        self.block_ends.append(len(self.ids) - 1)
        self.blocks.append(block)

    def add_reply(self, reply: str) -> range:
        """A reply and its end token; returns the range of its indices."""
        return self.add_tokens([*self.encode(reply), self._tokens.turn_end])
