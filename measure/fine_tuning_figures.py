"""Tune the embedded model on a finished mix with several seeds and print the figures on single steps, seen and unseen.

    python measure/fine_tuning_figures.py --data data --seeds 0 1 2

``--data`` is the platform's data folder after a run of the graph: its training mix and its sample-kitchen steps are read, nothing in it is
written but video features. ``--untuned`` scores the untuned base instead; ``--cached N`` also streams the first N steps one block at a
time and counts those whose messages differ.
"""

import argparse
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import polars as pl
import torch

from ml.benchmarks.ego.scores import score_ego
from ml.benchmarks.streaming_runs import predict_per_step
from ml.streaming.features import FeatureCache
from ml.streaming.fine_tuning import fine_tune
from ml.streaming.model import load_model
from ml.streaming.runtime import SpeakingModel, StreamingAssistant
from ml.streaming.samples import block_range, block_times
from ml.streaming.settings import EMBEDDED_FINE_TUNING, Thresholds
from ml.streaming.thresholds import pick_thresholds
from ml.streaming.untuned import UntunedSpeaker
from ml.streaming.weights_location import WEIGHTS_FOLDER
from ml.tables.store import TableStore
from resources.checkpoints import training_samples

BENCHMARKS = ("kitchen_steps", "kitchen_steps_unseen")
SHOWN = ("mistake_f1_3s", "mistake_precision_3s", "mistake_recall_3s", "ic_acc_3s", "success_on_mistake", "mistake_f1", "ic_acc")


def figures(speaker: SpeakingModel, features: FeatureCache, store: TableStore, name: str) -> None:
    for benchmark in BENCHMARKS:
        steps, messages = store.read("benchmark_steps", benchmark), store.read("benchmark_messages", benchmark)
        began = time.monotonic()
        predictions = predict_per_step(speaker, features, steps, experiment=name, protocol=f"{benchmark}.per_step.true_end")
        took_s = time.monotonic() - began
        scores = score_ego(steps, messages, predictions)
        pooled = {row["metric"]: row["value"] for row in scores.filter(pl.col("group") == "all").iter_rows(named=True)}
        by_type = scores.filter((pl.col("metric") == "mistake_recall_3s") & (pl.col("group") != "all"))
        row = {
            "run": name,
            "benchmark": benchmark,
            "steps": steps.height,
            "mistakes": steps["mistake_type"].count(),
            **{metric: round(pooled[metric], 3) for metric in SHOWN},
            "recall_3s_by_type": {group: round(value, 2) for group, value in by_type.select("group", "value").iter_rows()},
            "predicted_in_s": round(took_s, 1),
        }
        print(json.dumps(row), flush=True)


def cached_differences(speaker: SpeakingModel, features: FeatureCache, store: TableStore, count: int) -> int:
    """Steps among the first ``count`` whose messages differ between cached streaming and the batched full forward."""
    steps = store.read("benchmark_steps", BENCHMARKS[0]).sort("recording_id", "position").head(count)
    batched = predict_per_step(speaker, features, steps, experiment="x", protocol=f"{BENCHMARKS[0]}.per_step.true_end")
    differing = 0
    for step in steps.iter_rows(named=True):
        assistant = StreamingAssistant(speaker)
        assistant.start(step["instruction"], step["start_s"])
        clip = features.of_clip(step["video_path"], step["start_s"], step["end_s"])
        said = []
        for block, block_features in zip(block_range(step["start_s"], step["end_s"]), clip, strict=True):
            utterance = assistant.observe_features(block_features, block_times(block))
            if utterance is not None:
                said.append((utterance.t_s, str(utterance.kind), utterance.text))
        rows = batched.filter((pl.col("unit_id") == step["unit_id"]) & pl.col("kind").is_not_null())
        differing += said != list(rows.select("t_s", "kind", "text").iter_rows())
    return differing


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--mix", default="comist_plus")
    parser.add_argument("--weights", type=Path, default=WEIGHTS_FOLDER)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=EMBEDDED_FINE_TUNING.steps)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cached", type=int, default=0)
    parser.add_argument("--untuned", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    store = TableStore(arguments.data / "tables")
    if arguments.untuned:
        base = load_model(arguments.weights)
        figures(UntunedSpeaker(base), FeatureCache(arguments.data / "video_features", base), store, "untuned_base")
        return
    mix = store.read("training_mix", arguments.mix)
    for seed in arguments.seeds:
        base = load_model(arguments.weights)
        features = FeatureCache(arguments.data / "video_features", base)
        settings = replace(EMBEDDED_FINE_TUNING, steps=arguments.steps, seed=seed)
        with tempfile.TemporaryDirectory() as folder:
            tuned, result = fine_tune(base, training_samples(mix, "train"), features, settings, Path(folder))
        speaker = SpeakingModel(tuned.model, tuned.head, Thresholds())
        thresholds, score = pick_thresholds(speaker, training_samples(mix, "validation"), features)
        speaker = replace(speaker, thresholds=thresholds)
        print(json.dumps({"seed": seed, "tuned_s": round(result.elapsed_s), "thresholds": str(thresholds), "validation": str(score)}))
        figures(speaker, features, store, f"seed_{seed}")
        if arguments.cached:
            print(
                f"cached streaming differs on {cached_differences(speaker, features, store, arguments.cached)} of {arguments.cached} steps"
            )


if __name__ == "__main__":
    main()
