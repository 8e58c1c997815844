"""Measure the way from 25,000 pairs to EGO-CoMist: text vectors, scores, filters, balance. Prints seconds per stage and peak memory.

The rows are made: recipe-like steps in many wordings, shared between recordings as in the published set, with counterfactuals of all five
mistake types. Only the work after the LLM stages is measured, with the real embedding model and a new LanceDB folder.

    python measure/comist_selection.py --pairs 25000 --threads 2
"""

import argparse
import random
import resource
import tempfile
import time
from pathlib import Path

import polars as pl

from ml.comist.candidates import build_candidates, candidate_texts
from ml.comist.selection import SelectionSettings, select
from ml.counterfactuals.registry import DIRECTIONS
from ml.embeddings.encoder import TextEncoder
from ml.embeddings.store import TextVectorStore
from ml.tables.declarations.counterfactuals import COUNTERFACTUALS, FEEDBACK_TIMESTAMPS
from ml.tables.declarations.recordings import RECORDINGS
from ml.vocabulary import MistakeType, Status

LIMIT_S, LIMIT_GB = 180.0, 2.0


def _words(text: str) -> list[str]:
    return text.split()


FOODS = [
    *_words(
        "onion carrot garlic tomato potato apple cucumber zucchini mushroom pepper celery ginger lemon mango spinach tofu chicken beef"
    ),
    *_words("salmon shrimp rice pasta noodles lentils beans bread tortilla cheese butter yogurt cream milk egg flour sugar salt cumin oil"),
]
VESSELS = _words("bowl pan pot mug blender tray jar plate wok skillet saucepan colander")
MANNERS = _words("slowly carefully gently quickly evenly thoroughly firmly lightly")
ENDS = ["until smooth", "until golden", "until soft", "before the next step", "and keep it warm", "and set it aside", "while stirring", ""]
CUTS = _words("slice dice chop grate peel mash mince shred julienne cube")
COOKING = _words("fry boil steam roast grill simmer bake toast")
SOURCES = {"captaincook4d": 384, "ego4d_goalstep": 700, "egoexo4d": 600}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=25_000)
    parser.add_argument("--threads", type=int, default=2, help="torch threads")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    counterfactuals, timestamps, recordings, benchmark = made_rows(options.pairs, options.seed)
    times: dict[str, tuple[float, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        begun = _now()
        store = TextVectorStore(Path(folder), TextEncoder(threads=options.threads, batch_size=options.batch_size))
        texts = candidate_texts(counterfactuals, benchmark)
        store.encoder.encode(["warm up"])
        begun = _lap(times, "load model", begun)
        vectors = store.embed(texts)
        begun = _lap(times, "embed and store", begun)
        store.build_index()
        store.optimise()
        begun = _lap(times, "index", begun)
        candidates = build_candidates(counterfactuals, timestamps, recordings, benchmark, vectors)
        begun = _lap(times, "scores and duplicates", begun)
        selection = select(candidates, SelectionSettings())
        _lap(times, "filters, balance, split", begun)
    total = sum(wall for wall, _ in times.values())
    cpu = sum(seconds for _, seconds in times.values())
    peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"{counterfactuals.height} pairs, {len(texts)} distinct texts, {candidates['duplicate_of'].count()} with a near neighbour")
    for name, (wall, seconds) in times.items():
        print(f"{name:<28}{wall:8.1f} s{seconds:8.1f} s of processor time")
    print(f"{'total':<28}{total:8.1f} s{cpu:8.1f} s of processor time (limit {LIMIT_S:.0f} s)")
    print(f"{'peak memory':<28}{peak_gb:8.2f} GiB (limit {LIMIT_GB:.0f})")
    print(f"kept {selection.ego_comist.height}; rejected {dict(selection.rejections)}")
    raise SystemExit(0 if total < LIMIT_S and peak_gb < LIMIT_GB else 1)


def _now() -> tuple[float, float]:
    """Wall clock and this process's processor time over all threads: on a busy machine the latter is the steadier figure."""
    return time.perf_counter(), time.process_time()


def _lap(times: dict[str, tuple[float, float]], name: str, begun: tuple[float, float]) -> tuple[float, float]:
    now = _now()
    times[name] = (now[0] - begun[0], now[1] - begun[1])
    return now


def made_rows(pairs: int, seed: int) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame, list[str]]:
    """Counterfactuals, feedback timestamps, recordings and benchmark texts; about half as many distinct texts as pairs."""
    rng = random.Random(seed)
    known = [(source, f"{source}/{n}") for source, count in SOURCES.items() for n in range(count)]
    wordings = [_wording(rng) for _ in range(max(1, pairs // 5))]
    rows: list[dict[str, object]] = []
    due: list[dict[str, object]] = []
    while len(rows) < pairs:
        _, recording_id = rng.choice(known)
        kind, original, changes = rng.choice(wordings)
        direction, changed = rng.choice(changes)
        index = len(rows)
        step = f"{rng.randrange(20)}#0"
        start_s = rng.uniform(0, 900)
        end_s = start_s + rng.uniform(5, 90)
        common = {"pair_id": f"p{index:06}", "recording_id": recording_id, "step_uid": step, "mistake_type": kind, "direction": direction}
        rows.append(
            {
                **common,
                "attribute_index": 0,
                "instruction": original,
                "fields": [],
                "counterfactual_instruction": changed,
                "feedback": f"That is not right; you were asked to {changed.lower()}.",
                "model": "made",
                "status": Status.OK,
            }
        )
        t_s = rng.uniform(start_s, end_s)
        due.append(
            {
                **common,
                "clip_start_s": start_s,
                "clip_end_s": end_s,
                "t_s": t_s,
                "options_s": [t_s],
                "model": "made",
                "status": Status.OK,
            }
        )
    recordings: list[dict[str, object]] = [
        {
            "recording_id": recording_id,
            "source": source,
            "native_id": recording_id.split("/")[1],
            "licence": "made",
            "members": [],
            "video_status": Status.OK,
            "status": Status.OK,
        }
        for source, recording_id in known
    ]
    benchmark = [_wording(rng)[1] for _ in range(559)]  # as many steps as EGO-MC-Bench has
    return COUNTERFACTUALS.rows(rows), FEEDBACK_TIMESTAMPS.rows(due), RECORDINGS.rows(recordings), benchmark


def _wording(rng: random.Random) -> tuple[MistakeType, str, list[tuple[str, str]]]:
    """A step and its counterfactual instructions by direction."""
    kind = rng.choices(list(MistakeType), weights=[2, 5, 5, 1, 1])[0]
    food, other, vessel, manner, end = (rng.choice(words) for words in (FOODS, FOODS, VESSELS, MANNERS, ENDS))
    number = rng.randint(2, 9)
    match kind:
        case MistakeType.MEASUREMENT:
            unit = rng.choice(["cups", "tablespoons", "scoops", "slices", "teaspoons"])
            template = f"Add {{}} {unit} of {food} to the {vessel} with the {other} {end}"
            values = [str(number), str(number - 1), str(number + rng.randint(1, 3))]
        case MistakeType.TIMING:
            template = f"Cook the {food} and {other} in the {vessel} for {{}} minutes {end}"
            values = [str(number), str(number - 1), str(number + rng.randint(1, 5))]
        case MistakeType.TEMPERATURE:
            template = f"{rng.choice(COOKING).capitalize()} the {food} with {other} over {{}} heat {end}"
            values = ["medium", "low", "high"]
        case MistakeType.PREPARATION:
            template = f"{{}} the {food} {manner} and put it into the {vessel} with the {other} {end}"
            values = [word.capitalize() for word in rng.sample(CUTS, 3)]
        case MistakeType.TECHNIQUE:
            template = f"{{}} the {food} {manner} in the {vessel} together with {other} {end}"
            values = [word.capitalize() for word in rng.sample(COOKING, 3)]
    texts = [template.format(value).strip() for value in values]
    ways = DIRECTIONS[kind]
    return kind, texts[0], [(ways[0].value, texts[1]), (ways[-1].value, texts[2])]


if __name__ == "__main__":
    main()
