"""The one settings file: where data lives, which sources are on, which backend each stage uses, mixes, experiments, compute.

Read from ``interject.toml`` beside the project (or the file that ``INTERJECT_SETTINGS`` names); every value can be overridden by an
environment variable ``INTERJECT_<SECTION>__<KEY>``, e.g. ``INTERJECT_NARRATION__BACKEND=openai``. Without a file the defaults
run the sample kitchen. Secrets are never settings: a backend names the environment variable that holds its key.
"""

import os
from enum import StrEnum
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from ml.benchmarks.families import Family, parse_protocol
from ml.errors import InputError
from ml.vocabulary import MistakeType

SETTINGS_VARIABLE = "INTERJECT_SETTINGS"
OTHER_VARIABLES = {SETTINGS_VARIABLE, "INTERJECT_SHARED"}
DEFAULT_FILE = Path("interject.toml")
FLOORS = {
    "floor_silent": (Family.EGO, Family.GUIDEME),
    "floor_always_speak": (Family.EGO, Family.GUIDEME),
    "floor_alert_every_10s": (Family.EGO, Family.GUIDEME),
    "floor_duration_timer": (Family.EGO,),
    "floor_always_mistake": (Family.COOK_MRE,),
    "floor_always_correct": (Family.COOK_MRE,),
}
UNTUNED = "untuned_base"
EGO_COMIST = "ego_comist"


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class SourceKind(StrEnum):
    CAPTAINCOOK4D = "captaincook4d"
    EGO4D_GOALSTEP = "ego4d_goalstep"
    EGO4D_NARRATIONS = "ego4d_narrations"
    EGOEXO4D = "egoexo4d"
    QICD = "qicd"
    EGO_MC_BENCH = "ego_mc_bench"
    GUIDEME = "guideme"
    COOK_MRE = "cook_mre"


BENCHMARK_ONLY_KINDS = (SourceKind.GUIDEME, SourceKind.COOK_MRE)
MISTAKE_TYPES = tuple(MistakeType)
DESCRIPTIVE_MISTAKE_TYPES = (MistakeType.PREPARATION, MistakeType.TECHNIQUE)
DESCRIPTIVE_KINDS = (SourceKind.EGO4D_GOALSTEP, SourceKind.EGO4D_NARRATIONS, SourceKind.EGOEXO4D)
RAW_VIDEOS = "raw_videos"


class Source(Section):
    kind: SourceKind
    """Which importer reads it."""
    annotations: Path
    """Folder of the annotation files, in the dataset's own layout."""
    videos: Path | None = None
    """Folder of the videos; without it the text stages still run."""
    split_file: str | None = None
    """Split file inside the annotations, where the dataset has several."""
    counterfactuals: bool = False
    """Whether its clean steps become EGO-CoMist pairs."""
    mistake_types: tuple[MistakeType, ...] = MISTAKE_TYPES
    """Mistake types that its texts are detailed enough for. The default of kinds that describe instead of instruct (ego4d_goalstep,
    ego4d_narrations, egoexo4d) is preparation and technique."""
    plan_set: str | None = None
    """qicd: ``main`` (the default) or ``advanced_planning``."""
    columns: dict[str, str] = Field(default_factory=dict)
    """cook_mre, qicd, ego_mc_bench: names of the fields where a release names them otherwise, e.g. {original = "recipe_step"}."""

    @model_validator(mode="before")
    @classmethod
    def _types_of_kind(cls, given: Any) -> Any:
        if isinstance(given, dict) and "mistake_types" not in given and given.get("kind") in DESCRIPTIVE_KINDS:
            return {**given, "mistake_types": DESCRIPTIVE_MISTAKE_TYPES}
        return given


