"""Faster CPU paths for one Qwen3.5 model object. Same arithmetic as transformers, other grouping; nothing global is changed.

Three costs dominate a tiny model on CPU: the vision attention loops over frames in Python, the patch embedding is a Conv3d whose kernel
covers its whole input, and the gated delta rule pads every sequence to a multiple of 64 tokens. Here a module of the given object is
re-classed to a subclass with its own ``forward``; other models in the process keep the library's.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from transformers.models.qwen3_5 import modeling_qwen3_5 as library

DELTA_CHUNK = 16  # 110 tokens, 2 heads of 64, 2 threads: forward and backward 0.37 s against 0.55 s at 32 and 0.46 s with 4 heads of 32


class BatchedVisionAttention(library.Qwen3_5VisionAttention):
    """Attention over equal-sized frames in one call; falls back to the library when frame sizes differ."""

    def forward(
        self,
        hidden_states: torch.Tensor,
        cu_seqlens: torch.Tensor,
        position_embeddings: tuple[torch.Tensor, torch.Tensor] | None = None,
        max_seqlen: int | None = None,
        **kwargs: Any,
    ) -> torch.Tensor:
        lengths = cu_seqlens[1:] - cu_seqlens[:-1]
        size = int(lengths[0])
        if not bool((lengths == size).all()):
            return super().forward(hidden_states, cu_seqlens, position_embeddings, max_seqlen, **kwargs)
        total, frames = hidden_states.shape[0], hidden_states.shape[0] // size
        query, key, value = self.qkv(hidden_states).reshape(total, 3, self.num_heads, -1).permute(1, 0, 2, 3).unbind(0)
        assert position_embeddings is not None
        cosine, sine = position_embeddings
        query, key = library.apply_rotary_pos_emb_vision(query, key, cosine, sine)
        query, key, value = (tensor.reshape(frames, size, self.num_heads, -1).transpose(1, 2) for tensor in (query, key, value))
        attended = functional.scaled_dot_product_attention(query, key, value, scale=self.scaling)
        return self.proj(attended.transpose(1, 2).reshape(total, -1))


class LinearPatchEmbed(library.Qwen3_5VisionPatchEmbed):
    """The patch convolution as the matrix product that it is."""

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        return functional.linear(hidden_states.to(self.proj.weight.dtype), self.proj.weight.flatten(1), self.proj.bias)


class ShortChunkDeltaNet(library.Qwen3_5GatedDeltaNet):
    """Gated DeltaNet whose chunked rule pads to ``DELTA_CHUNK`` tokens; a streamed block has 8."""

    def forward(
        self, hidden_states: torch.Tensor, cache: Any = None, attention_mask: torch.Tensor | None = None, **kwargs: Any
    ) -> torch.Tensor:
        if cache is not None and cache.is_recording_past(self.layer_idx):
            return super().forward(hidden_states, cache=cache, attention_mask=attention_mask, **kwargs)
        if attention_mask is not None:
            hidden_states = hidden_states * attention_mask[:, :, None].to(hidden_states.dtype)
        batch, length, _ = hidden_states.shape
        state = cache.get_recurrent_state(self.layer_idx, state_idx=0) if cache is not None else None
        mixed = self.in_proj_qkv(hidden_states).transpose(1, 2)
        if cache is not None:
            mixed = cache.update_conv_state(mixed, self.layer_idx, conv_kernel_size=self.conv_kernel_size)
        padded = functional.pad(mixed, (self.conv_kernel_size - 1, 0))
        mixed = functional.silu(functional.conv1d(padded, self.conv1d.weight, groups=self.conv_dim))[:, :, -length:].transpose(1, 2)
        query, key, value = torch.split(mixed, [self.key_dim, self.key_dim, self.value_dim], dim=-1)
        mixed_out, new_state = library.torch_chunk_gated_delta_rule(
            query.reshape(batch, length, -1, self.head_k_dim),
            key.reshape(batch, length, -1, self.head_k_dim),
            value.reshape(batch, length, -1, self.head_v_dim),
            g=-self.A_log.float().exp() * functional.softplus(self.in_proj_a(hidden_states).float() + self.dt_bias),
            beta=self.in_proj_b(hidden_states).sigmoid(),
            chunk_size=DELTA_CHUNK,
            initial_state=state,
            output_final_state=cache is not None,
            use_qk_l2norm_in_kernel=True,
        )
        if cache is not None:
            cache.update_recurrent_state(new_state, self.layer_idx)
        gate = self.in_proj_z(hidden_states).reshape(-1, self.head_v_dim)
        normed = self.norm(mixed_out.reshape(-1, self.head_v_dim), gate)
        return self.out_proj(normed.reshape(batch, length, -1))


FASTER = {
    library.Qwen3_5VisionAttention: BatchedVisionAttention,
    library.Qwen3_5VisionPatchEmbed: LinearPatchEmbed,
    library.Qwen3_5GatedDeltaNet: ShortChunkDeltaNet,
}


@contextmanager
def flushed_denormals() -> Iterator[None]:
    """Treat denormal numbers as zero inside, and put the thread's setting back after.

    Decays of the delta rule run through the denormal range, where a CPU is many times slower: a training step takes 1.2 to 1.4 times as
    long. Worker threads take the setting over when they are created, so the first use in a process gains most.
    """
    already = not bool(torch.tensor([1e-39]) * 1.0)
    if not already:
        torch.set_flush_denormal(True)
    try:
        yield
    finally:
        if not already:
            torch.set_flush_denormal(False)


def use_fast_cpu_paths(model: nn.Module) -> int:
    """Re-class the modules of ``model`` (and of it only) that have a faster CPU path; returns how many."""
    changed = 0
    for module in model.modules():
        faster = FASTER.get(type(module))
        if faster is not None:
            module.__class__ = faster
            changed += 1
    return changed
