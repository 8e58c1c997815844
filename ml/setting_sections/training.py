"""Sections for training: mixes and experiments."""

from pydantic import Field, field_validator

from ml.setting_sections.section import Section
from ml.setting_sections.values import Device, Seed

EGO_COMIST = "ego_comist"


class Mix(Section):
    weights: dict[str, float]
    """Share of draws by dataset: ``ego_comist``, or a kind of source (all sources of the kind together)."""

    @field_validator("weights")
    @classmethod
    def _positive(cls, value: dict[str, float]) -> dict[str, float]:
        if not value or any(weight <= 0 for weight in value.values()):
            raise ValueError("weights must be positive, at least one")
        return value


class Experiment(Section):
    mix: str
    """Mix that it is tuned on."""
    base: str = "embedded"
    """``embedded``, or a Qwen3-VL / Qwen3.5 folder, hub name or ``name@revision``."""
    steps: int | None = Field(None, ge=1)
    """Optimizer steps; like the next three, by default what suits the base."""
    batch_size: int | None = Field(None, ge=2)
    learning_rate: float | None = Field(None, gt=0)
    lora_rank: int | None = Field(None, ge=1)
    seed: Seed = 0
    save_every: int = Field(50, ge=1)
    """Steps between resumable states."""
    device: Device = "auto"
