"""Base models, tuned checkpoints and video features on disk, and tuning one experiment of the settings."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
import polars as pl

from ml.locks import only_one
from ml.setting_sections.training import Experiment
from ml.tables.declarations.training import TUNING_LOG
from resources.settings import PlatformSettings

if TYPE_CHECKING:
    from ml.streaming.features import FeatureCache
    from ml.streaming.model import StreamingModel
    from ml.streaming.runtime import SpeakingModel
    from ml.streaming.samples import TrainingSample
    from ml.streaming.settings import FineTuneSettings

EMBEDDED = "embedded"
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Tuned:
    """What a tuning run left: its log as the ``tuning_log`` table, thresholds and scores on validation samples."""

    folder: Path
    log: pl.DataFrame
    steps: int
    samples: int
    refused: int
    thresholds: dict[str, float]
    validation: dict[str, float]


class Checkpoints(dg.ConfigurableResource):
    """Checkpoints below ``data/checkpoints/<experiment>``, video features below ``data/video_features``."""

    data: str

    def folder(self, experiment: str) -> Path:
        return Path(self.data) / "checkpoints" / experiment

    def base(self, chosen: Experiment) -> "StreamingModel":
        import torch

        from ml.streaming.model import load_model
        from ml.streaming.weights_location import WEIGHTS_FOLDER

        device = ("cuda" if torch.cuda.is_available() else "cpu") if chosen.device == "auto" else chosen.device
        return load_model(WEIGHTS_FOLDER if chosen.base == EMBEDDED else chosen.base, device=device)

    def features(self, base: "StreamingModel") -> "FeatureCache":
        from ml.streaming.features import FeatureCache

        return FeatureCache(Path(self.data) / "video_features", base)

    def tune(self, experiment: str, mix: pl.DataFrame, made_from: str, progress_of: Callable[[str], Progress]) -> Tuned:
        """Tune the experiment on a mix; goes on where a killed run stopped. Thresholds are picked on the mix's validation samples.

        ``made_from`` is the fingerprint of the inputs; ``progress_of(stage)`` gives the progress of the stages ``video_features`` and
        ``checkpoint``. The run's state stays until ``forget_state``. Raises ``InputError`` where another process tunes the experiment.
        """
        with only_one(self.folder(experiment) / ".lock", f"tuning {experiment}"):
            return self._tune(experiment, mix, made_from, progress_of)

    def _tune(self, experiment: str, mix: pl.DataFrame, made_from: str, progress_of: Callable[[str], Progress]) -> Tuned:
        from ml.streaming.checkpoint_files import seal
        from ml.streaming.fine_tuning import fine_tune
        from ml.streaming.runtime import SpeakingModel
        from ml.streaming.settings import Thresholds
        from ml.streaming.thresholds import pick_thresholds, require_validation, write_thresholds

        chosen = PlatformSettings().values.experiments[experiment]
        base = self.base(chosen)
        features = self.features(base)
        train, validation = training_samples(mix, "train"), training_samples(mix, "validation")
        features.prepare([*train, *validation], progress_of("video_features"))
        require_validation(validation, features)
        tuned, result = fine_tune(base, train, features, tuning_settings(chosen), self.folder(experiment), progress_of("checkpoint"))
        speaker = SpeakingModel(tuned.model, tuned.head, Thresholds())
        thresholds, score = pick_thresholds(speaker, validation, features)
        write_thresholds(self.folder(experiment), thresholds, score)
        seal(self.folder(experiment), made_from)
        log = TUNING_LOG.rows([{"experiment": experiment, **asdict(row)} for row in result.log])
        return Tuned(result.folder, log, result.steps, result.samples, len(result.refused), asdict(thresholds), asdict(score))

    def forget_state(self, experiment: str) -> None:
        """The run's results are stored: its state is of no use any more."""
        from ml.streaming.run_state import forget_state

        forget_state(self.folder(experiment))

    def speaker(self, experiment: str) -> tuple["SpeakingModel", "FeatureCache"]:
        """A tuned experiment, ready to stream, and the feature cache of its base."""
        from ml.streaming.runtime import load_speaker

        base = self.base(PlatformSettings().values.experiments[experiment])
        features = self.features(base)
        return load_speaker(base, self.folder(experiment)), features

    def untuned(self) -> tuple["SpeakingModel", "FeatureCache"]:
        """The embedded base without any tuning, and the feature cache for it."""
        from ml.streaming.untuned import UntunedSpeaker

        base = self.base(Experiment(mix=""))
        return UntunedSpeaker(base), self.features(base)


def tuning_settings(chosen: Experiment) -> "FineTuneSettings":
    """The experiment's settings over the defaults of its base: the embedded model's own, else Qwen's (EGO-MC-Bench appendix G)."""
    from dataclasses import replace

    from ml.streaming.settings import EMBEDDED_FINE_TUNING, FineTuneSettings

    defaults = EMBEDDED_FINE_TUNING if chosen.base == EMBEDDED else FineTuneSettings()
    given = {"steps": chosen.steps, "batch_size": chosen.batch_size, "learning_rate": chosen.learning_rate, "lora_rank": chosen.lora_rank}
    named: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    return replace(defaults, **named, seed=chosen.seed, save_every=chosen.save_every)


def training_samples(mix: pl.DataFrame, split: str) -> list["TrainingSample"]:
    """Rows of a training mix as samples of one split."""
    from ml.streaming.samples import TrainingSample

    return [
        TrainingSample(
            row["sample_id"],
            row["dataset"],
            row["recording_id"],
            row["video_path"],
            row["start_s"],
            row["end_s"],
            row["instruction"],
            tuple((message["t_s"], message["kind"], message["text"]) for message in row["messages"]),
            row["weight"],
            row["mistake_type"],
        )
        for row in mix.filter(pl.col("split") == split).iter_rows(named=True)
    ]
