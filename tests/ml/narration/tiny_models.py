"""A vision language model small enough to be trained within a test: Idefics3 of 40 k parameters that names the colour it sees."""

from pathlib import Path
from typing import Any

import numpy as np
import torch

from ml.narration.prompts import SYSTEM, narration_request

SPECIALS = [
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<image>",
    "<fake_token_around_image>",
    "<end_of_utterance>",
    "<global-img>",
]
CHAT = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% for c in m.content %}{% if c.type == 'image' %}<image>{% else %}{{ c.text }}"
    "{% endif %}{% endfor %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def plain_frames(colour: tuple[int, int, int], count: int = 2) -> np.ndarray:
    return np.full((count, 48, 64, 3), colour, np.uint8)


def build(folder: Path, tokens_per_picture: int = 4) -> None:
    """Save an untrained model with its processor and tokenizer; the model makes 4 tokens of a picture, whatever the processor says."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import Idefics3Config, Idefics3ForConditionalGeneration, Idefics3Processor, PreTrainedTokenizerFast
    from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil

    bytes_only = Tokenizer(models.BPE())
    bytes_only.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_only.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=1200, special_tokens=SPECIALS, initial_alphabet=alphabet, show_progress=False)
    bytes_only.train_from_iterator(
        [SYSTEM, narration_request([0.0, 4.0, 10.0], 10.0), "stirs the red pan.", "holds the blue bowl.", "I cannot help."] * 3, trainer
    )
    tokenizer: Any = PreTrainedTokenizerFast(tokenizer_object=bytes_only, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    pictures = Idefics3ImageProcessorPil(do_image_splitting=False, size={"longest_edge": 64}, max_image_size={"longest_edge": 64})
    Idefics3Processor(pictures, tokenizer, image_seq_len=tokens_per_picture, chat_template=CHAT).save_pretrained(folder)
    torch.manual_seed(0)
    vision = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "image_size": 64,
        "patch_size": 16,
    }
    text = {
        "model_type": "llama",
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "num_key_value_heads": 2,
        "max_position_embeddings": 8192,
        "pad_token_id": 0,
        "bos_token_id": None,
        "eos_token_id": SPECIALS.index("<|im_end|>"),
    }
    config = Idefics3Config(vision_config=vision, text_config=text, scale_factor=2, image_token_id=SPECIALS.index("<image>"))
    Idefics3ForConditionalGeneration(config).save_pretrained(folder)


def teach(backend: Any, answers: list[tuple[Any, str]], steps: int = 60) -> None:
    """Fit the loaded model to (window, answer) pairs of equally long questions; an empty answer teaches it to end at once."""
    processor, model = backend.chat.processor, backend.chat.model
    asked = [
        processor.apply_chat_template(
            backend.messages(window), add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
        )
        for window, _ in answers
    ]
    said = [[*processor.tokenizer.encode(answer, add_special_tokens=False), model.config.text_config.eos_token_id] for _, answer in answers]
    longest = max(map(len, said))
    questions = torch.cat([row["input_ids"] for row in asked])
    replies = torch.tensor([tokens + [-100] * (longest - len(tokens)) for tokens in said])
    batch = {name: torch.cat([row[name] for row in asked]) for name in ("pixel_values", "pixel_attention_mask")}
    batch["input_ids"] = torch.cat([questions, replies.clamp(min=0)], dim=1)
    batch["labels"] = torch.cat([torch.full_like(questions, -100), replies], dim=1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(steps):
        loss = model(**batch).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
