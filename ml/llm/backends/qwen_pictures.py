"""Qwen's vision-language chats (2.5-VL, 3-VL, 3.5) with pictures and without videos, where torchvision is not installed.

Their own processor in transformers needs torchvision for videos even if only pictures are shown, and torchvision has no wheel for every
build of torch. Pictures are prepared by transformers' PIL image processor, so tokens and pixels are those of the full processor.
"""

from typing import Any

from ml.errors import InputError

IMAGE_TOKEN = "<|image_pad|>"
MODEL_TYPES = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe")


class QwenPictures:
    """What ``ChatModel`` uses of a processor. Raises ``InputError`` for a folder without such a tokenizer."""

    def __init__(self, model: str) -> None:
        from transformers import AutoTokenizer
        from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

        self.tokenizer: Any = AutoTokenizer.from_pretrained(model)
        self._pictures: Any = Qwen2VLImageProcessorPil.from_pretrained(model)
        self._image_id = self.tokenizer.convert_tokens_to_ids(IMAGE_TOKEN)
        if self._image_id is None or self._image_id == self.tokenizer.unk_token_id:
            raise InputError(f"the tokenizer has no {IMAGE_TOKEN}", record=model)

    @property
    def chat_template(self) -> str | None:
        template: str | None = self.tokenizer.chat_template
        return template

    def apply_chat_template(self, messages: list[dict[str, Any]], **kwargs: Any) -> Any:
        """Model inputs of a chat, as ``ProcessorMixin.apply_chat_template`` gives them with ``tokenize`` and ``return_dict``."""
        from transformers import BatchFeature

        images = [part["image"] for message in messages for part in message["content"] if part["type"] == "image"]
        text = self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=kwargs.get("add_generation_prompt", True))
        seen: dict[str, Any] = dict(self._pictures(images=images, return_tensors="pt")) if images else {}
        first, *rest = text.split(IMAGE_TOKEN)
        if len(rest) != len(images):
            raise ValueError(f"the chat template gives {len(rest)} places for {len(images)} pictures")
        for index, following in enumerate(rest):
            places = int(seen["image_grid_thw"][index].prod()) // self._pictures.merge_size**2
            first += IMAGE_TOKEN * places + following
        tokens = self.tokenizer(first, return_tensors="pt", add_special_tokens=False)
        kinds = (tokens["input_ids"] == self._image_id).long()
        inputs = {"input_ids": tokens["input_ids"], "attention_mask": tokens["attention_mask"], "mm_token_type_ids": kinds, **seen}
        return BatchFeature(inputs)

    def batch_decode(self, tokens: Any, **kwargs: Any) -> list[str]:
        texts: list[str] = self.tokenizer.batch_decode(tokens, **kwargs)
        return texts


def load_processor(model: str) -> Any:
    """The model's own processor; for Qwen without torchvision, ``QwenPictures``."""
    from transformers import AutoConfig, AutoProcessor
    from transformers.utils import is_torchvision_available

    if not is_torchvision_available() and AutoConfig.from_pretrained(model).model_type in MODEL_TYPES:
        return QwenPictures(model)
    return AutoProcessor.from_pretrained(model)