class RawVideos(Section):
    folder: Path = Path("raw_videos")
    """Folder that the sensor watches; relative to ``data``."""
    stable_ticks: int = Field(2, ge=1)
    """Ticks over which size and modification time must not change."""
    tick_seconds: float = Field(20.0, gt=0, lt=60)
    """Time that one sensor tick may spend looking at files."""
    propose_steps: bool = True
    """Whether a video without a sidecar gets steps proposed from its narrations, marked as proposed; without, it waits for a recipe."""
    mistake_types: tuple[MistakeType, ...] = MISTAKE_TYPES
    """Mistake types for videos with a recipe; proposed steps get preparation and technique at most."""


class NarrationBackend(StrEnum):
    EMBEDDED = "embedded"
    TRANSFORMERS = "transformers"
    OPENAI = "openai"
    ANTHROPIC = "anthropic"


class Narration(Section):
    backend: NarrationBackend = NarrationBackend.EMBEDDED
    """``embedded`` knows the sample kitchen only; real video needs another: ``openai`` is any OpenAI-compatible server."""
    model: str | None = None
    """Model folder or name; for ``embedded`` the weights that the package ships."""
    base_url: str | None = None
    """Server, e.g. http://localhost:8000/v1."""
    api_key_variable: str | None = None
    """Environment variable that holds the key; default OPENAI_API_KEY or ANTHROPIC_API_KEY."""
    frames_per_second: float = Field(2.0, gt=0)
    box: tuple[int, int] = (448, 448)
    """Width and height that frames are fitted into, in shape, while decoding. ``embedded`` always sees 64 x 64."""
    max_frames: int | None = Field(None, ge=1)
    """Most frames of one window."""
    max_in_flight: int = Field(8, ge=1)
    budget_usd: float | None = Field(None, gt=0)
    """With ``openai`` and ``anthropic``: a run stops before the call that would pass it."""
    device: str = "auto"
    """``auto``, ``cpu``, ``cuda``, ``cuda:1`` ..."""


class LLMBackend(StrEnum):
    RULES = "rules"
    ANTHROPIC = "anthropic"
    OPENAI = "openai"


class LLM(Section):
    backend: LLMBackend = LLMBackend.RULES
    """``rules`` is offline, deterministic and free."""
    model: str | None = None
    base_url: str | None = None
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
    """Time that one call may take, waits and attempts together, before it is an error."""
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
        return self


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


class Counterfactuals(Section):
    minimum_timing_change_s: float = Field(2.0, gt=0)
    """Smallest change of a duration. The paper uses 15 s; the sample kitchen cooks for seconds, so its default is smaller."""


class Embeddings(Section):
    model: str | None = None
    """Sentence-transformers folder or name; default all-MiniLM-L6-v2 from the installed package."""


class Selection(Section):
    """Thresholds of the similarity filters: cosines of stored scores. None switches a filter off."""

    too_close: float | None = Field(0.98, gt=0, le=1)
    """An alternative this close to its original is no mistake; changed amounts and levels are told apart by rule."""
    near_benchmark: float | None = Field(None, gt=0, le=1)
    """None, because the sample kitchen has few sentences; 0.95 to 0.99 suits real data."""
    near_duplicate: float | None = Field(0.97, gt=0, le=1)
    copies_per_text: int | None = Field(None, ge=1)
    """How often one pair of texts may stand on different clips; 20 suits real data."""
    validity_check: bool = True
    """Whether a pair goes that the independent check calls no mistake, not feasible, or of another type."""
    reviews: bool = True
    """Whether a pair goes that most of its reviewers call invalid."""
    balance: bool = True


