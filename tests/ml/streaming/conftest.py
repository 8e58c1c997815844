"""A model of the embedded kind with random weights, small films and samples of them. Everything is made here, nothing is downloaded."""

import os
from fractions import Fraction
from pathlib import Path

import hypothesis
import pytest
import torch

from ml.sample_kitchen.script import Recording, training_recordings
from ml.sample_kitchen.truth import counterfactuals
from ml.sample_kitchen.video_file import write_video
from ml.sample_kitchen.wording import instruction_text, success_text
from ml.streaming.base_rows import fixed_phrases, vocabulary_sentences
from ml.streaming.features import FeatureCache
from ml.streaming.model import StreamingModel, wrap
from ml.streaming.samples import TrainingSample
from ml.streaming.tiny import build_network, build_tokenizer

torch.set_num_threads(1)
# A shared machine may stall any example for longer than hypothesis allows by default.
hypothesis.settings.register_profile("streaming", deadline=None)
hypothesis.settings.load_profile("streaming")


@pytest.fixture(scope="session")
def recordings() -> list[Recording]:
    return list(training_recordings(2, 5))


@pytest.fixture(scope="session")
def tokenizer(recordings):
    return build_tokenizer(vocabulary_sentences(recordings), fixed_phrases())


@pytest.fixture
def make_model(tokenizer):
    """A fresh, equal model at each call: fine-tuning changes its base in place."""

    def make(seed: int = 0) -> StreamingModel:
        network = build_network(tokenizer, hidden=64, vision_layers=1, seed=seed).eval()
        return wrap(network, tokenizer, name="random")

    return make


@pytest.fixture
def model(make_model) -> StreamingModel:
    return make_model()


@pytest.fixture(scope="session")
def films(recordings, tmp_path_factory) -> list[Path]:
    folder = tmp_path_factory.mktemp("films")
    for index, recording in enumerate(recordings):
        write_video(recording, folder / f"{index}.mp4", Fraction(2))
    return [folder / f"{index}.mp4" for index in range(len(recordings))]


@pytest.fixture(scope="session")
def samples(recordings, films) -> list[TrainingSample]:
    """Three steps of each recording, each with the instruction that was followed and with one that was not."""
    made = []
    for index, (recording, film) in enumerate(zip(recordings, films, strict=True)):
        for step in recording.steps[:3]:
            clip = (f"kitchen/{index}", str(film), step.start_s, step.end_s)
            success = ((step.success_s, "success", success_text(step.instruction)),)
            made.append(TrainingSample(f"{index}/{step.index}", "ego_comist", *clip, instruction_text(step.instruction), success))
            other = counterfactuals(step)[0]
            feedback = ((other.apparent_s, "feedback", other.feedback),)
            made.append(TrainingSample(f"{index}/{step.index}/cf", "ego_comist", *clip, instruction_text(other.instruction), feedback))
    return made


@pytest.fixture
def features(model, tmp_path) -> FeatureCache:
    return FeatureCache(tmp_path / "features", model)


@pytest.fixture(scope="session")
def metric_cases() -> Path:
    """Folder of the metric reference cases."""
    repository = Path(__file__).parents[3]
    shared = Path(os.environ.get("INTERJECT_SHARED", repository.parent / "shared"))
    folder = Path(os.environ.get("METRIC_CASES", shared / "metric_cases"))
    if not (folder / "action_head.json").exists():
        pytest.skip(f"no reference cases at {folder}")
    return folder
