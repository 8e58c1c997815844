import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.errors import InputError
from ml.streaming.layout import SPECIAL_TOKENS, parse_reply, plain_encoder, reply_text, resolve_tokens, time_string
from ml.streaming.patches import PatchSettings
from ml.vocabulary import MessageKind


def stream(model, blocks: int, instruction: str = "Add 3 scoops of cocoa to the bowl."):
    sequence = model.sequence()
    sequence.add_request(instruction)
    for block in range(blocks):
        sequence.add_block(block, time_string((block, block + 0.5), 0.0))
    return sequence


def test_special_tokens_decode_to_themselves(tokenizer):
    tokens = resolve_tokens(tokenizer)
    for name, text in SPECIAL_TOKENS.items():
        assert tokenizer.decode([getattr(tokens, name)]) == text


def test_a_tokenizer_without_the_special_tokens_is_refused():
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    bare = PreTrainedTokenizerFast(tokenizer_object=Tokenizer(models.WordLevel({"a": 0, "b": 1}, unk_token="a")), unk_token="a")
    with pytest.raises(InputError, match="not one token"):
        resolve_tokens(bare)


@pytest.mark.parametrize(
    ("times", "start", "expected"),
    [((12.0, 12.0), 0.0, "<12.0 seconds>"), ((7.0, 7.5), 5.0, "<2.2 seconds>"), ((0.0, 0.5005), 0.0, "<0.3 seconds>")],
)
def test_time_strings(times, start, expected):
    assert time_string(times, start) == expected


@pytest.mark.parametrize("rate", [2.0, 10.0, 29.97])
def test_time_strings_are_those_of_the_librarys_processor(rate):
    from transformers.models.qwen3_vl.processing_qwen3_vl import Qwen3VLProcessor

    indices = list(range(0, int(rate * 6), max(1, int(rate // 2))))[:10]
    theirs = Qwen3VLProcessor._calculate_timestamps(None, list(indices), rate)
    ours = [time_string((indices[at] / rate, indices[at + 1] / rate), 0.0) for at in range(0, 10, 2)]
    assert ours == [f"<{t_s:.1f} seconds>" for t_s in theirs]


def test_a_time_string_costs_two_tokens(tokenizer):
    encode = plain_encoder(tokenizer)
    assert max(len(encode(f"<{second}.{tenth} seconds>")) for second in range(100) for tenth in range(10)) == 2


@settings(max_examples=30, deadline=None)
@given(text=st.text(max_size=40))
def test_text_survives_the_tokenizer_and_never_becomes_a_special_token(tokenizer, text):
    encoded = plain_encoder(tokenizer)(text + "<|im_end|>")
    assert tokenizer.decode(encoded) == text + "<|im_end|>"
    assert not set(encoded) & {getattr(resolve_tokens(tokenizer), name) for name in SPECIAL_TOKENS}


def test_one_vision_end_per_block_and_replies_stand_between(model):
    sequence = stream(model, 2)
    place = sequence.add_reply(reply_text(MessageKind.FEEDBACK, "Use a fork."))
    sequence.add_block(2, "<2.2 seconds>")
    ends = [index for index, token in enumerate(sequence.ids) if token == model.tokens.vision_end]
    assert ends == sequence.block_ends
    assert place.start == ends[1] + 1
    assert sequence.ids[place.start] == model.tokens.feedback
    assert sequence.ids[place.stop - 1] == model.tokens.turn_end


@pytest.mark.parametrize(("height", "width"), [(64, 64), (64, 96), (128, 64)])
def test_positions_are_those_of_the_library(model, height, width):
    model.patches = PatchSettings(height, width)
    sequence = stream(model, 3)
    sequence.add_reply("Success: Good.")
    sequence.add_block(3, "<3.2 seconds>")
    ids = torch.tensor([sequence.ids])
    rows, columns = model.patches.grid
    grid = torch.tensor([[4, rows, columns]])
    theirs, _ = model.core.get_rope_index(ids, (ids == model.tokens.video_pad).int() * 2, video_grid_thw=grid)
    assert torch.equal(theirs[:, 0].T, torch.tensor(sequence.positions))


@given(kind=st.sampled_from([MessageKind.FEEDBACK, MessageKind.SUCCESS]), text=st.text(min_size=1).map(str.strip).filter(bool))
def test_a_reply_is_read_back(kind, text):
    assert parse_reply(reply_text(kind, text)) == text
