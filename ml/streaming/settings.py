"""Settings of fine-tuning and of the streaming runtime, as frozen records. The embedded model's defaults stand apart from Qwen's."""

from dataclasses import dataclass, replace
from enum import StrEnum

# Datasets whose feedback times a language model inferred from ten-second narrations; others carry annotated times.
INFERRED_TIMES = frozenset({"ego_comist"})
# Datasets in which feedback comes after the error was made and the person does not react (QICD); the prompt says so.
FEEDBACK_AFTERWARDS = frozenset({"qicd"})


class Decay(StrEnum):
    COSINE = "cosine"
    LINEAR = "linear"


class BalanceLoss(StrEnum):
    """How speak and silent blocks are weighed in the head's loss."""

    POSITIVE_WEIGHT = "positive_weight"
    CLASS_BALANCED = "class_balanced"


@dataclass(frozen=True)
class FineTuneSettings:
    """Defaults for Qwen3-VL / Qwen3.5 checkpoints, after EGO-MC-Bench appendix G: LoRA 64, AdamW, 2e-4 with cosine decay, batch 32.

    Loss = ``head_weight`` x BCE of the head + CE of replies, whose first token counts ``first_token_weight`` times. All rates are per
    optimizer step; ``accumulation`` micro-batches of ``batch_size / accumulation`` samples make one step.
    """

    steps: int = 100_000
    batch_size: int = 32
    accumulation: int = 4
    learning_rate: float = 2e-4
    head_learning_rate: float = 2e-4
    final_share: float = 0.005
    decay: Decay = Decay.COSINE
    warmup_steps: int = 500
    weight_decay: float = 0.01
    clip_norm: float = 1.0
    lora_rank: int = 64
    lora_alpha: int = 128
    lora_dropout: float = 0.0
    head_weight: float = 2.0
    balance: BalanceLoss = BalanceLoss.POSITIVE_WEIGHT
    positive_weight: float = 4.0
    first_token_weight: float = 5.0
    kind_weight: float = 1.0
    max_delay_blocks: int = 2
    """Soft target: a reply is put 0 to this many blocks after its time, and all blocks from its time to it are speak targets."""
    ignored_before_exact: int = 1
    ignored_before_inferred: int = 3
    """Blocks before a target that count neither way: a moment is not certain to the second, an inferred one not to 2.5 s."""
    max_tokens: int = 16_384
    """Longest sequence; a longer sample is refused when it is built, never cut."""
    gradient_checkpointing: bool = True
    paired: bool = True
    """Draw a clip's clean and counterfactual sample together, so that a batch holds the same frames under both instructions."""
    even_types: bool = False
    """Draw clips of every mistake type equally often within a dataset, however many pairs a type has."""
    length_buckets: int = 8
    save_every: int = 500
    log_every: int = 50
    max_bad_steps: int = 3
    seed: int = 0


EMBEDDED_FINE_TUNING = FineTuneSettings(
    steps=800,
    batch_size=16,
    accumulation=1,
    learning_rate=1.5e-3,
    head_learning_rate=3e-3,
    decay=Decay.LINEAR,
    warmup_steps=30,
    max_tokens=1_024,
    gradient_checkpointing=False,
    even_types=True,
    save_every=50,
    log_every=10,
)


@dataclass(frozen=True)
class Thresholds:
    """Speak when p(speak) x p(kind) is greater than the kind's threshold, strictly."""

    feedback: float = 0.5
    success: float = 0.5


@dataclass(frozen=True)
class RuntimeSettings:
    """``min_gap_s``: least time between two messages; ``repeat_s``: the same text is not said again within it.

    ``keep_context``: a new instruction continues the same token stream; off, it starts a fresh one, which keeps a model trained on
    single steps within the lengths it knows.
    """

    min_gap_s: float = 3.0
    repeat_s: float = 60.0
    max_reply_tokens: int = 48
    keep_context: bool = False


DEFAULT_RUNTIME = RuntimeSettings()


def embedded_fine_tuning(**changes: object) -> FineTuneSettings:
    """The embedded defaults with some fields changed."""
    return replace(EMBEDDED_FINE_TUNING, **changes)  # type: ignore[arg-type]
