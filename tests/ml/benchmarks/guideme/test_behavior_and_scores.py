"""GuideMe's behaviour records, grids, silence and the scores table with a judge."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.benchmarks.guideme.behavior import Moment, Outcome, classify
from ml.benchmarks.guideme.embedding import BoundedCosines
from ml.benchmarks.guideme.grids import anchor_grid, dense_ticks
from ml.benchmarks.guideme.options import BehaviorOptions, SameSecond, SilenceRule, development, official
from ml.benchmarks.guideme.scores import GuidanceVideo, score_guideme
from ml.benchmarks.guideme.timeline import Instant, is_silence, place_references

MOMENTS = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=0, max_size=40)


def hashed_vectors(texts):
    """A unit vector per text that depends on its words: a stand-in for an encoder with the same contract."""
    vectors = np.zeros((len(texts), 32), np.float32)
    for row, text in enumerate(texts):
        for word in text.lower().split():
            vectors[row, sum(map(ord, word)) % 32] += 1
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


@settings(max_examples=200, deadline=None)
@given(MOMENTS)
def test_with_a_window_of_zero_every_instant_is_one_record(flags):
    moments = [Moment(float(t), r, s) for t, (r, s) in enumerate(flags)]
    records = classify(moments, BehaviorOptions(pair_window_s=0.0))
    wanted = {
        (True, True): Outcome.PARTLY_CORRECT,
        (True, False): Outcome.NO_RESPONSE,
        (False, True): Outcome.FALSE_ALARM,
        (False, False): Outcome.CORRECT_SILENT,
    }
    assert [r.outcome for r in records] == [wanted[flag] for flag in flags]


def behavior_by_the_rules(moments, window):
    """The rules read one after the other: the nearest free pair within the window, again and again; then what is left."""
    said = [i for i, m in enumerate(moments) if m.is_said]
    references = [i for i, m in enumerate(moments) if m.is_reference]
    pairs = []
    while True:
        free = [
            (abs(moments[p].t_s - moments[r].t_s), p, r)
            for p in said
            for r in references
            if p not in {q for q, _ in pairs} and r not in {s for _, s in pairs} and abs(moments[p].t_s - moments[r].t_s) <= window
        ]
        if not free:
            break
        pairs.append(min(free)[1:])
    counts = dict.fromkeys(Outcome, 0) | {Outcome.PARTLY_CORRECT: len(pairs)}
    for i, moment in enumerate(moments):
        if any(i in pair for pair in pairs):
            continue
        is_near = any(abs(moment.t_s - moments[r].t_s) <= window for r in references)
        if moment.is_reference:
            counts[Outcome.NO_RESPONSE] += 1
        elif not moment.is_said:
            counts[Outcome.CORRECT_SILENT] += 1
        elif not is_near:
            counts[Outcome.FALSE_ALARM] += 1
    return counts


@pytest.mark.parametrize("window", [0.0, 2.0])
def test_behavior_follows_the_rules_on_random_timelines(window):
    for seed in range(500):
        rng = np.random.default_rng(seed)
        size = int(rng.integers(0, 30))
        times = np.sort(rng.choice(50, size=size, replace=False)).astype(float)
        talk, references = rng.random((2, size)) < rng.uniform(0, 0.6, (2, 1))
        moments = [Moment(t, bool(r), bool(s)) for t, r, s in zip(times.tolist(), references, talk, strict=True)]
        found = [record.outcome for record in classify(moments, BehaviorOptions(pair_window_s=window))]
        assert {outcome: found.count(outcome) for outcome in Outcome} == behavior_by_the_rules(moments, window), seed


@settings(max_examples=200, deadline=None)
@given(MOMENTS)
def test_no_reference_and_no_utterance_is_counted_twice(flags):
    moments = [Moment(float(t), r, s) for t, (r, s) in enumerate(flags)]
    records = classify(moments, BehaviorOptions())
    references = [r.reference_at for r in records if r.reference_at >= 0]
    said = [r.said_at for r in records if r.outcome in (Outcome.PARTLY_CORRECT, Outcome.FALSE_ALARM)]
    assert len(references) == len(set(references)) == sum(r for r, _ in flags)
    assert len(said) == len(set(said))
    for record in records:
        if record.outcome is Outcome.PARTLY_CORRECT:
            assert abs(moments[record.said_at].t_s - moments[record.reference_at].t_s) <= 2


@pytest.mark.parametrize(
    ("text", "official_silence", "lenient_silence"),
    [("Silent", True, True), ("", True, True), ("<|silent|>", True, True), (' "Silent." ', False, True), ("Silently stir", False, False)],
)
def test_silence_strings(text, official_silence, lenient_silence):
    assert is_silence(text, SilenceRule.OFFICIAL) is official_silence
    assert is_silence(text, SilenceRule.LENIENT) is lenient_silence


def test_two_references_in_one_second():
    ticks = dense_ticks(0, [2.2, 2.9], 10.0, 2)
    given_references = [(2.2, "a", "error"), (2.9, "b", "correction")]
    at_two = {rule: [text for tick, text, _ in place_references(given_references, ticks, 1.0, rule) if tick == 2.0] for rule in SameSecond}
    assert at_two == {"last": ["b"], "joined": ["a b"], "both": ["a", "b"]}


def test_anchor_grid_is_reproducible_and_says_when_it_is_not_balanced():
    assert anchor_grid([10, 18, 40], 5) == anchor_grid([10, 18, 40], 5)
    assert anchor_grid([10, 18, 40], 5).is_balanced
    assert not anchor_grid([10, 18, 26], 5).is_balanced


@pytest.mark.parametrize(("interval", "count"), [(0.5, 29), (1.0, 15), (2.0, 8)])
def test_dense_grid_at_other_intervals(interval, count):
    assert len(dense_ticks(0.7, [4.0], 60.0, 10, interval)) == count


VIDEOS = [
    GuidanceVideo(
        "a",
        (
            Instant(0.0, "add salt", "add salt", "instruction"),
            Instant(9.0, "Silent"),
            Instant(18.0, "Silent", "use a spoon", "error"),
            Instant(27.0, "stir"),
        ),
    ),
    GuidanceVideo("b", (Instant(0.0, None, "peel it", "correction"), Instant(9.0, "Silent"))),
]


def value(scores, metric, group="all"):
    return scores.filter((pl.col("metric") == metric) & (pl.col("group") == group)).row(0, named=True)


def test_scores_table_of_a_judged_run():
    graded = []

    def judge(pairs):
        graded.extend(pairs)
        return [4.0 for _ in pairs]

    scores = score_guideme(VIDEOS, hashed_vectors, official(), experiment="x", protocol="guideme.dense", judge=judge)
    assert graded == [("add salt", "add salt")]  # "stir" is too far from "use a spoon" and stays unmatched
    assert value(scores, "score_m")["value"] == 80.0
    assert value(scores, "cs")["value"] == pytest.approx(100 * 2 / 5)
    assert value(scores, "score")["value"] == pytest.approx((80 + 100 + 0 + 0 + 100) / 5)
    assert value(scores, "nr", "error")["value"] == 100.0
    assert value(scores, "pc", "instruction")["value"] == 100.0
    assert value(scores, "instants")["n"] + value(scores, "instants")["n_missing"] == 6
    assert value(scores, "soft_recall")["value"] == pytest.approx((1 / 2 + 0) / 2)  # mean of the videos
    assert value(scores, "soft_recall_pooled")["value"] == pytest.approx(1 / 2)  # the failed instant took its reference with it


def test_a_failed_judge_is_counted_and_never_silently_zero():
    def judge(pairs):
        return [None for _ in pairs]

    zero = score_guideme(VIDEOS, hashed_vectors, official(), experiment="x", protocol="guideme.dense", judge=judge)
    left_out = score_guideme(VIDEOS, hashed_vectors, development(), experiment="x", protocol="guideme.dense", judge=judge)
    assert value(zero, "judge_failed")["value"] == value(left_out, "judge_failed")["value"] == 1
    assert value(zero, "score_m")["value"] == 0.0
    assert value(left_out, "score_m")["value"] is None
    assert value(zero, "score")["options_hash"] != value(left_out, "score")["options_hash"]


def test_missing_instants_keep_their_references_in_the_development_profile():
    found = {
        name: value(score_guideme(VIDEOS, hashed_vectors, o, experiment="x", protocol="guideme.dense"), "soft_recall_pooled")["n"]
        for name, o in (("official", official()), ("development", development()))
    }
    assert found == {"official": 2, "development": 3}


def test_an_empty_run_gives_rows_without_values():
    scores = score_guideme([], hashed_vectors, official(), experiment="x", protocol="guideme.dense")
    assert value(scores, "soft_f1")["value"] is None
    assert value(scores, "cs")["value"] is None


def test_each_distinct_text_is_embedded_once_and_the_store_is_bounded():
    asked = []

    def encode(texts):
        asked.extend(texts)
        return hashed_vectors(texts)

    cosines = BoundedCosines(encode, capacity=4)
    cosines.prepare(["a b", "c d", "a b"])
    cosines(["a b"], ["c d"])
    assert asked == ["a b", "c d"]
    for index in range(10):
        cosines.prepare([f"text {index}"])
    assert len(cosines._vectors) == 4