class Review(Section):
    """What people are asked about."""

    size: int = Field(500, ge=1)
    """Pairs in the sample."""
    seed: int = 0
    """Another seed draws other pairs; answers to the former ones are kept."""


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
    """``embedded``, or a Qwen3-VL / Qwen3.5 folder or name for transformers."""
    steps: int | None = Field(None, ge=1)
    """Optimizer steps; like the next three, by default what suits the base."""
    batch_size: int | None = Field(None, ge=2)
    learning_rate: float | None = Field(None, gt=0)
    lora_rank: int | None = Field(None, ge=1)
    seed: int = 0
    save_every: int = Field(50, ge=1)
    """Steps between resumable states."""
    device: str = "auto"


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
    it answers single clips and narrates."""
    llm: LLM = LLM()
    """Server, model, budget and pace, as for a stage; the model must take images."""
    model: str | None = None
    """For ``transformers``: folder or name."""
    device: str = "auto"
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
    box: tuple[int, int] = (448, 448)
    """Width and height that pictures are fitted into, in shape."""
    max_tokens: int = Field(512, ge=1)
    """Cap of a reply."""

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


class Benchmarks(Section):
    experiments: tuple[str, ...] = ()
    """Floors, ``untuned_base``, tuned experiments and assistants by name; by default all that there are."""
    protocols: tuple[str, ...] = (
        "kitchen_steps.per_step",
        "kitchen_steps_unseen.per_step",
        "kitchen_ego_mc_bench.per_step",
        "kitchen_ego_mc_bench.full_recipe",
        "kitchen_ego_mc_bench_unseen.per_step",
        "kitchen_guideme.anchor",
        "kitchen_cook_mre.default",
        "kitchen_cook_mre.hint",
    )
    """``<benchmark>.<per_step|full_recipe>``, ``<benchmark>.per_step.<grace|end_of_video>``, ``<benchmark>.<dense|anchor>`` with ``-own``,
    ``-none``, ``-window30``, ``-every0.5``, ``-knowledge``, ``-seed7``, or ``<benchmark>.<default|hint>``; ``ml.benchmarks.families``."""

    judge: LLM = LLM()
    """Judge of answers on GuideMe (0..5) and Cook-MRE (three yes/no criteria). ``rules`` goes by words: offline, repeatable, and no measure
    of what a language model would say."""
    guideme_profile: GuideMeProfile = GuideMeProfile.DEVELOPMENT
    """``official`` for comparison with the paper, then with ``embeddings.model`` all-mpnet-base-v2."""

    @field_validator("protocols")
    @classmethod
    def _named_rightly(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            parse_protocol(name)
        return value


class ExecutorKind(StrEnum):
    IN_PROCESS = "in_process"
    MULTIPROCESS = "multiprocess"
    RAY = "ray"
    KUBERNETES = "kubernetes"


class Compute(Section):
    """How one compute class runs its steps."""

    executor: ExecutorKind = ExecutorKind.IN_PROCESS
    max_concurrent: int = Field(1, ge=1)
    slots: int = Field(1, ge=1)
    """Slots of the pool over all runs."""
    gpus_per_step: float = Field(0.0, ge=0)
    """What Ray or Kubernetes is asked for."""
    image: str | None = None
    """Container image for Kubernetes."""


class ComputeClasses(Section):
    cpu: Compute = Compute()
    llm: Compute = Compute()
    gpu: Compute = Compute()


def _default_sources() -> dict[str, Source]:
    kitchen = Path("sample_kitchen")
    return {
        "kitchen_captaincook4d": Source(
            kind=SourceKind.CAPTAINCOOK4D, annotations=kitchen / "captaincook4d", videos=kitchen / "captaincook4d", counterfactuals=True
        ),
        "kitchen_goalstep": Source(
            kind=SourceKind.EGO4D_GOALSTEP, annotations=kitchen / "ego4d_goalstep", videos=kitchen / "ego4d_goalstep"
        ),
        "kitchen_qicd": Source(kind=SourceKind.QICD, annotations=kitchen / "qicd", videos=kitchen / "qicd"),
        "kitchen_ego_mc_bench": Source(kind=SourceKind.EGO_MC_BENCH, annotations=kitchen / "ego_mc_bench", videos=kitchen / "ego_mc_bench"),
        "kitchen_guideme": Source(kind=SourceKind.GUIDEME, annotations=kitchen / "guideme", videos=kitchen / "ego_mc_bench"),
        "kitchen_cook_mre": Source(kind=SourceKind.COOK_MRE, annotations=kitchen / "cook_mre", videos=kitchen / "captaincook4d"),
    }


def _default_mixes() -> dict[str, Mix]:
    return {"comist_plus": Mix(weights={EGO_COMIST: 0.6, SourceKind.QICD: 0.3, SourceKind.EGO4D_GOALSTEP: 0.1})}


def _default_experiments() -> dict[str, Experiment]:
    return {"comist_plus": Experiment(mix="comist_plus")}


def _default_assistants() -> dict[str, Assistant]:
    return {"embedded_clips": Assistant(kind=AssistantKind.SINGLE_CLIP, backend=AssistantBackend.EMBEDDED)}


class Settings(BaseSettings):
    """All settings. Paths are relative to ``data`` unless absolute."""

    model_config = SettingsConfigDict(
        extra="forbid",
        frozen=True,
        env_prefix="INTERJECT_",
        env_nested_delimiter="__",
        use_attribute_docstrings=True,
        nested_model_default_partial_update=True,
    )

    data: Path = Path("data")
    """Everything the platform writes: tables, videos, caches, checkpoints, the Dagster home."""
    sample_kitchen: bool = True
    """Whether the sample kitchen is made and its sources are on."""
    sample_kitchen_share: float = Field(1.0, gt=0, le=1)
    """Share of the default sample kitchen to make; smaller for a quick look."""
    sources: dict[str, Source] = Field(default_factory=dict)
    """Further sources by name; the sample kitchen's own come on their own."""
    raw_videos: RawVideos = RawVideos()
    narration: Narration = Narration()
    llm: Prices = Prices()
    stages: Stages = Stages()
    counterfactuals: Counterfactuals = Counterfactuals()
    embeddings: Embeddings = Embeddings()
    selection: Selection = Selection()
    review: Review = Review()
    mixes: dict[str, Mix] = Field(default_factory=_default_mixes)
    experiments: dict[str, Experiment] = Field(default_factory=_default_experiments)
    assistants: dict[str, Assistant] = Field(default_factory=_default_assistants)
    """General models that benchmarks ask, by name."""
    benchmarks: Benchmarks = Benchmarks()
    compute: ComputeClasses = ComputeClasses()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls, settings_file())

    @model_validator(mode="after")
    def _names_resolve(self) -> "Settings":
        known = {EGO_COMIST, *SourceKind} - set(BENCHMARK_ONLY_KINDS)
        for name, mix in self.mixes.items():
            if unknown := sorted(mix.weights.keys() - known):
                raise ValueError(f"mixes.{name}.weights: no dataset {unknown[0]!r}; allowed: {', '.join(sorted(known))}")
        for name, experiment in self.experiments.items():
            if experiment.mix not in self.mixes:
                raise ValueError(f"experiments.{name}.mix: no mix {experiment.mix!r}; allowed: {', '.join(sorted(self.mixes))}")
        if twice := sorted({*FLOORS, UNTUNED, *self.experiments} & self.assistants.keys()):
            raise ValueError(f"assistants.{twice[0]}: the name is taken by an experiment or a floor")
        allowed = [*FLOORS, UNTUNED, *self.experiments, *self.assistants]
        if not self.benchmarks.experiments:
            object.__setattr__(self, "benchmarks", self.benchmarks.model_copy(update={"experiments": tuple(allowed)}))
        if unknown_experiments := [name for name in self.benchmarks.experiments if name not in allowed]:
            raise ValueError(f"benchmarks.experiments: no {unknown_experiments[0]!r}; allowed: {', '.join(sorted(allowed))}")
        return self

    def takes_part(self, experiment: str, protocol: str) -> bool:
        """Whether an experiment (floor, checkpoint, assistant) can be run under a protocol."""
        family = parse_protocol(protocol).family
        if experiment in FLOORS:
            return family in FLOORS[experiment]
        if experiment in self.assistants:
            return family in self.assistants[experiment].families
        return family is Family.EGO

    def benchmark_runs(self) -> list[tuple[str, str]]:
        """(experiment, protocol) of every run that the benchmarks' settings ask for."""
        chosen = self.benchmarks
        return [(e, p) for e in chosen.experiments for p in chosen.protocols if self.takes_part(e, p)]

    def all_sources(self) -> dict[str, Source]:
        """Sources that are on, with absolute folders."""
        chosen = (_default_sources() if self.sample_kitchen else {}) | self.sources
        return {
            name: source.model_copy(
                update={"annotations": self.path(source.annotations), "videos": None if source.videos is None else self.path(source.videos)}
            )
            for name, source in chosen.items()
        }

    def mistake_types(self, source: str, *, is_proposed: bool = False) -> tuple[MistakeType, ...]:
        """Mistake types for the steps of a source that is on (or ``raw_videos``); none for any other."""
        if source == RAW_VIDEOS:
            types = self.raw_videos.mistake_types
        else:
            chosen = self.all_sources().get(source)
            types = () if chosen is None else chosen.mistake_types
        return tuple(one for one in types if one in DESCRIPTIVE_MISTAKE_TYPES) if is_proposed else types

    @property
    def review_log(self) -> Path:
        """File of people's answers."""
        return self.data / "review" / "answers.sqlite"

    def path(self, relative: Path) -> Path:
        return (self.data.absolute() / relative.expanduser()).absolute()


