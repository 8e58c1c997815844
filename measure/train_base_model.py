"""Train the embedded base model and print its narration accuracy on held-out recordings.

    python measure/train_base_model.py --seed 0 --out ml/streaming/weights

About 25 minutes on 2 idle cores. ``--score-only`` scores the weights in ``--out`` instead of training.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from ml.sample_kitchen.world import KitchenSplit
from ml.streaming.base_training import BaseTrainingSettings, settings_as_json, train_base, write_base
from ml.streaming.footage import Footage, held_out_footage, training_footage
from ml.streaming.model import StreamingModel, load_model
from ml.streaming.narrate import EmbeddedNarrator
from ml.streaming.narration_quality import score_narrator

EVALUATION_SEED = 70_000
CAMERA_RATE = 10
TRAINED_ON = (
    "Clean recordings of the sample kitchen's train split. First the vision tower alone on single seconds: what is done, counted, in view. "
    "Then all of it on three kinds of row: narrations of windows; an instruction, followed or counterfactual, with the step's video and a "
    "narrator's remarks at random seconds on whether what is seen is as asked; text rows that set instructions beside narrations and give "
    "such remarks or an assistant's replies. No speak/silent decisions; no adapter is shipped."
)


def final_scores(model: StreamingModel, windows: int, workers: int) -> dict[str, Any]:
    """Narration accuracy on evaluation recordings (held-out combinations) and on the unseen split, from files at 10 frames a second."""
    scores = {}
    for split in (KitchenSplit.EVALUATION, KitchenSplit.UNSEEN):
        footage = held_out_footage(split, 60, EVALUATION_SEED, workers, CAMERA_RATE)
        began = time.monotonic()
        score = score_narrator(EmbeddedNarrator(model), footage, windows, seed=9)
        scores[str(split)] = {
            "windows": score.windows,
            "main_action_named": round(score.named, 4),
            "exact": round(score.exact, 4),
            "narrated_in_s": round(time.monotonic() - began, 1),
            "by_action": {verb: list(values) for verb, values in score.by_action.items()},
        }
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True, help="folder for the weights")
    parser.add_argument("--start", type=Path, help="weights as the first phase left them: run only the later phases")
    parser.add_argument("--recordings", type=int, default=900)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--windows", type=int, default=640, help="windows of the final score")
    parser.add_argument("--keep", type=Path, help="folder for the weights of every 250th step, to look at while training")
    parser.add_argument("--score-only", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    torch.set_flush_denormal(True)  # decays of the delta rule reach denormal numbers, which made a step 1.2 to 1.4 times slower
    if arguments.score_only:
        print(json.dumps(final_scores(load_model(arguments.out), arguments.windows, arguments.threads), indent=2))
        return
    settings = replace(BaseTrainingSettings(), seed=arguments.seed)
    began = time.monotonic()
    footage = training_footage(arguments.recordings, arguments.seed, arguments.threads)
    held_out: Footage = held_out_footage(KitchenSplit.VALIDATION, 30, 0, arguments.threads)
    frames = sum(len(frames) for frames in footage.frames)
    print(f"filmed {len(footage.recordings)} recordings, {frames} frames in {time.monotonic() - began:.0f} s", flush=True)

    def check(model: StreamingModel, step: int) -> dict[str, Any]:
        if arguments.keep is not None:
            write_base(model, arguments.keep / str(step), {"unfinished_at_step": step})
        score = score_narrator(EmbeddedNarrator(model), held_out, 128, seed=step)
        return {"named": round(score.named, 3), "exact": round(score.exact, 3)}

    began = time.monotonic()
    start = None if arguments.start is None else load_model(arguments.start)
    model = train_base(footage, settings, report=lambda row: print(json.dumps(row), flush=True), check=check, start=start)
    trained_s = time.monotonic() - began
    command = f"python measure/train_base_model.py --seed {arguments.seed} --recordings {arguments.recordings}"
    made_by = {
        "command": command,
        "threads": arguments.threads,
        "settings": settings_as_json(settings),
        "trained_s": round(trained_s),
        "parameters": sum(parameter.numel() for parameter in model.network.parameters()),
        "knows": "The rendered sample kitchen only.",
        "trained_on": TRAINED_ON,
        "scores": final_scores(model, arguments.windows, arguments.threads),
    }
    write_base(model, arguments.out, made_by)
    print(json.dumps(made_by, indent=2))


if __name__ == "__main__":
    main()
