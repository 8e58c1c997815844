"""Sections for benchmarks: assistants that are asked, protocols, the judge; and the names of the floors."""

from enum import StrEnum
from typing import Literal

from pydantic import Field, field_validator, model_validator

from ml.benchmarks.families import Family, parse_protocol
from ml.setting_sections.models import LLM, LLMBackend
from ml.setting_sections.section import Section
from ml.setting_sections.values import Device, Side

FLOORS = {
    "floor_silent": (Family.EGO, Family.GUIDEME),
    "floor_always_speak": (Family.EGO, Family.GUIDEME),
    "floor_alert_every_10s": (Family.EGO, Family.GUIDEME),
    "floor_duration_timer": (Family.EGO,),
    "floor_always_mistake": (Family.COOK_MRE,),
    "floor_always_correct": (Family.COOK_MRE,),
}
UNTUNED = "untuned_base"
CHECKPOINT_FAMILIES = (Family.EGO, Family.GUIDEME)
"""Benchmarks that streaming checkpoints, the untuned base among them, take part in."""


class AssistantKind(StrEnum):
    BY_BENCHMARK = "by_benchmark"
    """turn_based on EGO-MC-Bench, per_second on GuideMe, single_clip on Cook-MRE."""
    TURN_BASED = "turn_based"
    NARRATION = "narration"
    PER_SECOND = "per_second"
    SINGLE_CLIP = "single_clip"


class AssistantBackend(StrEnum):
    LLM = "llm"
    TRANSFORMERS = "transformers"
    EMBEDDED = "embedded"


_FAMILIES = {
    AssistantKind.BY_BENCHMARK: tuple(Family),
    AssistantKind.TURN_BASED: (Family.EGO,),
    AssistantKind.NARRATION: (Family.EGO,),
    AssistantKind.PER_SECOND: (Family.GUIDEME,),
    AssistantKind.SINGLE_CLIP: (Family.COOK_MRE,),
}


class Assistant(Section):
    """A general model that is asked; streaming checkpoints are ``experiments``."""

    kind: AssistantKind = AssistantKind.BY_BENCHMARK
    backend: AssistantBackend = AssistantBackend.LLM
    """``llm``: the server of ``llm``; ``transformers``: a local vision-language chat model; ``embedded`` knows the sample kitchen only:
    it answers single clips and narrates (``untuned_base`` is the same model as a stream, for EGO-MC-Bench and GuideMe)."""
    llm: LLM = LLM()
    """Server, model, budget and pace, as for a stage; the model must take images."""
    model: str | None = None
    """For ``transformers``: folder, hub name or ``name@revision`` (a commit), which cannot change unseen."""
    device: Device = "auto"
    """For ``transformers``: ``auto``, ``cpu``, ``cuda``, ``cuda:1`` ..."""
    helper: LLM = LLM()
    """For ``narration``: the language model that judges the narrations."""
    units_at_once: int = Field(8, ge=1)
    """Recordings, videos or samples that are asked about side by side over HTTP; a local model takes one at a time."""
    detailed_prompt: bool = True
    """For turns: the prompt with the mistake types spelled out, or the simple one (for smaller models)."""
    interval_s: float = Field(5.0, gt=0)
    """For turns: seconds between two questions."""
    history_s: float = Field(120.0, gt=0)
    """For turns: seconds of the step that are shown."""
    frames_per_second: float = Field(2.0, gt=0)
    max_images: int = Field(32, ge=1)
    """Most pictures in one question of a turn."""
    window_images: int = Field(60, ge=1)
    """Most pictures in one question of GuideMe, one a second before that."""
    box: tuple[Side, Side] = (448, 448)
    """Width and height that pictures are fitted into, in shape."""
    clip_frames: Literal["midpoints", "ends"] = "midpoints"
    """Which 16 pictures of a clip: the middles of equal parts, or evenly from end to end."""
    max_tokens: int = Field(512, ge=1)
    """Cap of a reply."""
    temperature: float = Field(0.0, ge=0, le=2)
    """0 decodes greedily. Servers are told where `llm` sends a temperature; the helper of ``narration`` is always asked with 0."""

    @model_validator(mode="after")
    def _can_be_asked(self) -> "Assistant":
        match self.backend:
            case AssistantBackend.LLM if self.llm.backend is LLMBackend.RULES:
                raise ValueError("backend 'llm' needs `llm` with a backend and a model")
            case AssistantBackend.TRANSFORMERS if not self.model:
                raise ValueError("backend 'transformers' needs `model`")
            case _ if self.kind is AssistantKind.NARRATION and self.helper.backend is LLMBackend.RULES:
                raise ValueError("kind 'narration' needs `helper`, the language model that judges narrations")
            case AssistantBackend.EMBEDDED if self.kind in (AssistantKind.TURN_BASED, AssistantKind.PER_SECOND):
                raise ValueError(f"the embedded model cannot be {self.kind.value}: it narrates and answers single clips")
        return self

    @property
    def families(self) -> tuple[Family, ...]:
        """Benchmarks that it can take part in."""
        if self.backend is AssistantBackend.EMBEDDED and self.kind is AssistantKind.BY_BENCHMARK:
            return (Family.COOK_MRE,)
        return _FAMILIES[self.kind]


