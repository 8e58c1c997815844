"""One Qwen3-VL or Qwen3.5 checkpoint with its tokenizer, frame size and device: what every streaming module calls.

Video features, embeddings, the language model's hidden states over explicit 3-D positions, and cached continuation. The embedded tiny
checkpoint and a real one go the same way. No losses, no head, no decisions.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ml.errors import InputError
from ml.hub import model_source
from ml.streaming.fast_cpu import flushed_denormals, use_fast_cpu_paths
from ml.streaming.layout import Encode, LayoutTokens, Sequence3D, Tokenizer, plain_encoder, resolve_tokens
from ml.streaming.patches import PatchSettings, patchify, resize_frames

VISION_BATCH_BLOCKS = 256


@dataclass
class StreamingModel:
    """A model object with what is needed to feed it. ``network`` is a transformers ``*ForConditionalGeneration``."""

    network: Any  # peft and transformers give it attributes that torch's Module does not declare
    tokenizer: Tokenizer
    encode: Encode
    tokens: LayoutTokens
    patches: PatchSettings
    name: str

    @property
    def core(self) -> Any:
        """The multimodal body below the LM head, under a peft wrapper or not."""
        return self.network.get_base_model().model if hasattr(self.network, "get_base_model") else self.network.model

    @property
    def lm_head(self) -> Any:
        return self.network.get_output_embeddings()

    @property
    def device(self) -> torch.device:
        return self.lm_head.weight.device

    @property
    def hidden_size(self) -> int:
        return int(self.network.config.get_text_config().hidden_size)

    @property
    def frames_per_block(self) -> int:
        return self.patches.temporal_patch_size

    def sequence(self) -> Sequence3D:
        """An empty sequence in this model's layout."""
        rows, columns = self.patches.grid
        return Sequence3D(self.encode, self.tokens, rows // self.patches.merge_size, columns // self.patches.merge_size)

    def fit_frames(self, frames: np.ndarray) -> np.ndarray:
        """Frames uint8 [T, H, W, 3] at this model's frame size."""
        return resize_frames(frames, self.patches.height, self.patches.width)

    def encode_blocks(self, frames: torch.Tensor) -> torch.Tensor:
        """Frames uint8 [T, height, width, 3] to features [T / frames_per_block, tokens_per_block, width].

        ``width`` is the hidden size, times one more per DeepStack level (Qwen3-VL). Keeps gradients where they are enabled.
        """
        rows, columns = self.patches.grid
        pixels = patchify(frames, self.patches).to(self.device, self.core.visual.dtype)
        blocks = frames.shape[0] // self.frames_per_block
        grid = torch.tensor([[blocks, rows, columns]], device=self.device)
        output = self.core.visual(pixels, grid_thw=grid)
        levels = [output.pooler_output, *(getattr(output, "deepstack_features", None) or [])]
        return torch.cat(levels, dim=-1).view(blocks, self.patches.tokens_per_block, -1)

    @torch.no_grad()
    def encode_video(self, frames: np.ndarray) -> torch.Tensor:
        """Frames uint8 [T, H, W, 3] of any size to features [T // frames_per_block, tokens, width]; a last odd frame waits, unused."""
        usable = len(frames) // self.frames_per_block * self.frames_per_block
        step = VISION_BATCH_BLOCKS * self.frames_per_block
        parts = [self.encode_blocks(torch.from_numpy(self.fit_frames(frames[at : at + step]))) for at in range(0, usable, step)]
        if not parts:
            return torch.zeros(0, self.patches.tokens_per_block, self.feature_width, device=self.device)
        return torch.cat([part[: usable // self.frames_per_block] for part in parts])

    @property
    def feature_width(self) -> int:
        return self.hidden_size * (1 + len(getattr(self.core.visual.config, "deepstack_visual_indexes", None) or []))

    def embed(self, ids: torch.Tensor, features: torch.Tensor | None) -> tuple[torch.Tensor, dict[str, Any]]:
        """Input embeddings [B, L, H] of ``ids`` with ``features`` [n, tokens, width] put in at the placeholders, in order.

        Also returns the DeepStack arguments for the language model. Raises InputError when counts differ.
        """
        places = ids == self.tokens.video_pad
        wanted, given = int(places.sum()), 0 if features is None else features.shape[0] * features.shape[1]
        if wanted != given:
            raise InputError(f"{wanted} video placeholders but {given} feature rows", remedy="Build the sequence and features together")
        embedded = self.network.get_input_embeddings()(ids)
        if features is None or not wanted:
            return embedded, {}
        levels = features.reshape(wanted, -1).to(embedded.dtype).split(self.hidden_size, dim=-1)
        embedded = embedded.masked_scatter(places.unsqueeze(-1), levels[0])
        return embedded, {"visual_pos_masks": places, "deepstack_visual_embeds": list(levels[1:])} if len(levels) > 1 else {}

    @flushed_denormals()
    def hidden_states(self, sequences: Sequence[Sequence3D], features: Sequence[torch.Tensor | None]) -> tuple[torch.Tensor, torch.Tensor]:
        """Full forward of a batch. Returns (hidden [B, L, H], ids [B, L]); shorter sequences are padded on the right.

        Right padding needs no mask: attention is causal and the recurrent layers run left to right, so no real token sees it.
        """
        length = max(len(sequence) for sequence in sequences)
        ids = torch.full((len(sequences), length), self.tokens.pad, dtype=torch.long)
        positions = torch.zeros(3, len(sequences), length, dtype=torch.long)
        for row, sequence in enumerate(sequences):
            ids[row, : len(sequence)] = torch.tensor(sequence.ids)
            positions[:, row, : len(sequence)] = torch.tensor(sequence.positions).T
        ids, positions = ids.to(self.device), positions.to(self.device)
        present = [part for part in features if part is not None and len(part)]
        embedded, extra = self.embed(ids, torch.cat(present) if present else None)
        output = self.core.language_model(inputs_embeds=embedded, position_ids=positions, use_cache=False, **extra)
        return output.last_hidden_state, ids

    def new_cache(self) -> Any:
        """An empty cache for cached continuation; each stream owns one."""
        from transformers import DynamicCache

        return DynamicCache(config=self.network.config.get_text_config())

    @flushed_denormals()
    def continue_cached(
        self,
        cache: Any,
        ids: Sequence[Sequence[int]],
        positions: torch.Tensor,
        features: torch.Tensor | None,
        mask: torch.Tensor | None = None,
    ) -> torch.Tensor:
        """Feed further tokens ``ids`` [B][n] at ``positions`` [3, B, n] into ``cache``; hidden states [B, n, H] of these tokens.

        ``mask`` [B, cached + n] is 0 at padding on the left; None where there is none.
        """
        embedded, extra = self.embed(torch.tensor(ids, device=self.device), features)
        output = self.core.language_model(
            inputs_embeds=embedded, position_ids=positions.to(self.device), cache=cache, use_cache=True, attention_mask=mask, **extra
        )
        return output.last_hidden_state

    def decode(self, ids: Sequence[int]) -> str:
        return str(self.tokenizer.decode(ids, skip_special_tokens=True)).strip()


def load_model(
    path: Path | str, *, height: int | None = None, width: int | None = None, device: str = "cpu", dtype: torch.dtype | None = None
) -> StreamingModel:
    """A checkpoint from a folder, a hub name or ``name@revision``, ready to stream.

    ``height`` and ``width`` in pixels default to the square that the vision tower's position table covers. float32 on CPU (bfloat16 is
    several times slower there), bfloat16 elsewhere.
    """
    from transformers import AutoModelForImageTextToText

    chosen = dtype or (torch.float32 if device == "cpu" else torch.bfloat16)
    source = model_source(path, field="experiments.base")
    network: Any = AutoModelForImageTextToText.from_pretrained(source, dtype=chosen)
    return wrap(network.to(device).eval(), load_tokenizer(source), name=str(path), height=height, width=width)


def load_tokenizer(path: Path | str) -> Tokenizer:
    """The tokenizer of a checkpoint exactly as its ``tokenizer.json`` says.

    ``AutoTokenizer`` picks a class by the model type in ``config.json`` and puts that class's pre-tokenizer in place of the file's: the
    embedded model's time strings then fall into five pieces instead of two, without a word. It is used only where there is no such file.
    """
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    if (Path(path) / "tokenizer.json").exists():
        return PreTrainedTokenizerFast.from_pretrained(path)
    return AutoTokenizer.from_pretrained(path)


def wrap(network: Any, tokenizer: Tokenizer, *, name: str, height: int | None = None, width: int | None = None) -> StreamingModel:
    """A model object and its tokenizer as a StreamingModel; CPU models of the Qwen3.5 family get the faster CPU paths."""
    vision = network.config.vision_config
    side = int(vision.num_position_embeddings**0.5) * vision.patch_size
    patches = PatchSettings(height or side, width or side, vision.patch_size, vision.temporal_patch_size, vision.spatial_merge_size)
    if next(network.parameters()).device.type == "cpu":
        use_fast_cpu_paths(network)
    return StreamingModel(network, tokenizer, plain_encoder(tokenizer), resolve_tokens(tokenizer), patches, name)
