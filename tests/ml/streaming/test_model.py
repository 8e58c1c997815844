import copy
from itertools import pairwise

import numpy as np
import pytest
import torch

from ml.errors import InputError
from ml.streaming.layout import SPECIAL_TOKENS
from ml.streaming.model import StreamingModel, load_model, wrap
from ml.streaming.patches import patchify
from tests.ml.streaming.test_layout import stream


def frames(count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (count, 64, 64, 3), dtype=np.uint8)


def qwen3_vl(tokenizer) -> StreamingModel:
    """Another family, with DeepStack features, from its config."""
    from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration

    torch.manual_seed(0)
    ids = {f"{name}_token_id": tokenizer.convert_tokens_to_ids(SPECIAL_TOKENS[name]) for name in ("vision_start", "vision_end")}
    config = Qwen3VLConfig(
        text_config={
            "vocab_size": len(tokenizer), "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 2,
            "num_key_value_heads": 1, "head_dim": 32, "rope_parameters": {"rope_type": "default", "rope_theta": 5e6,
            "mrope_section": [8, 4, 4], "mrope_interleaved": True}, "pad_token_id": tokenizer.pad_token_id,
        },
        vision_config={
            "depth": 2, "hidden_size": 32, "intermediate_size": 48, "num_heads": 2, "patch_size": 16, "spatial_merge_size": 2,
            "temporal_patch_size": 2, "out_hidden_size": 64, "num_position_embeddings": 16, "deepstack_visual_indexes": [0, 1],
        },
        image_token_id=tokenizer.convert_tokens_to_ids("<|image_pad|>"),
        video_token_id=tokenizer.convert_tokens_to_ids("<|video_pad|>"),
        tie_word_embeddings=True,
        **ids,
    )  # fmt: skip
    return wrap(Qwen3VLForConditionalGeneration(config).eval(), tokenizer, name="qwen3-vl")


@pytest.fixture(params=["qwen3_5", "qwen3_vl"])
def any_model(request, make_model, tokenizer) -> StreamingModel:
    return make_model() if request.param == "qwen3_5" else qwen3_vl(tokenizer)


@torch.no_grad()
def library_hidden(model: StreamingModel, sequence, video: np.ndarray) -> torch.Tensor:
    ids = torch.tensor([sequence.ids])
    rows, columns = model.patches.grid
    output = model.network.model(
        input_ids=ids,
        mm_token_type_ids=(ids == model.tokens.video_pad).int() * 2,
        pixel_values_videos=patchify(torch.from_numpy(video), model.patches),
        video_grid_thw=torch.tensor([[len(video) // 2, rows, columns]]),
    )
    return output.last_hidden_state[0]


def test_hidden_states_are_the_librarys(any_model):
    video = frames(6)
    sequence = stream(any_model, 3)
    hidden, _ = any_model.hidden_states([sequence], [any_model.encode_video(video)])
    torch.testing.assert_close(hidden[0], library_hidden(any_model, sequence, video), atol=2e-5, rtol=1e-4)


def test_fast_paths_change_no_value_and_no_other_model(make_model):
    fast = make_model()
    plain = type(fast.network)(fast.network.config).eval()
    plain.load_state_dict(fast.network.state_dict())
    assert type(plain.model.visual.blocks[0].attn).__module__.startswith("transformers")
    video, sequence = frames(4), stream(fast, 2)
    slow = StreamingModel(plain, fast.tokenizer, fast.encode, fast.tokens, fast.patches, "library")
    torch.testing.assert_close(
        fast.hidden_states([sequence], [fast.encode_video(video)])[0],
        slow.hidden_states([sequence], [slow.encode_video(video)])[0],
        atol=2e-5,
        rtol=1e-4,
    )


@torch.no_grad()
def test_cached_continuation_equals_the_full_forward(any_model):
    video = any_model.encode_video(frames(8))
    sequence = stream(any_model, 4)
    full, _ = any_model.hidden_states([sequence], [video])
    cache = any_model.new_cache()
    cuts = [0, *(end + 1 for end in sequence.block_ends)]
    parts = []
    for block, (start, stop) in enumerate(pairwise(cuts)):
        positions = torch.tensor(sequence.positions[start:stop]).T.unsqueeze(1)
        parts.append(any_model.continue_cached(cache, [sequence.ids[start:stop]], positions, video[block : block + 1]))
    torch.testing.assert_close(torch.cat(parts, dim=1), full, atol=2e-5, rtol=1e-4)


@torch.no_grad()
def test_two_streams_on_one_model_do_not_mix(model):
    videos = [model.encode_video(frames(6, seed)) for seed in (1, 2)]
    sequences = [stream(model, 3), stream(model, 3, "Peel the apple.")]
    alone = [model.hidden_states([sequence], [video])[0][0, -1] for sequence, video in zip(sequences, videos, strict=True)]
    caches = [model.new_cache(), model.new_cache()]
    last = [torch.zeros(0), torch.zeros(0)]
    for block in range(3):
        for number, (sequence, video) in enumerate(zip(sequences, videos, strict=True)):
            start = sequence.block_ends[block - 1] + 1 if block else 0
            stop = sequence.block_ends[block] + 1
            positions = torch.tensor(sequence.positions[start:stop]).T.unsqueeze(1)
            last[number] = model.continue_cached(caches[number], [sequence.ids[start:stop]], positions, video[block : block + 1])[0, -1]
    for mine, expected in zip(last, alone, strict=True):
        torch.testing.assert_close(mine, expected, atol=2e-5, rtol=1e-4)


@torch.no_grad()
def test_padding_changes_nothing(any_model):
    short, long = stream(any_model, 1, "Stir the jam in the bowl."), stream(any_model, 4)
    videos = [any_model.encode_video(frames(2)), any_model.encode_video(frames(8, 3))]
    alone, _ = any_model.hidden_states([short], videos[:1])
    together, _ = any_model.hidden_states([short, long], videos)
    torch.testing.assert_close(together[0, : len(short)], alone[0], atol=2e-5, rtol=1e-4)


def test_blocks_are_encoded_one_by_one_as_in_a_video(model):
    video = frames(6)
    whole = model.encode_video(video)
    single = torch.cat([model.encode_video(video[at : at + 2]) for at in (0, 2, 4)])
    torch.testing.assert_close(whole, single, atol=1e-5, rtol=1e-4)


def test_placeholders_and_features_must_agree(model):
    with pytest.raises(InputError, match="8 video placeholders but 4 feature rows"):
        model.hidden_states([stream(model, 2)], [model.encode_video(frames(2))])


def test_a_saved_checkpoint_loads_to_the_same_outputs(model, tmp_path):
    model.network.save_pretrained(tmp_path)
    model.tokenizer.save_pretrained(tmp_path)
    again = load_model(tmp_path)
    assert again.tokens == model.tokens
    for text in ("<12.2 seconds>", "user\n", "Add 12 scoops of cocoa to the bowl.", "Feedback: Good."):
        assert again.encode(text) == model.encode(text)
    assert again.patches == model.patches
    video, sequence = frames(4), stream(model, 2)
    ours = copy.copy(model).hidden_states([sequence], [model.encode_video(video)])[0]
    torch.testing.assert_close(again.hidden_states([sequence], [again.encode_video(video)])[0], ours)
