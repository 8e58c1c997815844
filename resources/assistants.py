"""The assistants that are scored, by experiment name: floors, the untuned base, tuned checkpoints, general models that are asked."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
import polars as pl
from pydantic import PrivateAttr

from ml.benchmarks.families import BenchmarkProtocol, Family, parse_protocol
from ml.errors import InputError
from ml.locks import only_one
from ml.setting_sections.benchmarks import FLOORS, UNTUNED, Assistant, AssistantBackend
from ml.tables.store import TableStore, file_stem, fingerprint
from resources.asked_models import Asked, opened, turn_factory
from resources.checkpoints import Checkpoints
from resources.settings import PlatformSettings

if TYPE_CHECKING:
    from ml.benchmarks.running import RunJournal
    from ml.streaming.features import FeatureCache
    from ml.streaming.runtime import SpeakingModel

Progress = Callable[[int, int], None]
DEFAULT_STEP_S = 30.0


@dataclass(frozen=True)
class BenchmarkRun:
    """One experiment under one protocol, and where its finished units are kept until it is whole."""

    experiment: str
    protocol: BenchmarkProtocol
    store: TableStore
    progress: Progress
    journal: "RunJournal"

    @property
    def partition(self) -> str:
        return f"{self.experiment}/{self.protocol.name}"

    @property
    def named(self) -> dict[str, Any]:
        return {"experiment": self.experiment, "protocol": self.protocol.name}

    @property
    def kept(self) -> dict[str, Any]:
        return {"journal": self.journal, "progress": self.progress}

    def data(self, table: str) -> pl.DataFrame:
        """The benchmark's rows of one of its tables. Raises ``InputError`` where the benchmark is absent."""
        frame = self.store.read(table, self.protocol.benchmark)
        if not frame.height:
            raise InputError(f"benchmark {self.protocol.benchmark!r} is not in {table}", field="protocol", remedy=f"Materialize {table}")
        return frame


class Assistants(dg.ConfigurableResource):
    """Runs an experiment under a protocol and stores its predictions."""

    data: str
    _speakers: dict[str, "tuple[SpeakingModel, FeatureCache]"] = PrivateAttr(default_factory=dict)

    def predict(
        self,
        experiment: str,
        protocol: str,
        store: TableStore,
        progress: Progress,
        made_from: Callable[[], str],
        *,
        assistant: Assistant | None = None,
    ) -> dict[str, float | int | str | None]:
        """Run, and write the predictions into their family's table as one partition; what model calls used, if there were any.

        A run that was killed goes on where it was. ``made_from`` tells the fingerprint of the inputs; it is asked again before writing.
        ``assistant`` is one that the settings do not hold. Raises ``InputError`` for an unknown experiment, an absent benchmark, a run of
        which every item failed, inputs that changed meanwhile, and where the model cannot be asked at all.
        """
        from ml.benchmarks.running import AssistantUnusableError, check_run

        asked = assistant or PlatformSettings().values.assistants.get(experiment)
        chosen = parse_protocol(protocol)
        _check_taking_part(experiment, chosen, asked)
        with only_one(self._kept(experiment, protocol, "lock"), f"running {experiment} under {protocol}"):
            began_from = made_from()
            journal = self.journal(experiment, protocol, began_from)
            run = BenchmarkRun(experiment, chosen, store, progress, journal)
            usage: dict[str, float | int | str | None] = {}
            if asked is not None:
                with opened(asked, Path(self.data)) as model:
                    try:
                        frame = _ask(run, model)
                    except AssistantUnusableError as error:
                        remedy = None if "run again" in str(error) else "Run again: what is finished is kept"
                        raise InputError(str(error), record=experiment, remedy=remedy) from error
                    usage = model.usage()
            else:
                frame = _floor(run) if experiment in FLOORS else self._streaming(run)
            check_run(frame)
            if made_from() != began_from:
                raise InputError(
                    "the benchmark, the model or a video changed during the run, so nothing is written",
                    record=run.partition,
                    remedy="Run again",
                )
            store.write(chosen.table, frame, run.partition, made_from=began_from)
            journal.remove()
        return usage

    def journal(self, experiment: str, protocol: str, made_from: str) -> "RunJournal":
        """Finished units of a killed run. A checkpoint that was tuned anew on the same inputs has other weights, so none of them."""
        from ml.benchmarks.running import RunJournal
        from ml.streaming.checkpoint_files import sealed_files

        weights = sealed_files(Checkpoints(data=self.data).folder(experiment))
        return RunJournal(self._kept(experiment, protocol, "jsonl"), fingerprint(made_from, weights))

    def _kept(self, experiment: str, protocol: str, suffix: str) -> Path:
        return Path(self.data) / "runs" / f"{file_stem(f'{experiment}/{protocol}')}.{suffix}"

    def _streaming(self, run: BenchmarkRun) -> pl.DataFrame:
        from ml.benchmarks.guideme.data import items_from_tables
        from ml.benchmarks.streaming_guidance import predict_guidance
        from ml.benchmarks.streaming_runs import predict_full_recipe, predict_per_step

        speaker, features = self._speaker(run.experiment)
        if run.protocol.family is Family.GUIDEME:
            items = items_from_tables(run.data("benchmark_dialogues"), run.store.read("benchmark_turns", run.protocol.benchmark))
            return predict_guidance(speaker, features, items, **run.named, **run.kept)
        predict = predict_full_recipe if run.protocol.feed == "full_recipe" else predict_per_step
        return predict(speaker, features, run.data("benchmark_steps"), **run.named, **run.kept)

    def _speaker(self, experiment: str) -> "tuple[SpeakingModel, FeatureCache]":
        if experiment not in self._speakers:
            checkpoints = Checkpoints(data=self.data)
            self._speakers = {experiment: checkpoints.untuned() if experiment == UNTUNED else checkpoints.speaker(experiment)}
        return self._speakers[experiment]


