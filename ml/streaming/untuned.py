"""The base model as an assistant without any tuning: what fine-tuning is measured against.

It has no head. At every ``<|vision_end|>`` the likelihoods of the three remarks that the base was trained to make as a narrator
("So far", "As asked", "Not as asked") stand in for silence, success and feedback; the message itself is the base's own greedy reply.
"""

import torch

from ml.errors import InputError
from ml.streaming.base_rows import AS_ASKED, NOT_AS_ASKED, SO_FAR
from ml.streaming.head import SpeakHead
from ml.streaming.model import StreamingModel
from ml.streaming.runtime import SpeakingModel
from ml.streaming.settings import DEFAULT_RUNTIME, RuntimeSettings, Thresholds

EVEN_CHANCE = Thresholds(0.5, 0.5)  # no tuning: no validation either


class UntunedSpeaker(SpeakingModel):
    """A SpeakingModel whose probabilities come from the language model alone."""

    def __init__(self, model: StreamingModel, settings: RuntimeSettings = DEFAULT_RUNTIME) -> None:
        super().__init__(model, SpeakHead(model.hidden_size), EVEN_CHANCE, settings)
        self._remarks = [model.encode(remark)[0] for remark in (SO_FAR, AS_ASKED, NOT_AS_ASKED)]
        if len(set(self._remarks)) < len(self._remarks):
            raise InputError("the remarks begin with the same token", remedy="Use a tokenizer that tells them apart")

    @torch.no_grad()
    def probabilities(self, states: torch.Tensor) -> tuple[list[float], list[float]]:
        shares = torch.softmax(self.model.lm_head(states).float()[:, self._remarks], dim=-1)
        speak = shares[:, 1] + shares[:, 2]
        return speak.tolist(), (shares[:, 2] / speak.clamp(min=1e-9)).tolist()
