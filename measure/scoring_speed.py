"""Speed of scoring as ratios: GuideMe against embedding each distinct text once, EGO in seconds, the bootstrap against the point estimate.

    python -m measure.scoring_speed [--videos 473] [--steps 10000] [--without-guideme]

Prints one line per figure with its limit. Times are CPU seconds of this process, so that other work on the machine does not count;
run it with OMP_NUM_THREADS=1. On an idle core the whole takes about five minutes, nearly all of it in the encoder, which embeds 28,000
texts twice; how far it is stands on standard error. Texts are made from a word list, so that nearly all are distinct, as in real runs.
"""

import argparse
import resource
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
import polars as pl

from ml.benchmarks.bootstrap import BootstrapOptions
from ml.benchmarks.cook_mre.judged import always
from ml.benchmarks.cook_mre.metrics import CookOptions
from ml.benchmarks.cook_mre.samples import ELEMENTS, CookSample
from ml.benchmarks.cook_mre.scores import score_cook
from ml.benchmarks.ego.options import EgoOptions
from ml.benchmarks.ego.scores import score_ego
from ml.benchmarks.guideme.embedding import Encode
from ml.benchmarks.guideme.options import official
from ml.benchmarks.guideme.scores import GuidanceVideo, score_guideme
from ml.benchmarks.guideme.timeline import SILENT, Instant
from ml.tables.declarations.benchmarks import BENCHMARK_MESSAGES, BENCHMARK_STEPS
from ml.tables.declarations.results import PREDICTIONS
from ml.vocabulary import MistakeType

_HEAD = "add stir slice dice the onion pan flour cup spoon two three more less heat low high bowl whisk knife"
_TAIL = "now then careful stop pour water salt pepper butter egg mix fold until golden remove lid oven board plate next before after"
WORDS = f"{_HEAD} {_TAIL}".split()
INSTANTS, REFERENCES, SAID = 360, 20, 40
EMBEDDED_AT_ONCE, TOLD_EVERY_S = 2048, 10.0
T = TypeVar("T")
STEPS_PER_RECORDING, SAID_PER_STEP = 14, 10


def sentence(rng: np.random.Generator) -> str:
    return " ".join(rng.choice(WORDS, size=int(rng.integers(6, 16))))


def guidance_videos(count: int) -> Iterator[GuidanceVideo]:
    """Videos of 360 instants with 20 references and 40 predictions, made one at a time."""
    for number in range(count):
        rng = np.random.default_rng(number)
        references = {int(i): sentence(rng) for i in rng.choice(INSTANTS, REFERENCES, replace=False)}
        said = {int(i): sentence(rng) for i in rng.choice(INSTANTS, SAID, replace=False)}
        yield GuidanceVideo(str(number), tuple(Instant(float(t), said.get(t, SILENT), references.get(t, SILENT)) for t in range(INSTANTS)))