def _check_taking_part(experiment: str, protocol: BenchmarkProtocol, asked: Assistant | None) -> None:
    families = asked.families if asked is not None else PlatformSettings().values.families_of(experiment)
    if not families:
        raise InputError(f"no experiment {experiment!r}", field="benchmarks.experiments", remedy="Declare it in the settings")
    if protocol.family not in families:
        raise InputError(
            f"{experiment} cannot take part in {protocol.family.value} benchmarks",
            record=f"{experiment}/{protocol.name}",
            field="protocol",
        )


def _ask(run: BenchmarkRun, model: Asked) -> pl.DataFrame:
    match run.protocol.family:
        case Family.EGO:
            return _ask_ego(run, model)
        case Family.GUIDEME:
            return _ask_guideme(run, model)
        case Family.COOK_MRE:
            return _ask_cook(run, model)


def _ask_ego(run: BenchmarkRun, model: Asked) -> pl.DataFrame:
    from ml.benchmarks.footage import FrameSettings, video_frames

    chosen = model.settings
    steps, messages = run.data("benchmark_steps"), run.store.read("benchmark_messages", run.protocol.benchmark)
    paths = dict(steps.select("recording_id", "video_path").unique().iter_rows())
    frames = video_frames(paths, FrameSettings(chosen.frames_per_second, chosen.box))
    return _play(run)(
        turn_factory(model),
        steps,
        frames,
        **run.named,
        references=messages,
        workers=model.workers,
        **run.kept,
    )


def _ask_guideme(run: BenchmarkRun, model: Asked) -> pl.DataFrame:
    from ml.benchmarks.assistants.per_second import PerSecondAssistant
    from ml.benchmarks.footage import FrameSettings, video_frames
    from ml.benchmarks.guideme.data import items_from_tables
    from ml.benchmarks.guideme.protocol import WindowPictures, predict_guideme

    chosen = model.settings
    dialogues = run.data("benchmark_dialogues")
    items = items_from_tables(dialogues, run.store.read("benchmark_turns", run.protocol.benchmark))
    frames = video_frames(dict(dialogues.select("recording_id", "video_path").iter_rows()), FrameSettings(1.0, chosen.box))
    assistant = PerSecondAssistant(model.client, chosen.max_tokens, chosen.temperature)
    return predict_guideme(
        lambda: assistant,
        items,
        frames,
        **run.named,
        pictures=WindowPictures(max_images=chosen.window_images),
        workers=model.workers,
        **run.kept,
    )


def _ask_cook(run: BenchmarkRun, model: Asked) -> pl.DataFrame:
    from ml.benchmarks.assistants.clips import SingleClipAssistant
    from ml.benchmarks.assistants.embedded_clips import EmbeddedClips
    from ml.benchmarks.cook_mre.protocol import ClipPictures, FrameRule, predict_cook
    from ml.benchmarks.cook_mre.samples import samples_from_table

    chosen = model.settings
    is_embedded = chosen.backend is AssistantBackend.EMBEDDED
    return predict_cook(
        EmbeddedClips(model.client) if is_embedded else SingleClipAssistant(model.client, chosen.max_tokens, chosen.temperature),
        samples_from_table(run.data("benchmark_clips")),
        **run.named,
        pictures=ClipPictures(rule=FrameRule(chosen.clip_frames), box=chosen.box),
        workers=model.workers,
        **run.kept,
    )


def _play(run: BenchmarkRun) -> Callable[..., pl.DataFrame]:
    from ml.benchmarks.protocols import run_full_recipe, run_per_step

    return run_full_recipe if run.protocol.feed == "full_recipe" else run_per_step


def _floor(run: BenchmarkRun) -> pl.DataFrame:
    from ml.benchmarks.assistants.floors import cook_floors, ego_floors, guideme_floors
    from ml.benchmarks.assistants.interface import ticks
    from ml.benchmarks.cook_mre.protocol import ClipPictures, predict_cook
    from ml.benchmarks.cook_mre.samples import samples_from_table
    from ml.benchmarks.guideme.data import items_from_tables
    from ml.benchmarks.guideme.protocol import predict_guideme

    match run.protocol.family:
        case Family.EGO:
            floor = ego_floors(median_step_s(run.store))[run.experiment]
            return _play(run)(floor, run.data("benchmark_steps"), ticks(), **run.named, **run.kept)
        case Family.GUIDEME:
            items = items_from_tables(run.data("benchmark_dialogues"), run.store.read("benchmark_turns", run.protocol.benchmark))
            return predict_guideme(guideme_floors()[run.experiment], items, ticks(), **run.named, **run.kept)
        case Family.COOK_MRE:
            samples = samples_from_table(run.data("benchmark_clips"))
            answer = cook_floors()[run.experiment]
            return predict_cook(answer, samples, **run.named, pictures=ClipPictures(box=None), **run.kept)


def median_step_s(store: TableStore) -> float:
    """What the duration timer knows: the median length of the clean instructed training steps."""
    from ml.benchmarks.floor_scores import training_median_step_s

    return training_median_step_s(store) or DEFAULT_STEP_S
