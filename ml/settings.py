"""The one settings file: where data lives, which sources are on, which backend each stage uses, mixes, experiments, compute.

Read from ``interject.toml`` beside the project (or the file that ``INTERJECT_SETTINGS`` names); every value can be overridden by an
environment variable ``INTERJECT_<SECTION>__<KEY>``, e.g. ``INTERJECT_NARRATION__BACKEND=openai``; lists and mappings are JSON there.
Without a file the defaults run the sample kitchen. Secrets are never settings: a backend names the environment variable that holds its key.
"""

import json
import os
import tomllib
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field, ValidationError, model_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, SettingsError, TomlConfigSettingsSource

from ml.benchmarks.families import Family, parse_protocol
from ml.errors import InputError
from ml.setting_sections.benchmarks import CHECKPOINT_FAMILIES, FLOORS, UNTUNED, Assistant, AssistantBackend, AssistantKind, Benchmarks
from ml.setting_sections.compute import ComputeClasses
from ml.setting_sections.models import Narration, Prices, Stages
from ml.setting_sections.pairs import Counterfactuals, Embeddings, Review, Selection
from ml.setting_sections.sources import BENCHMARK_ONLY_KINDS, DESCRIPTIVE_MISTAKE_TYPES, RAW_VIDEOS, RawVideos, Source, SourceKind
from ml.setting_sections.training import EGO_COMIST, Experiment, Mix
from ml.setting_sections.values import AssetName, DataFolder, Name
from ml.sources.reading import read_text
from ml.tables.catalogue import TABLES
from ml.vocabulary import MistakeType

SETTINGS_VARIABLE = "INTERJECT_SETTINGS"
OTHER_VARIABLES = {SETTINGS_VARIABLE, "INTERJECT_SHARED"}
_OTHER_ASSETS = {
    RAW_VIDEOS,
    "sample_kitchen",
    "sample_kitchen_accuracy",
    "embeddings",
    "checkpoint",
    "exports",
    "comist_report",
}  # no table
_VALUES = ("data", "sample_kitchen", "sample_kitchen_share")  # settings that are no sections
DEFAULT_FILE = Path("interject.toml")


