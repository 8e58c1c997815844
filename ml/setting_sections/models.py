"""Sections for models that are asked: the narrator, the language model of each stage, prices."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from pydantic import Field, ValidationError, model_validator

from ml.errors import InputError
from ml.setting_sections.section import Section
from ml.setting_sections.values import Address, Device, Side


class NarrationBackend(StrEnum):
    EMBEDDED = "embedded"
    TRANSFORMERS = "transformers"
    OPENAI = "openai"
    ANTHROPIC = "anthropic"


class Narration(Section):
    backend: NarrationBackend = NarrationBackend.EMBEDDED
    """``embedded`` knows the sample kitchen only; real video needs another: ``openai`` is any OpenAI-compatible server."""
    model: str | None = None
    """Model folder, name or ``name@revision``; for ``embedded`` the weights that the package ships."""
    base_url: Address | None = None
    """Server, e.g. http://localhost:8000/v1."""
    api_key_variable: str | None = None
    """Environment variable that holds the key; default OPENAI_API_KEY or ANTHROPIC_API_KEY."""
    frames_per_second: float = Field(2.0, gt=0)
    box: tuple[Side, Side] = (448, 448)
    """Width and height that frames are fitted into, in shape, while decoding. ``embedded`` always sees 64 x 64."""
    max_frames: int | None = Field(None, ge=1)
    """Most frames of one window."""
    max_in_flight: int = Field(8, ge=1)
    budget_usd: float | None = Field(None, gt=0)
    """With ``openai`` and ``anthropic``: a run stops before the call that would pass it."""
    device: Device = "auto"
    """``auto``, ``cpu``, ``cuda``, ``cuda:1`` ..."""

    @model_validator(mode="after")
    def _model_named(self) -> "Narration":
        if self.backend is not NarrationBackend.EMBEDDED and not self.model:
            raise ValueError(f"backend {self.backend.value!r} needs `model`: a folder or a served model")
        return self


class LLMBackend(StrEnum):
    RULES = "rules"
    ANTHROPIC = "anthropic"
    OPENAI = "openai"


class SchemaBy(StrEnum):
    FORMAT = "format"
    TOOL = "tool"


class LLM(Section):
    backend: LLMBackend = LLMBackend.RULES
    """``rules`` is offline, deterministic and free."""
    model: str | None = None
    base_url: Address | None = None
    """Another server that speaks the same interface, e.g. http://localhost:8000/v1 (vLLM, llama.cpp)."""
    api_key_variable: str | None = None
    """Environment variable that holds the key; default ANTHROPIC_API_KEY or OPENAI_API_KEY."""
    max_tokens: int | None = Field(None, ge=1)
    """Cap of every reply in tokens; by default what each question needs. Models that think first need more."""
    truncated_cap: int | None = Field(None, ge=1)
    """A reply cut at its cap is asked for once more with this one; None leaves it as a row with status truncated."""
    effort: str | None = None
    """How hard the model thinks, in the provider's own words (low, medium, high ...); None leaves it to the provider."""
    send_temperature: bool | None = None
    """Whether temperature 0 is sent: newer models refuse it. By default to OpenAI-compatible servers only."""
    schema_by: SchemaBy = SchemaBy.FORMAT
    """How ``anthropic`` is held to a reply's schema: ``format`` constrains the output, ``tool`` forces a tool call for models without."""
    extra: dict[str, Any] = Field(default_factory=dict)
    """Further keys of the request body, e.g. {chat_template_kwargs = {enable_thinking = false}}."""
    batch: bool = False
    """Whether calls go through the provider's batch interface: half the price, within a day, collected by the sensor ``llm_batches``."""
    max_in_flight: int = Field(16, ge=1)
    """Most calls under way at once."""
    requests_per_minute: float | None = Field(None, gt=0)
    """None goes by what the provider's headers allow."""
    tokens_per_minute: float | None = Field(None, gt=0)
    """Input and output together; None goes by the provider's headers."""
    timeout_s: float = Field(120.0, gt=0)
    """Of one attempt."""
    retry_attempts: int = Field(10, ge=1)
    """Attempts of one call in all."""
    retry_total_s: float = Field(300.0, gt=0)
    """Time that one call may take, its attempts and the waits after them together, before it is an error.

    Waiting for a rate to allow it is apart. A server that asks to wait longer stops the run.
    """
    budget_usd: float | None = Field(None, gt=0)
    """A run stops before the call that would pass it."""
    budget_calls: int | None = Field(None, gt=0)
    """Likewise, in attempts."""
    max_failed_share: float = Field(0.2, ge=0, le=1)
    """A stage fails when a larger share of its rows failed (truncated, refused, empty, unparsable, error), or when nothing came out."""

    @model_validator(mode="after")
    def _model_named(self) -> "LLM":
        if self.backend is not LLMBackend.RULES and not self.model:
            raise ValueError(f"backend {self.backend.value!r} needs `model`")
        if self.batch and self.backend is LLMBackend.RULES:
            raise ValueError("`batch` needs a provider: backend 'rules' answers at once")
        if self.schema_by is SchemaBy.TOOL and self.backend is LLMBackend.OPENAI:
            raise ValueError("`schema_by` 'tool' is for backend 'anthropic'")
        return self


def given_llm(values: Mapping[str, Any], *, field: str, remedy: str | None = None) -> LLM:
    """The section from values that a command line gives. Raises ``InputError``; ``field`` is what they are for."""
    try:
        return LLM.model_validate(dict(values))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        problem = str(first["msg"]).removeprefix("Value error, ")
        raise InputError(f"{place}: {problem} (given {first['input']!r})" if place else problem, field=field, remedy=remedy) from error


class ModelPrice(Section):
    """USD per million tokens."""

    input: float = Field(ge=0, lt=1e6)
    output: float = Field(ge=0, lt=1e6)
    cache_read: float | None = Field(None, ge=0, lt=1e6)
    """Input read from the provider's prompt cache; default ``input``."""
    cache_write: float | None = Field(None, ge=0, lt=1e6)
    """Input written to it; default ``input``."""


class Prices(Section):
    prices: dict[str, ModelPrice] = Field(default_factory=dict)
    """Prices by model name; they come before the table in ``ml.llm.prices``, which may be out of date."""


class Stages(Section):
    instructions: LLM = LLM()
    """Descriptions of a source (Goal-Step, keysteps) filtered to cooking and turned into instructions."""
    proposed_steps: LLM = LLM()
    """Steps of raw videos without a recipe, from their narrations; a reply lists the steps of ten minutes."""
    attributes: LLM = LLM()
    counterfactuals: LLM = LLM()
    feedback_timestamps: LLM = LLM()
    validity_check: LLM = LLM()
    """Best a model other than those that made the pairs; ``rules`` leaves open what needs kitchen sense."""
