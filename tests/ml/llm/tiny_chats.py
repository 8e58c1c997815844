"""Random Qwen and InternVL chats of some ten thousand parameters, saved with tokenizer, chat template and picture settings."""

from pathlib import Path
from typing import Any

import torch

SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
INTERNVL = ["<img>", "</img>", "<IMG_CONTEXT>"]
CHAT = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% for c in m.content %}{% if c.type == 'image' %}<|vision_start|><|image_pad|>"
    "<|vision_end|>{% else %}{{ c.text }}{% endif %}{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def build(folder: Path, kind: str, seed: int = 0) -> None:
    """Save a model of ``kind``: qwen2_5_vl, qwen3_vl, qwen3_5 or internvl."""
    import transformers
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=SPECIALS + INTERNVL, initial_alphabet=alphabet, show_progress=False)
    words.train_from_iterator(["YES. NO. Silent."] * 3, trainer)
    tokenizer: Any = transformers.PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    tokenizer.chat_template = CHAT
    tokenizer.save_pretrained(folder)
    torch.manual_seed(seed)
    if kind == "internvl":
        _internvl(folder, tokenizer)
        return
    patch = 14 if kind == "qwen2_5_vl" else 16
    pixels = {"shortest_edge": 4 * patch * patch, "longest_edge": 64 * patch * patch}
    Qwen2VLImageProcessorPil(patch_size=patch, size=pixels).save_pretrained(folder)
    ids = {name: SPECIALS.index(f"<|{name.removesuffix('_token_id')}_pad|>") for name in ("image_token_id", "video_token_id")}
    ids |= {f"vision_{end}_token_id": SPECIALS.index(f"<|vision_{end}|>") for end in ("start", "end")}
    text = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "head_dim": 16,
        "eos_token_id": SPECIALS.index("<|im_end|>"),
        "pad_token_id": 0,
        "bos_token_id": None,
        "max_position_embeddings": 4096,
    }
    vision = {"depth": 1, "hidden_size": 32, "intermediate_size": 48, "num_heads": 2, "patch_size": patch, "out_hidden_size": 32}
    rope = {"rope_type": "default", "mrope_section": [2, 3, 3], "rope_theta": 10000.0}
    match kind:
        case "qwen2_5_vl":
            config: Any = transformers.Qwen2_5_VLConfig(
                text_config={**text, "rope_parameters": rope},
                vision_config={**vision, "fullatt_block_indexes": [0], "window_size": 56},
                **ids,
            )
            transformers.Qwen2_5_VLForConditionalGeneration(config).save_pretrained(folder)
        case "qwen3_vl":
            config = transformers.Qwen3VLConfig(
                text_config={**text, "rope_parameters": rope},
                vision_config={**vision, "deepstack_visual_indexes": [0], "num_position_embeddings": 64},
                **ids,
            )
            transformers.Qwen3VLForConditionalGeneration(config).save_pretrained(folder)
        case _:
            linear = {"linear_num_key_heads": 1, "linear_num_value_heads": 2, "linear_key_head_dim": 16, "linear_value_head_dim": 16}
            config = transformers.Qwen3_5Config(
                text_config={**text, **linear, "layer_types": ["linear_attention", "full_attention"], "rope_parameters": rope},
                vision_config={**vision, "num_position_embeddings": 64, "deepstack_visual_indexes": []},
                **ids,
            )
            transformers.Qwen3_5ForConditionalGeneration(config).save_pretrained(folder)


def _internvl(folder: Path, tokenizer: Any) -> None:
    import transformers
    from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import GotOcr2ImageProcessorPil

    tokenizer.chat_template = CHAT.replace("<|vision_start|><|image_pad|><|vision_end|>", "<IMG_CONTEXT>\n")
    tokenizer.save_pretrained(folder)
    GotOcr2ImageProcessorPil(size={"height": 32, "width": 32}, max_patches=12, crop_to_patches=True).save_pretrained(folder)
    small = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = transformers.InternVLConfig(
        vision_config={**small, "image_size": [32, 32], "patch_size": [8, 8]},
        text_config={
            **small,
            "model_type": "qwen2",
            "vocab_size": len(tokenizer),
            "num_key_value_heads": 1,
            "eos_token_id": SPECIALS.index("<|im_end|>"),
        },
        image_token_id=tokenizer.convert_tokens_to_ids("<IMG_CONTEXT>"),
        image_seq_length=4,  # 4 x 4 patches, a quarter of them after the pixel shuffle
    )
    transformers.InternVLForConditionalGeneration(config).save_pretrained(folder)
