"""Any image-text-to-text model of transformers as a narrator, from a local folder (or a hub name where there is a hub).

Frames go in as pictures, each after a text with its true time, so that uneven spacing reaches the model whatever it assumes of videos.
Qwen-VL, SmolVLM, Idefics3, LLaVA and their like take this layout through their own processor and chat template.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ml.errors import InputError
from ml.llm.outcomes import is_refusal
from ml.narration.narrator import FramePlan, Narration, times_in_window
from ml.narration.prompts import SYSTEM, narration_request
from ml.video.windows import WindowFrames
from ml.vocabulary import Status

MAX_NEW_TOKENS = 256


class TransformersBackend:
    """Loads processor and model once; describes windows one after the other by greedy decoding.

    ``device``: ``auto`` takes a CUDA device where there is one. Weights are bfloat16 there and float32 on a CPU, where bfloat16 is
    several times slower. Raises ``InputError`` where the folder holds no such model.
    """

    def __init__(self, model: str, plan: FramePlan, *, device: str = "auto", max_new_tokens: int = MAX_NEW_TOKENS) -> None:
        import torch
        from transformers import AutoModelForImageTextToText, AutoProcessor

        self.name = f"transformers/{Path(model).name}"
        self.plan, self.windows_per_call = plan, 8
        self._max_new_tokens = max_new_tokens
        self._device = ("cuda" if torch.cuda.is_available() else "cpu") if device == "auto" else device
        dtype = torch.float32 if self._device == "cpu" else torch.bfloat16
        try:
            self._processor: Any = AutoProcessor.from_pretrained(model)
            loaded: Any = AutoModelForImageTextToText.from_pretrained(model, dtype=dtype)
            self._model: Any = loaded.to(self._device).eval()
        except (OSError, ValueError, ImportError) as error:
            raise InputError(
                f"no image-text-to-text model can be loaded ({' '.join(str(error).split())})",
                record=model,
                field="narration.model",
                remedy="Name a folder with model, processor and tokenizer files; Qwen's processors need torchvision",
            ) from error
        if getattr(self._processor, "chat_template", None) is None:
            raise InputError(
                "the processor has no chat template", record=model, field="narration.model", remedy="Use an instruction-tuned model"
            )

    def describe(self, windows: Sequence[WindowFrames]) -> list[Narration]:
        return [self._describe(window) for window in windows]

    def messages(self, window: WindowFrames) -> list[dict[str, Any]]:
        """The chat for a window: each picture follows its time, the question stands last."""
        from PIL import Image

        times_s = times_in_window(window)
        content: list[dict[str, Any]] = []
        for t_s, frame in zip(times_s, window.frames, strict=True):
            content += [{"type": "text", "text": f"<{t_s:.1f} seconds>"}, {"type": "image", "image": Image.fromarray(frame)}]
        content.append({"type": "text", "text": narration_request(times_s, window.window.end_s - window.window.start_s)})
        return [{"role": "system", "content": [{"type": "text", "text": SYSTEM}]}, {"role": "user", "content": content}]

    def _describe(self, window: WindowFrames) -> Narration:
        import torch

        try:
            inputs = self._processor.apply_chat_template(
                self.messages(window), add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
            ).to(self._device, dtype=self._model.dtype)
            with torch.inference_mode():
                tokens = self._model.generate(**inputs, max_new_tokens=self._max_new_tokens, do_sample=False)
        except (RuntimeError, ValueError) as error:  # out of memory, more pictures than the context holds: this window's failure only
            return Narration(None, Status.ERROR, f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")
        new = tokens[0, inputs["input_ids"].shape[1] :]
        text = " ".join(self._processor.batch_decode([new], skip_special_tokens=True)[0].split())
        if len(new) >= self._max_new_tokens and int(new[-1]) not in self._end_tokens():
            return Narration(text or None, Status.TRUNCATED, f"cut at {self._max_new_tokens} tokens")
        if not text:
            return Narration(None, Status.EMPTY, "the model ended without a word")
        if is_refusal(text):
            return Narration(text, Status.REFUSED, f"refused in words: {text[:120]}")
        return Narration(text)

    def _end_tokens(self) -> set[int]:
        end = self._model.generation_config.eos_token_id
        return set() if end is None else {end} if isinstance(end, int) else set(end)
