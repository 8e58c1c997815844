"""Any image-text-to-text chat model of transformers, from a local folder or a hub name: Qwen2.5-VL, Qwen3-VL, Qwen3.5, InternVL, SmolVLM.

One conversation at a time, decoded greedily unless the request has a temperature. What is asked is the caller's.
"""

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ml.errors import InputError
from ml.hub import model_source
from ml.llm.calls import Answer
from ml.llm.images import ImageLimits
from ml.llm.local import AS_THEY_ARE
from ml.llm.outcomes import is_refusal
from ml.llm.requests import Request
from ml.vocabulary import Status

_IDENTIFYING = (".safetensors", ".bin", ".json")


class ChatModel:
    """Processor and model, loaded once.

    ``device``: ``auto`` takes a CUDA device where there is one. Weights are bfloat16 there and float32 on a CPU, where bfloat16 is
    several times slower. Raises ``InputError`` (``field`` names the setting) where the folder holds no such model.
    """

    def __init__(self, model: str, device: str = "auto", *, field: str = "model") -> None:
        import torch
        from transformers import AutoModelForImageTextToText

        from ml.llm.backends.picture_processors import load_processor

        self.device = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
        dtype = torch.float32 if self.device == "cpu" else torch.bfloat16
        try:
            source = model_source(model, field=field)
            self.processor: Any = load_processor(source)
            loaded: Any = AutoModelForImageTextToText.from_pretrained(source, dtype=dtype)
            self.model: Any = loaded.to(self.device).eval()
        except InputError:
            raise
        except (OSError, ValueError, ImportError) as error:
            raise InputError(
                f"no image-text-to-text model can be loaded ({' '.join(str(error).split())})",
                record=model,
                field=field,
                remedy="Name a folder with model, processor and tokenizer files; of InternVL take a checkpoint whose name ends in -HF",
            ) from error
        if getattr(self.processor, "chat_template", None) is None:
            raise InputError("the processor has no chat template", record=model, field=field, remedy="Use an instruction-tuned model")

    def reply(self, messages: list[dict[str, Any]], max_new_tokens: int, temperature: float = 0.0) -> Answer:
        """The model's next turn: the likeliest one, or with a temperature a drawn one, the same for the same messages.

        Out of memory, or more pictures than the context holds, is an answer with status error.
        """
        import torch

        try:
            inputs = self.processor.apply_chat_template(
                messages, add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
            ).to(self.device, dtype=self.model.dtype)
            with torch.inference_mode():
                if temperature > 0:
                    torch.manual_seed(0)
                drawn = {"do_sample": True, "temperature": temperature} if temperature > 0 else {"do_sample": False}
                tokens = self.model.generate(**inputs, max_new_tokens=max_new_tokens, **drawn)
        except (RuntimeError, ValueError) as error:
            return Answer(Status.ERROR, None, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
        new = tokens[0, inputs["input_ids"].shape[1] :]
        text = self.processor.batch_decode([new], skip_special_tokens=True)[0].strip()
        if len(new) >= max_new_tokens and int(new[-1]) not in self._end_tokens():
            return Answer(Status.TRUNCATED, text or None, f"cut at {max_new_tokens} tokens")
        if not text:
            return Answer(Status.EMPTY, None, "the model ended without a word")
        if is_refusal(text):
            return Answer(Status.REFUSED, text, f"refused in words: {text[:120]}")
        return Answer(Status.OK, text)

    def _end_tokens(self) -> set[int]:
        end = self.model.generation_config.eos_token_id
        return set() if end is None else {end} if isinstance(end, int) else set(end)


class TransformersChat:
    """A ``ChatModel`` as a ``LocalModel``: the pictures in order, then the prompt. Loaded at the first answer."""

    provider = "transformers"
    min_prefix_tokens: int | None = None

    def __init__(self, model: str, device: str = "auto") -> None:
        self.model, self._device = model, device
        self.parameters: Mapping[str, object] = {"weights": weights_identity(model)}
        self.image_limits: ImageLimits = AS_THEY_ARE
        self._chat: ChatModel | None = None

    def answer(self, request: Request) -> Answer:
        if self._chat is None:
            self._chat = ChatModel(self.model, self._device, field="assistants.model")
        return self._chat.reply(chat_messages(request), request.max_tokens, request.temperature)


def chat_messages(request: Request) -> list[dict[str, Any]]:
    """The request as a chat with pictures."""
    from PIL import Image

    content: list[dict[str, Any]] = [{"type": "image", "image": Image.open(io.BytesIO(image)).convert("RGB")} for image in request.images]
    content.append({"type": "text", "text": request.prompt})
    system = [{"role": "system", "content": [{"type": "text", "text": request.system}]}] if request.system else []
    return [*system, {"role": "user", "content": content}]


def weights_identity(model: str) -> str:
    """Names, sizes and modification times of a folder's files; the name itself for a model that is no folder."""
    folder = Path(model).expanduser()
    if not folder.is_dir():
        return model
    files = sorted(path for path in folder.iterdir() if path.suffix in _IDENTIFYING)
    return ";".join(f"{path.name}:{path.stat().st_size}:{path.stat().st_mtime_ns}" for path in files)
