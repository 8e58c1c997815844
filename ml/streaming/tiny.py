"""The embedded checkpoint's shape: a tiny Qwen3.5 built from its config, and the tokenizer that comes with it.

Weights are made by ``ml.streaming.base_training`` and lie in ``weights/``. They know the rendered sample kitchen and nothing else.
"""

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from ml.streaming.layout import REPLY_PREFIX, SPECIAL_TOKENS

FRAME_SIDE = 64
VOCABULARY_SIZE = 768
MAX_TIME_TOKEN_S = 120  # "<119" is one token; later times take two

# One piece per word with its blank, per number, per half of a time string: pieces are what byte-pair merges may not cross.
PIECES = r"<\d+|\.\d seconds>|\n| ?\d+| ?[A-Za-z']+| ?[^\sA-Za-z\d]+|\s+"


def build_tokenizer(sentences: Iterable[str], phrases: Iterable[str] = ()) -> Any:
    """A byte-pair tokenizer whose common words, numbers and time halves are single tokens; any other text still encodes.

    Words of ``phrases`` are merged first, so they are single tokens too.
    """
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    specials = ["<|endoftext|>", *SPECIAL_TOKENS.values(), "<|image_pad|>"]
    tokenizer = Tokenizer(models.BPE())
    split = pre_tokenizers.Split(Regex(PIECES), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    tokenizer.decoder = decoders.ByteLevel()
    times = [f"<{second}.{second % 10} seconds>" for second in range(MAX_TIME_TOKEN_S)] * 100
    frame = ["user\n", "assistant\n", *REPLY_PREFIX.values(), *phrases, *(f" {number}" for number in range(30))] * 200
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY_SIZE,
        special_tokens=specials,
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator([*sorted(set(sentences)), *times, *frame], trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token="<|im_end|>",
        pad_token="<|endoftext|>",
        additional_special_tokens=[*SPECIAL_TOKENS.values(), "<|image_pad|>"],
    )


def build_network(tokenizer: Any, *, hidden: int = 128, layers: int = 4, vision_layers: int = 3, seed: int = 0) -> nn.Module:
    """A Qwen3.5 with random weights: hidden 128, 3 linear and 1 full attention layer, vision 3 x 96, patches of 16 on 64x64 frames.

    Two value heads of 64 instead of four of 32: the same state size, half the chunk matrices, 18 % faster to train.
    """
    from transformers import Qwen3_5Config, Qwen3_5ForConditionalGeneration

    torch.manual_seed(seed)
    ids = {name: tokenizer.convert_tokens_to_ids(text) for name, text in SPECIAL_TOKENS.items()}
    config = Qwen3_5Config(
        text_config={
            "vocab_size": len(tokenizer),
            "hidden_size": hidden,
            "intermediate_size": 2 * hidden,
            "num_hidden_layers": layers,
            "num_attention_heads": hidden // 32,
            "num_key_value_heads": 2,
            "head_dim": 32,
            "linear_key_head_dim": 32,
            "linear_value_head_dim": 64,
            "linear_num_key_heads": hidden // 64,
            "linear_num_value_heads": hidden // 64,
            "max_position_embeddings": 32768,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 1e5,
                "partial_rotary_factor": 0.5,
                "mrope_section": [4, 2, 2],
                "mrope_interleaved": True,
            },
            "tie_word_embeddings": True,
            "eos_token_id": tokenizer.eos_token_id,
            "pad_token_id": tokenizer.pad_token_id,
        },
        vision_config={
            "depth": vision_layers,
            "hidden_size": 96,
            "intermediate_size": 192,
            "num_heads": 4,
            "patch_size": 16,
            "spatial_merge_size": 2,
            "temporal_patch_size": 2,
            "out_hidden_size": hidden,
            "num_position_embeddings": (FRAME_SIDE // 16) ** 2,
        },
        image_token_id=tokenizer.convert_tokens_to_ids("<|image_pad|>"),
        video_token_id=ids["video_pad"],
        vision_start_token_id=ids["vision_start"],
        vision_end_token_id=ids["vision_end"],
        tie_word_embeddings=True,
    )
    return Qwen3_5ForConditionalGeneration(config)
