"""Chats with pictures and without videos: Qwen's (2.5-VL, 3-VL, 3.5) and InternVL's.

Their own processors in transformers need torchvision for videos even if only pictures are shown, and torchvision has no wheel for every
build of torch. Pictures are prepared by transformers' PIL image processors, on every machine alike. For Qwen, tokens are those of the full
processor.
InternVL's would cut every picture into up to 12 tiles; here a picture is one tile, as in its processor for the frames of a video.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from ml.errors import InputError

QWEN_TYPES = ("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe")
INTERNVL_TYPES = ("internvl",)


class PictureProcessor(ABC):
    """What ``ChatModel`` uses of a processor. Raises ``InputError`` for a folder whose tokenizer lacks the place of a picture."""

    image_token: str
    """Stands for one picture in the chat template's text, and for one place of a picture in the model's input."""

    def __init__(self, model: str) -> None:
        from transformers import AutoTokenizer

        self.tokenizer: Any = AutoTokenizer.from_pretrained(model)
        self._image_id = self.tokenizer.convert_tokens_to_ids(self.image_token)
        if self._image_id is None or self._image_id == self.tokenizer.unk_token_id:
            raise InputError(f"the tokenizer has no {self.image_token}", record=model)

    @abstractmethod
    def prepare(self, images: Sequence[Any]) -> tuple[dict[str, Any], list[str]]:
        """The model's inputs for the pictures, and the text that stands for each."""

    @property
    def chat_template(self) -> str | None:
        template: str | None = self.tokenizer.chat_template
        return template

    def apply_chat_template(self, messages: list[dict[str, Any]], **kwargs: Any) -> Any:
        """Model inputs of a chat, as ``ProcessorMixin.apply_chat_template`` gives them with ``tokenize`` and ``return_dict``."""
        from transformers import BatchFeature

        images = [part["image"] for message in messages for part in message["content"] if part["type"] == "image"]
        text = self.tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=kwargs.get("add_generation_prompt", True))
        seen, places = self.prepare(images) if images else ({}, [])
        first, *rest = text.split(self.image_token)
        if len(rest) != len(images):
            raise ValueError(f"the chat template gives {len(rest)} places for {len(images)} pictures")
        whole = first + "".join(place + following for place, following in zip(places, rest, strict=True))
        tokens = self.tokenizer(whole, return_tensors="pt", add_special_tokens=False)
        return BatchFeature({**tokens, **seen, **self.more(tokens["input_ids"])})

    def more(self, ids: Any) -> dict[str, Any]:
        """Inputs that the model wants beside token ids [1, n] and pictures."""
        return {}

    def batch_decode(self, tokens: Any, **kwargs: Any) -> list[str]:
        texts: list[str] = self.tokenizer.batch_decode(tokens, **kwargs)
        return texts


class QwenPictures(PictureProcessor):
    """A picture takes as many places as its size in merged patches."""

    image_token = "<|image_pad|>"

    def __init__(self, model: str) -> None:
        from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

        super().__init__(model)
        self._pictures: Any = Qwen2VLImageProcessorPil.from_pretrained(model)

    def prepare(self, images: Sequence[Any]) -> tuple[dict[str, Any], list[str]]:
        seen: dict[str, Any] = dict(self._pictures(images=images, return_tensors="pt"))
        merged = self._pictures.merge_size**2
        return seen, [self.image_token * (int(grid.prod()) // merged) for grid in seen["image_grid_thw"]]

    def more(self, ids: Any) -> dict[str, Any]:
        return {"mm_token_type_ids": (ids == self._image_id).long()}


class InternVLPictures(PictureProcessor):
    """A picture is one tile of ``image_seq_length`` places between two marks. For the checkpoints whose names end in -HF."""

    image_token = "<IMG_CONTEXT>"

    def __init__(self, model: str) -> None:
        from transformers import AutoConfig
        from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import GotOcr2ImageProcessorPil

        super().__init__(model)
        self._pictures: Any = GotOcr2ImageProcessorPil.from_pretrained(model)
        self._places = int(AutoConfig.from_pretrained(model).image_seq_length)

    def prepare(self, images: Sequence[Any]) -> tuple[dict[str, Any], list[str]]:
        seen = self._pictures(images=images, crop_to_patches=False, return_tensors="pt")
        return {"pixel_values": seen["pixel_values"]}, [f"<img>{self.image_token * self._places}</img>"] * len(images)


def load_processor(model: str) -> Any:
    """``QwenPictures`` or ``InternVLPictures``; for any other model its own processor."""
    from transformers import AutoConfig, AutoProcessor

    kind = AutoConfig.from_pretrained(model).model_type
    if kind in INTERNVL_TYPES:
        return InternVLPictures(model)
    if kind in QWEN_TYPES:
        return QwenPictures(model)
    return AutoProcessor.from_pretrained(model)