def measure_guideme(videos: int) -> None:
    from ml.embeddings.encoder import TextEncoder

    encoder = TextEncoder()
    encoder.encode(["warm up"])
    before = peak_mib()
    score(told(guidance_videos(videos), videos, "memory"), vectors_at_hand)
    once_over = peak_mib()
    score(told(guidance_videos(3 * videos), 3 * videos, "memory, three times as many"), vectors_at_hand)
    peaks = f"{before:.0f} MiB before, {once_over:.0f} after {videos} videos, {peak_mib():.0f} after {3 * videos}"
    print(f"GuideMe: peak memory {peaks}")
    encoding_s = [0.0]

    def encode(texts: Sequence[str]) -> np.ndarray:
        start = time.process_time()
        vectors = encoder.encode(texts)
        encoding_s[0] += time.process_time() - start
        return vectors

    start = time.process_time()
    score(told(guidance_videos(videos), videos, "scoring"), encode)
    whole_s = time.process_time() - start
    start = time.process_time()
    texts = [text for video in guidance_videos(videos) for x in video.instants for text in (x.said or "", x.reference) if text != SILENT]
    made_s = time.process_time() - start
    once = sorted(set(texts), key=len)  # as one call would take them: parts of like length pad little
    embed_s = 0.0
    for first in told(range(0, len(once), EMBEDDED_AT_ONCE), -(-len(once) // EMBEDDED_AT_ONCE), "embedding once"):
        start = time.process_time()
        encoder.encode(once[first : first + EMBEDDED_AT_ONCE])
        embed_s += time.process_time() - start
    scored_s = whole_s - made_s
    print(
        f"GuideMe: {videos} videos scored in {scored_s:.1f} s, {len(once)} distinct texts embedded once in {embed_s:.1f} s: "
        f"ratio {scored_s / embed_s:.3f} (limit 1.15); scoring without embedding {scored_s - encoding_s[0]:.1f} s"
    )


def score(videos: Iterable[GuidanceVideo], encode: Encode) -> None:
    score_guideme(videos, encode, official(), experiment="speed", protocol="guideme.dense")


def vectors_at_hand(texts: Sequence[str]) -> np.ndarray:
    """Unit vectors as an encoder gives them, at no cost."""
    rng = np.random.default_rng(len(texts))
    vectors = rng.normal(size=(len(texts), 384)).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def told(items: Iterable[T], total: int, what: str) -> Iterator[T]:
    """The items, with a line on standard error every 10 s that says how far it is."""
    started = last = time.monotonic()
    for done, item in enumerate(items):
        now = time.monotonic()
        if now - last >= TOLD_EVERY_S:
            last = now
            left_s = (now - started) / done * (total - done) if done else 0.0
            print(f"  GuideMe, {what}: {done} of {total}, about {left_s:.0f} s left", file=sys.stderr, flush=True)
        yield item


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def ego_tables(steps: int) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """Benchmark steps of 30 s, two in three with a mistake, and ten predictions each."""
    rng = np.random.default_rng(1)
    types = [t.value for t in MistakeType]
    step_rows: list[dict[str, object]] = []
    message_rows: list[dict[str, object]] = []
    said_rows: list[dict[str, object]] = []
    for number in range(steps):
        recording, position = divmod(number, STEPS_PER_RECORDING)
        unit, start = f"demo/{recording}/{position}", 30.0 * position
        mistake = types[number % 5] if number % 3 else None
        at = {"benchmark": "demo", "unit_id": unit}
        step_rows.append(
            {
                **at,
                "recording_id": f"demo/{recording}",
                "position": position,
                "start_s": start,
                "end_s": start + 30,
                "instruction": sentence(rng),
                "mistake_type": mistake,
                "video_path": None,
            }
        )
        if mistake:
            message_rows.append(
                {**at, "message_index": 0, "t_s": start + 12, "kind": "feedback", "text": sentence(rng), "mistake_type": mistake}
            )
        message_rows.append({**at, "message_index": 1, "t_s": start + 29, "kind": "success", "text": "good", "mistake_type": None})
        for index, t in enumerate(np.sort(rng.uniform(0, 30, SAID_PER_STEP))):
            said_rows.append(
                {
                    "experiment": "speed",
                    "protocol": "demo.per_step",
                    "recording_id": f"demo/{recording}",
                    "unit_id": unit,
                    "message_index": position * SAID_PER_STEP + index,
                    "t_s": start + float(t),
                    "kind": "success" if index == SAID_PER_STEP - 1 else "feedback",
                    "text": sentence(rng),
                    "score": 0.5,
                    "status": "ok",
                    "reason": None,
                }
            )
    return BENCHMARK_STEPS.rows(step_rows), BENCHMARK_MESSAGES.rows(message_rows), PREDICTIONS.rows(said_rows)


def measure_ego(steps: int) -> None:
    tables = ego_tables(steps)
    score_ego(*ego_tables(100))  # imports
    point_only = EgoOptions(bootstrap=BootstrapOptions(draws=0))
    times = []
    for options in (point_only, point_only, replace(point_only, bootstrap=BootstrapOptions())):
        start = time.process_time()
        score_ego(*tables, options)
        times.append(time.process_time() - start)
    first_s, point_s, whole_s = times  # the first fills the store of ROUGE-L values
    print(f"EGO: {steps} steps with {SAID_PER_STEP} predictions each, two windows: {first_s:.2f} s (limit 5 s for 10,000 steps)")
    print(f"Bootstrap (EGO): 1,000 draws of every metric in {whole_s - point_s:.2f} s: ratio {(whole_s - point_s) / point_s:.2f} (limit 2)")


def measure_bootstrap(videos: int, samples: int) -> None:
    """The other families' bootstrap against their point estimate, without embedding and judging: vectors and verdicts are at hand."""

    chosen = list(guidance_videos(videos))
    clips = [
        CookSample(f"s{i}", f"c{i // 3}", "dice", "slice", ELEMENTS[i % 4] if i % 4 < 3 else None, "hard" if i % 2 else "easy")
        for i in range(samples)
    ]
    judgement = always(clips, True)
    runs: dict[str, Callable[[BootstrapOptions], object]] = {
        f"GuideMe, {videos} videos": lambda bootstrap: score_guideme(
            chosen, vectors_at_hand, replace(official(), bootstrap=bootstrap), experiment="speed", protocol="guideme.dense"
        ),
        f"Cook-MRE, {samples} samples": lambda bootstrap: score_cook(
            clips, judgement, CookOptions(bootstrap=bootstrap), experiment="speed", protocol="cook_mre.default"
        ),
    }
    for name, run in runs.items():
        run(BootstrapOptions(draws=10))
        times: dict[int, list[float]] = {0: [], 1000: []}
        for draws, found in times.items():
            for _ in range(3):
                start = time.process_time()
                run(BootstrapOptions(draws=draws))
                found.append(time.process_time() - start)
        point_s, whole_s = (min(found) for found in times.values())
        drawn_s = whole_s - point_s
        print(f"Bootstrap ({name}): point estimate {point_s:.2f} s, 1,000 draws {drawn_s:.2f} s: ratio {drawn_s / point_s:.2f} (limit 2)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--videos", type=int, default=473)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--without-guideme", action="store_true")
    arguments = parser.parse_args()
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    measure_ego(arguments.steps)
    measure_bootstrap(arguments.videos, 1289)
    if not arguments.without_guideme:
        measure_guideme(arguments.videos)


if __name__ == "__main__":
    main()