def _default_sources() -> dict[str, Source]:
    kitchen = Path("sample_kitchen")
    return {
        "kitchen_captaincook4d": Source(
            kind=SourceKind.CAPTAINCOOK4D,
            annotations=kitchen / "captaincook4d",
            videos=kitchen / "captaincook4d",
            counterfactuals=True,
            minimum_timing_change_s=2.0,
            few_texts=True,
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


class _SettingsFile(TomlConfigSettingsSource):
    """TOML in UTF-8, also with the byte order mark that Windows' editors write."""

    def _read_file(self, file_path: Path | Traversable) -> dict[str, Any]:
        return tomllib.loads(read_text(Path(str(file_path))))


class Settings(BaseSettings):
    """All settings. Paths are relative to ``data`` unless absolute."""

    model_config = SettingsConfigDict(
        extra="forbid",
        frozen=True,
        allow_inf_nan=False,
        env_prefix="INTERJECT_",
        env_nested_delimiter="__",
        env_ignore_empty=True,
        use_attribute_docstrings=True,
        nested_model_default_partial_update=True,
    )

    data: DataFolder = Path("data")
    """Everything the platform writes: tables, videos, caches, checkpoints, the Dagster home."""
    sample_kitchen: bool = True
    """Whether the sample kitchen is made and its sources are on."""
    sample_kitchen_share: float = Field(1.0, gt=0, le=1)
    """Share of the default sample kitchen to make; smaller for a quick look."""
    sources: dict[AssetName, Source] = Field(default_factory=dict)
    """Further sources by name; the sample kitchen's own come on their own."""
    raw_videos: RawVideos = RawVideos()
    narration: Narration = Narration()
    llm: Prices = Prices()
    stages: Stages = Stages()
    counterfactuals: Counterfactuals = Counterfactuals()
    embeddings: Embeddings = Embeddings()
    selection: Selection = Selection()
    review: Review = Review()
    mixes: dict[Name, Mix] = Field(default_factory=_default_mixes)
    experiments: dict[Name, Experiment] = Field(default_factory=_default_experiments)
    assistants: dict[Name, Assistant] = Field(default_factory=_default_assistants)
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
        return init_settings, env_settings, _SettingsFile(settings_cls, settings_file())

    @model_validator(mode="after")
    def _names_resolve(self) -> "Settings":
        known = {EGO_COMIST, *SourceKind} - set(BENCHMARK_ONLY_KINDS)
        for name, mix in self.mixes.items():
            if unknown := sorted(mix.weights.keys() - known):
                raise ValueError(f"mixes.{name}.weights: no dataset {unknown[0]!r}; allowed: {', '.join(sorted(known))}")
        for name, experiment in self.experiments.items():
            if experiment.mix not in self.mixes:
                whose = "" if "experiments" in self.model_fields_set else f" for the default experiment; declare [experiments.{name}] too"
                raise ValueError(f"experiments.{name}.mix: no mix {experiment.mix!r}{whose}; mixes: {', '.join(sorted(self.mixes))}")
        if twice := sorted({*FLOORS, UNTUNED} & self.experiments.keys()):
            raise ValueError(f"experiments.{twice[0]}: the name is taken by a floor or the untuned base")
        if twice := sorted({*FLOORS, UNTUNED, *self.experiments} & self.assistants.keys()):
            raise ValueError(f"assistants.{twice[0]}: the name is taken by an experiment or a floor")
        if taken := sorted(self.sources.keys() & (TABLES.keys() | _OTHER_ASSETS)):
            raise ValueError(f"sources.{taken[0]}: the name is taken by an asset of the graph; choose another")
        if self.data.absolute().is_relative_to(self.path(self.raw_videos.folder)):
            raise ValueError("raw_videos.folder: it holds the data folder, whose own videos would be taken in; name another")
        allowed = [*FLOORS, UNTUNED, *self.experiments, *self.assistants]
        if not self.benchmarks.experiments:
            object.__setattr__(self, "benchmarks", self.benchmarks.model_copy(update={"experiments": tuple(allowed)}))
        if unknown_experiments := [name for name in self.benchmarks.experiments if name not in allowed]:
            raise ValueError(f"benchmarks.experiments: no {unknown_experiments[0]!r}; allowed: {', '.join(sorted(allowed))}")
        return self

    def families_of(self, experiment: str) -> tuple[Family, ...]:
        """Benchmarks that a floor, a checkpoint or an assistant can take part in; none for a name that nobody has."""
        if experiment in FLOORS:
            return FLOORS[experiment]
        if experiment in self.assistants:
            return self.assistants[experiment].families
        return CHECKPOINT_FAMILIES if experiment == UNTUNED or experiment in self.experiments else ()

    def takes_part(self, experiment: str, protocol: str) -> bool:
        """Whether an experiment can be run under a protocol."""
        return parse_protocol(protocol).family in self.families_of(experiment)

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

    def source_kinds(self) -> dict[str, str]:
        """Kind of every source that is on, by name."""
        return {name: source.kind.value for name, source in self.all_sources().items()}

    def sources_of_kind(self, kind: SourceKind) -> dict[str, Source]:
        return {name: source for name, source in self.all_sources().items() if source.kind is kind}

    def proposes_steps(self, source: str) -> bool:
        """Whether recordings of a source that have no recipe get steps proposed from their narrations."""
        if source == RAW_VIDEOS:
            return self.raw_videos.propose_steps
        chosen = self.all_sources().get(source)
        return chosen is not None and chosen.kind is SourceKind.EGO4D_NARRATIONS and chosen.counterfactuals

    def minimum_timing_change_s(self, source: str) -> float:
        """Smallest change of a duration in the pairs of a source."""
        chosen = self.all_sources().get(source)
        own = None if chosen is None else chosen.minimum_timing_change_s
        return self.counterfactuals.minimum_timing_change_s if own is None else own

    def sources_of_few_texts(self) -> tuple[str, ...]:
        return tuple(sorted(name for name, source in self.all_sources().items() if source.few_texts))

    @property
    def review_log(self) -> Path:
        """File of people's answers."""
        return self.data / "review" / "answers.sqlite"

    def checkpoint_folder(self, experiment: str) -> Path:
        return self.data / "checkpoints" / experiment

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
        found = error.errors(include_url=False)
        problem = "; ".join(_explain(item) for item in found)
        if all(_variable(item["loc"]) for item in found):
            raise InputError(problem, file="environment", remedy="Mend or unset the variable") from error
        raise InputError(problem, file=settings_file(), remedy="Mend the value there") from error
    except SettingsError as error:
        raise InputError("a value that must be JSON is not", file="environment", field=_not_json(str(error)), remedy="Mend it") from error
    except InputError:
        raise
    except ValueError as error:  # a TOML syntax error
        raise InputError(str(error), file=settings_file(), remedy="Mend the syntax") from error


def _refuse_unknown_variables() -> None:
    for variable in os.environ:
        if not variable.startswith("INTERJECT_") or variable in OTHER_VARIABLES:
            continue
        section, _, key = variable.removeprefix("INTERJECT_").lower().partition("__")
        if section not in Settings.model_fields:
            raise InputError("no such setting", file="environment", field=variable, remedy=f"Sections: {', '.join(Settings.model_fields)}")
        if key and section in _VALUES:
            raise InputError(
                f"{section!r} is a value and has no keys", file="environment", field=variable, remedy="Leave out what follows __"
            )


def _not_json(told: str) -> str:
    """The variables that can be meant where pydantic tells only the section that it could not parse."""
    section = told.split('"')[1].upper() if '"' in told else ""
    return " or ".join(v for v in sorted(os.environ) if v.upper().startswith(f"INTERJECT_{section}") and not _is_json(os.environ[v]))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _variable(location: tuple[int | str, ...]) -> str | None:
    """The environment variable that gives the value at a location: its own, or that of a section around it."""
    for length in range(len(location), 0, -1):
        name = "INTERJECT_" + "__".join(str(part) for part in location[:length]).upper()
        if found := next((variable for variable in os.environ if variable.upper() == name), None):
            return found
    return None


def _explain(item: Any) -> str:
    location = tuple(part for part in item["loc"] if part != "[key]")
    place = ".".join(str(part) for part in location)
    if not place:  # a rule over sections names the key itself
        return str(item["msg"]).removeprefix("Value error, ")
    if variable := _variable(location):
        place = f"{variable} ({place})"
    if item["type"] == "extra_forbidden":
        return f"{place}: no such key; allowed: {', '.join(_keys_at(location[:-1]))}"
    given = "" if isinstance(item["input"], dict | BaseModel) else f" (given {item['input']!r})"
    return f"{place}: {item['msg'].removeprefix('Value error, ')}{given}"


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