class GuideMeProfile(StrEnum):
    """Readings of what the paper leaves open, see ``ml.benchmarks.guideme.options``."""

    OFFICIAL = "official"
    DEVELOPMENT = "development"
    PAPER_LITERAL = "paper_literal"


class BertScoreModel(Section):
    model: str
    """Folder, name (e.g. roberta-large) or ``name@revision``."""
    layers: int | None = Field(None, ge=1)
    """By default bert-score's own for a known name, else the last."""
    rescale: bool = True
    """Whether 0 is what unrelated texts score."""


class Benchmarks(Section):
    experiments: tuple[str, ...] = ()
    """Floors, ``untuned_base``, tuned experiments and assistants by name; by default all that there are."""
    protocols: tuple[str, ...] = (
        "kitchen_steps.per_step.true_end",
        "kitchen_steps_unseen.per_step.true_end",
        "kitchen_ego_mc_bench.per_step",
        "kitchen_ego_mc_bench.full_recipe",
        "kitchen_ego_mc_bench_unseen.per_step",
        "kitchen_guideme.anchor",
        "kitchen_cook_mre.default",
        "kitchen_cook_mre.hint",
    )
    """``<benchmark>.<per_step|full_recipe>``, ``<benchmark>.per_step.<grace|true_end>``, ``<benchmark>.<dense|anchor>`` with
    ``-own``, ``-none``, ``-window30``, ``-every0.5``, ``-knowledge``, ``-seed7``, or
    ``<benchmark>.<default|hint|hint-all>``; see ``ml.benchmarks.families``."""

    judge: LLM = LLM()
    """Judge of answers on GuideMe (0..5) and Cook-MRE (three yes/no criteria). ``rules`` goes by words: offline, repeatable, and no measure
    of what a language model would say."""
    bertscore: BertScoreModel | None = None
    """Measures the wording of true positives on EGO-MC-Bench beside ROUGE-L; by default it is left out, as it needs a large model."""
    options: dict[Family, tuple[str, ...]] = Field(default_factory=dict)
    """Scorer options other than the reported ones, by family (ego, guideme, cook_mre), each as ``name=value``; see `interject
    score-options`."""
    guideme_profile: GuideMeProfile = GuideMeProfile.OFFICIAL
    """``official`` follows the released scorer, for comparison with the paper's figures, then with ``embeddings.model``
    all-mpnet-base-v2; ``development`` measures seconds, takes a failed answer for silence and "Silent." for silence too."""

    @field_validator("protocols")
    @classmethod
    def _named_rightly(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if not value:
            raise ValueError("name at least one protocol, or leave the key out")
        for name in value:
            parse_protocol(name)
        return value

    @field_validator("options")
    @classmethod
    def _known(cls, value: dict[Family, tuple[str, ...]]) -> dict[Family, tuple[str, ...]]:
        if value:
            from ml.benchmarks.scoring import default_options  # heavy, and seldom needed

            for family, settings in value.items():
                default_options(family, settings=settings)
        return value

    @field_validator("protocols", "experiments")
    @classmethod
    def _once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if twice := [name for name in value if value.count(name) > 1]:
            raise ValueError(f"{twice[0]!r} stands twice")
        return value