def settings_file() -> Path:
    return Path(os.environ.get(SETTINGS_VARIABLE, DEFAULT_FILE))


def load_settings(**overrides: Any) -> Settings:
    """Settings from file and environment, or ``InputError`` that names every wrong key or value and what is allowed."""
    named = os.environ.get(SETTINGS_VARIABLE)
    if named and not Path(named).is_file():
        raise InputError("the file does not exist", file=named, remedy=f"Mend or unset {SETTINGS_VARIABLE}")
    _refuse_unknown_variables()
    try:
        return Settings(**overrides)
    except ValidationError as error:
        raise InputError(_explain(error), file=settings_file(), remedy="Mend the value in the file or the environment variable") from error
    except ValueError as error:  # a TOML syntax error, or a settings source that cannot parse a variable
        raise InputError(str(error), file=settings_file(), remedy="Mend the syntax") from error


def _refuse_unknown_variables() -> None:
    for variable in os.environ:
        if not variable.startswith("INTERJECT_") or variable in OTHER_VARIABLES:
            continue
        section = variable.removeprefix("INTERJECT_").split("__")[0].lower()
        if section not in Settings.model_fields:
            raise InputError("no such setting", file="environment", field=variable, remedy=f"Sections: {', '.join(Settings.model_fields)}")


def _explain(error: ValidationError) -> str:
    return "; ".join(_explain_one(item) for item in error.errors(include_url=False))


def _explain_one(item: Any) -> str:
    place = ".".join(str(part) for part in item["loc"]) or "settings"
    if item["type"] == "extra_forbidden":
        return f"{place}: no such key; allowed: {', '.join(_keys_at(item['loc'][:-1]))}"
    given = "" if isinstance(item["input"], dict | BaseModel) else f" (given {item['input']!r})"
    return f"{place}: {item['msg']}{given}"


def _keys_at(location: tuple[int | str, ...]) -> list[str]:
    """Field names of the section at a location; names inside a mapping of sections are skipped."""
    model: type[BaseModel] | None = Settings
    for part in location:
        if model is None:
            break
        if str(part) in model.model_fields:
            annotation: Any = model.model_fields[str(part)].annotation
            arguments = getattr(annotation, "__args__", ())
            model = next((a for a in (annotation, *reversed(arguments)) if isinstance(a, type) and issubclass(a, BaseModel)), None)
    return sorted(model.model_fields) if model else []
