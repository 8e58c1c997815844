"""The tables' values are those of the scorers that the metric cases check, whatever the average; Cook-MRE's by properties too."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.benchmarks.bootstrap import BootstrapOptions
from ml.benchmarks.cook_mre.judged import Judgement, always
from ml.benchmarks.cook_mre.metrics import (
    CookOptions,
    CorrectSample,
    HintCounting,
    MistakePrompts,
    MistakeSample,
    TypeUnderHint,
    Unparsable,
    score_cook_mre,
)
from ml.benchmarks.cook_mre.samples import ELEMENTS, CookSample
from ml.benchmarks.cook_mre.scores import score_cook, tally_cook
from ml.benchmarks.data import read_benchmark
from ml.benchmarks.ego.mistakes import score_mistakes
from ml.benchmarks.ego.options import Average as EgoAverage
from ml.benchmarks.ego.options import EgoOptions
from ml.benchmarks.ego.scores import score_ego
from ml.benchmarks.ego.units import scored_units
from ml.benchmarks.guideme.options import Average, GuideMeOptions, SoftOptions, WithoutReferences
from ml.benchmarks.guideme.scores import GuidanceVideo, score_guideme, tally_guideme
from ml.benchmarks.guideme.soft import score_corpus, score_video
from ml.benchmarks.guideme.timeline import Instant
from ml.benchmarks.readers import read_predictions
from ml.benchmarks.tally import ALL
from tests.ml.benchmarks.guideme.test_behavior_and_scores import hashed_vectors
from tests.ml.benchmarks.made_files import ego_files

QUICK = BootstrapOptions(draws=20)


def whole(scores):
    return {row["metric"]: row["value"] for row in scores.filter(pl.col("group") == ALL).iter_rows(named=True)}


VIDEOS = [
    GuidanceVideo("a", (Instant(0.0, "add salt", "add salt"), Instant(9.0, "stir well", "stir the soup"), Instant(20.0, "hello"))),
    GuidanceVideo("b", (Instant(0.0, "peel it"), Instant(9.0, "Silent"))),
    GuidanceVideo("c", (Instant(0.0, "cut", "cut the bread"), Instant(50.0, "Silent", "eat"))),
]


@pytest.mark.parametrize("average", list(Average))
@pytest.mark.parametrize("without", list(WithoutReferences))
def test_guideme_averages(average, without):
    soft = SoftOptions(average=average, without_references=without)

    def cosines(said, references):
        return hashed_vectors(list(said)).astype(float) @ hashed_vectors(list(references)).astype(float).T

    wanted = score_corpus([score_video(video.instants, cosines, soft) for video in VIDEOS], soft)
    options = GuideMeOptions(soft, bootstrap=QUICK)
    found = whole(score_guideme(VIDEOS, hashed_vectors, options, experiment="x", protocol="g.dense"))
    for name, value in (
        ("soft_precision", wanted.precision),
        ("soft_recall", wanted.recall),
        ("soft_f1", wanted.f1),
        ("hard_precision", wanted.hard_precision),
        ("hard_f1", wanted.hard_f1),
    ):
        assert found[name] == pytest.approx(value, abs=1e-6), name
    tally = tally_guideme(VIDEOS[::-1], hashed_vectors, options)
    assert tally.clusters == ("a", "b", "c")
    main = next(measure for measure in tally.compared if measure.name == "soft_f1")
    assert main.of(tally.sums.sum(0, keepdims=True))[0] == pytest.approx(found["soft_f1"])


@pytest.mark.parametrize("average", list(EgoAverage))
def test_ego_averages(tmp_path, average):
    benchmark, _, weak = ego_files(tmp_path)
    data = read_benchmark(benchmark)
    run = read_predictions(weak, data).table
    options = EgoOptions(average=average, half_window_s=12.0, bootstrap=QUICK)
    tables = data["benchmark_steps"], data["benchmark_messages"]
    units = [unit.mistakes for unit in scored_units(*tables, run, run["protocol"][0], options)]
    wanted = score_mistakes(units, options)
    found = whole(score_ego(*tables, run, options))
    assert (found["mistake_precision"], found["mistake_recall"], found["mistake_f1"]) == pytest.approx(
        (wanted.precision, wanted.recall, wanted.f1)
    )


MAYBE = st.sampled_from([True, False, None])
JUDGED = st.one_of(
    st.builds(MistakeSample, MAYBE, MAYBE, MAYBE), st.builds(CorrectSample, st.lists(MAYBE, min_size=1, max_size=4).map(tuple))
)


def samples_of(judged):
    samples = [
        CookSample(f"s{i}", f"c{i // 2}", "dice", "slice", ELEMENTS[i % 4] if isinstance(one, MistakeSample) else None, "hard")
        for i, one in enumerate(judged)
    ]
    return samples, Judgement({f"s{i}": one for i, one in enumerate(judged)})


@settings(max_examples=60, deadline=None)
@given(st.lists(JUDGED, min_size=1, max_size=12), st.sampled_from(list(Unparsable)), st.sampled_from(list(HintCounting)), st.randoms())
def test_cook_values_are_the_formulas_and_order_does_not_matter(judged, unparsable, counting, random):
    options = CookOptions(unparsable=unparsable, hint_counting=counting, bootstrap=QUICK)
    samples, judgement = samples_of(judged)
    found = whole(score_cook(samples, judgement, options, experiment="x", protocol="c.hint"))
    mistakes = [one for one in judged if isinstance(one, MistakeSample)]
    wanted = score_cook_mre(mistakes, [one for one in judged if isinstance(one, CorrectSample)], options)
    for name in ("type_acc", "corr_acc", "full_pass", "mpc_f1", "macro_f1"):
        value = getattr(wanted, name)
        assert (found[name] is None) == (value is None), name
        assert value is None or found[name] == pytest.approx(value), name
    mixed = list(samples)
    random.shuffle(mixed)
    assert whole(score_cook(mixed, judgement, options, experiment="x", protocol="c.hint")) == pytest.approx(found, nan_ok=True)
    assert tally_cook(mixed, judgement, options).clusters == tuple(sorted({s.clip_id for s in samples}))


def test_cook_f1_per_clip_leaves_out_what_a_clip_cannot_have():
    judged = [
        MistakeSample(True, True, True),
        CorrectSample((True,)),
        CorrectSample((False,)),
        MistakeSample(False),
        CorrectSample((False,)),
    ]
    clips = ("a", "a", "b", "c", "c")  # a: a mistake found, a false claim; b: a correct sample passed; c: a mistake missed, a pass
    samples = [
        CookSample(f"s{i}", clip, "dice", "slice", "verb" if isinstance(one, MistakeSample) else None)
        for i, (clip, one) in enumerate(zip(clips, judged, strict=True))
    ]
    made = Judgement({f"s{i}": one for i, one in enumerate(judged)})
    scores = score_cook(samples, made, CookOptions(bootstrap=QUICK), experiment="x", protocol="c.default")
    rows = {row["metric"]: row for row in scores.filter(pl.col("group") == "all").iter_rows(named=True)}
    assert (rows["mpc_f1"]["value"], rows["mpc_f1"]["n"]) == (0.5, 5)
    assert (rows["mpc_f1_per_recording"]["value"], rows["mpc_f1_per_recording"]["n"]) == (pytest.approx((2 / 3 + 0) / 2), 2)
    assert rows["macro_f1_per_recording"]["value"] == pytest.approx(((2 / 3 + 0) / 2 + 1 + (0 + 2 / 3) / 2) / 3)
    assert rows["macro_f1_per_recording"]["n"] == 3


def test_the_floors_are_judged_samples():
    samples = [CookSample("m", "c", "dice", "slice", "verb"), CookSample("k", "c", "slice", "slice")]
    assert always(samples, True).samples == {"m": MistakeSample(True, False, False), "k": CorrectSample((True,))}
    given = CookOptions(type_under_hint=TypeUnderHint.GIVEN, mistake_prompts=MistakePrompts.ALL)
    hinted = always(samples, True, given, is_hinted=True).samples
    assert hinted == {"m": MistakeSample(False, True, False), "k": CorrectSample((True,) * 4)}  # it claims one under every hint
