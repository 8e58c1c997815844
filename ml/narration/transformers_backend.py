"""Any image-text-to-text model of transformers as a narrator, from a local folder (or a hub name where there is a hub).

Frames go in as pictures, each after a text with its true time, so that uneven spacing reaches the model whatever it assumes of videos.
Qwen-VL, SmolVLM, Idefics3, LLaVA and their like take this layout through their own processor and chat template.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ml.llm.backends.transformers_chat import ChatModel
from ml.narration.narrator import FramePlan, Narration, times_in_window
from ml.narration.prompts import SYSTEM, narration_request
from ml.video.windows import WindowFrames

MAX_NEW_TOKENS = 256


class TransformersBackend:
    """Describes windows one after the other by greedy decoding of a ``ChatModel``. Raises ``InputError`` where there is no such model."""

    def __init__(self, model: str, plan: FramePlan, *, device: str = "auto", max_new_tokens: int = MAX_NEW_TOKENS) -> None:
        self.name = f"transformers/{Path(model).name}"
        self.plan, self.windows_per_call = plan, 8
        self._max_new_tokens = max_new_tokens
        self.chat = ChatModel(model, device, field="narration.model")

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
        answer = self.chat.reply(self.messages(window), self._max_new_tokens)
        return Narration(" ".join(answer.text.split()) if answer.text else None, answer.status, answer.reason)
