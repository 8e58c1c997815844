"""EGO-MC-Bench end to end on tables: canonical form, protocols, floors, scores, leaderboard, plots."""

import numpy as np
import polars as pl
import pytest

from ml.benchmarks.assistants.floors import AlertEvery, AlwaysSilent, AlwaysSpeak, DurationTimer, ego_floors
from ml.benchmarks.assistants.interface import LookAheadError, Utterance, ticks
from ml.benchmarks.canonical import benchmark_from_messages
from ml.benchmarks.ego.options import CompletionFallback, EgoOptions, GateFailure, Pointer, Scope
from ml.benchmarks.ego.pairs import matched_feedback
from ml.benchmarks.ego.scores import score_ego
from ml.benchmarks.families import Family
from ml.benchmarks.leaderboard import leaderboard, published
from ml.benchmarks.options import options_hash
from ml.benchmarks.plots import per_group_plot, timestamp_error_histogram, timestamp_error_shares, timing_error_plot
from ml.benchmarks.protocols import run_full_recipe, run_per_step
from ml.benchmarks.running import RunJournal, check_run
from ml.errors import InputError
from ml.tables.declarations.results import PREDICTIONS
from ml.tables.declarations.sources import IMPORTED_MESSAGES, IMPORTED_RECORDINGS, IMPORTED_STEPS

PNG = b"\x89PNG"


def recordings(*ids, duration_s=100.0):
    common = {"source": "demo", "licence": "none", "annotated_duration_s": duration_s, "members": [], "status": "ok"}
    return IMPORTED_RECORDINGS.rows([{**common, "recording_id": i, "native_id": i} for i in ids])


def messages(recording_id, rows):
    made = []
    for index, (t_s, kind, text, *mistake) in enumerate(rows):
        made.append(
            {
                "recording_id": recording_id,
                "message_index": index,
                "t_s": float(t_s),
                "kind": kind,
                "text": text,
                "mistake_type": mistake[0] if mistake else None,
                "native_type": kind,
            }
        )
    return IMPORTED_MESSAGES.rows(made)


TIMELINE = [
    (0, "instruction", "dice the onion"),
    (12, "feedback", "use smaller cubes", "technique"),
    (30, "success", "good"),
    (30, "instruction", "add two cups of flour"),
    (55, "success", "good"),
    (55, "instruction", "stir for ten seconds"),
    (70, "feedback", "stop stirring", "timing"),
    (100, "finish", "you are done"),
]


@pytest.fixture
def benchmark():
    return benchmark_from_messages(recordings("demo/a"), IMPORTED_STEPS.empty(), messages("demo/a", TIMELINE), "demo")


@pytest.fixture
def score(benchmark):
    steps, reference = benchmark
    return lambda run, options=EgoOptions(): score_ego(steps, reference, run, options)  # noqa: B008


def value(scores, metric, group="all", experiment=None):
    rows = scores.filter((pl.col("metric") == metric) & (pl.col("group") == group))
    if experiment is not None:
        rows = rows.filter(pl.col("experiment") == experiment)
    assert rows.height == 1, f"{metric}/{group}: {rows.height} rows"
    return rows["value"][0]


def said(*rows, protocol="demo.per_step", experiment="x"):
    made = []
    for index, (unit, t_s, kind, text) in enumerate(rows):
        made.append(
            {
                "experiment": experiment,
                "protocol": protocol,
                "recording_id": "demo/a",
                "unit_id": None if unit is None else f"demo/a/{unit}",
                "message_index": index,
                "t_s": t_s,
                "kind": kind,
                "text": text,
                "status": "ok",
            }
        )
    return PREDICTIONS.rows(made)


def silent_everywhere(protocol="demo.per_step"):
    return [(unit, None, None, None) for unit in range(3)] if protocol.endswith("per_step") else [(None, None, None, None)]


def test_timeline_becomes_units_with_their_messages(benchmark):
    steps, reference = benchmark
    assert steps.select("unit_id", "start_s", "end_s", "mistake_type").rows() == [
        ("demo/a/0", 0.0, 30.0, "technique"),
        ("demo/a/1", 30.0, 55.0, None),
        ("demo/a/2", 55.0, 100.0, "timing"),
    ]
    assert reference.select("unit_id", "t_s", "kind").rows() == [
        ("demo/a/0", 12.0, "feedback"),
        ("demo/a/0", 30.0, "success"),
        ("demo/a/1", 55.0, "success"),
        ("demo/a/2", 70.0, "feedback"),
    ]


def test_trailing_instruction_is_left_out_unless_kept():
    rows = [*TIMELINE[:5], (55.0, "instruction", "taste")]
    args = (recordings("demo/a"), IMPORTED_STEPS.empty(), messages("demo/a", rows), "demo")
    assert benchmark_from_messages(*args)[0].height == 2
    assert benchmark_from_messages(*args, keep_trailing=True)[0]["end_s"].to_list() == [30.0, 55.0, 100.0]


def test_feedback_before_the_first_instruction_is_refused():
    early = messages("demo/a", [(1, "feedback", "no", "timing"), (2, "instruction", "dice")])
    with pytest.raises(InputError, match="before the first instruction"):
        benchmark_from_messages(recordings("demo/a"), IMPORTED_STEPS.empty(), early, "demo")


def test_messages_of_an_unknown_recording_are_refused():
    with pytest.raises(InputError, match="not listed"):
        benchmark_from_messages(recordings("demo/b"), IMPORTED_STEPS.empty(), messages("demo/a", TIMELINE), "demo")


def test_scores_of_one_run_by_hand(score):
    run = said(
        (0, 14.0, "feedback", "use smaller cubes"),  # hit, 2 s late
        (0, 31.0, "success", "good"),  # right
        (1, 40.0, "feedback", "wrong cup"),  # false alarm
        (1, 45.0, "success", "good"),  # 10 s early: right at 15, wrong at 3
        (2, 60.0, "success", "good"),  # on a mistake step before its feedback at 70
    )
    scores = score(run)
    assert value(scores, "mistake_tp") == 1
    assert value(scores, "mistake_fp") == 1
    assert value(scores, "mistake_fn") == 1
    assert value(scores, "mistake_precision") == value(scores, "mistake_recall") == value(scores, "mistake_f1") == 0.5
    assert value(scores, "mistake_f1_3s") == 0.5
    assert value(scores, "ic_acc") == pytest.approx(200 / 3)  # step 2 has no success: it is completed when it ends
    assert value(scores, "ic_acc_3s") == pytest.approx(100 / 3)
    assert value(scores, "rouge_l") == 1.0
    assert value(scores, "false_success") == 0.5
    assert value(scores, "timing_error_s") == 2.0
    assert value(scores, "false_alarms_per_hour") == 3600 / (31 + 15 + 5)  # of the streams, which the successes ended
    assert value(scores, "mistake_recall", "technique") == 1.0
    assert value(scores, "mistake_recall", "timing") == 0.0
    assert set(scores["n_missing"]) == {0}
    assert set(scores["options_hash"]) == {options_hash(EgoOptions())}


def test_completion_of_a_mistake_never_put_right_is_an_option(score):
    run = said(*silent_everywhere())
    counted = {
        fallback: score(run, EgoOptions(completion_fallback=fallback)).filter(pl.col("metric") == "ic_acc")["n"][0]
        for fallback in CompletionFallback
    }
    assert counted == {"end": 3, "end_unless_mistake": 2, "never": 2}


def test_a_step_that_is_known_never_to_be_completed_counts_under_no_option(benchmark):
    steps, reference = benchmark
    abandoned = steps.with_columns(completed=pl.when(pl.col("position") == 2).then(pl.lit(False)))
    run = said((1, 50.0, "success", "good"), (2, 99.0, "success", "good"))
    for fallback in CompletionFallback:
        scores = score_ego(abandoned, reference, run, EgoOptions(completion_fallback=fallback))
        assert scores.filter((pl.col("metric") == "ic_acc") & (pl.col("group") == "all"))["n"].to_list() == [2]
        assert value(scores, "success_on_mistake") == 0.5


def test_failed_and_absent_steps_count_as_missing_and_an_all_failed_run_has_no_values(score):
    partly = said((0, None, None, None), (1, None, None, None))
    assert set(score(partly).filter(pl.col("group") == "all")["n_missing"]) == {1}
    failed = said(*silent_everywhere()).with_columns(status=pl.lit("error"), reason=pl.lit("broken"))
    scores = score(failed)
    assert scores["value"].null_count() == scores.height
    assert scores["low"].null_count() == scores.height
    with pytest.raises(InputError, match="all 3 items failed"):
        check_run(failed)
    check_run(partly)


def test_predictions_on_unknown_steps_or_recordings_are_refused(score):
    with pytest.raises(InputError, match="no such step"):
        score(said((7, 1.0, "feedback", "x")))
    with pytest.raises(InputError, match="no such recording"):
        score(said((None, 1.0, "feedback", "x")).with_columns(recording_id=pl.lit("demo/z")))
    with pytest.raises(InputError, match="says no feed"):
        score(said((0, 1.0, "feedback", "x"), protocol="demo"))


def test_reference_feedback_without_types_is_refused(benchmark):
    steps, reference = benchmark
    with pytest.raises(InputError, match="no reference feedback has a mistake type"):
        score_ego(steps, reference.with_columns(mistake_type=pl.lit(None, pl.String)), said(*silent_everywhere()))


def test_full_recipe_gates_feedback_by_the_instruction_followed(score):
    lost = said((0, 71.0, "feedback", "stop stirring"), protocol="demo.full_recipe")  # still at step 0 when step 2 goes on
    assert value(score(lost), "mistake_tp") == 0
    assert value(score(lost), "mistake_fp") == 1
    assert value(score(lost, EgoOptions(instruction_gate=None)), "mistake_tp") == 1
    excluded = score(lost, EgoOptions(gate_failure=GateFailure.EXCLUDE))
    assert value(excluded, "mistake_fp") == 0
    assert value(excluded, "mistake_fn") == 1  # the first reference, given while the instruction was right


def test_full_recipe_success_belongs_to_the_step_the_assistant_is_at(score):
    late = said((0, 54.0, "success", "good"), protocol="demo.full_recipe")  # near the end of step 1, but said for step 0
    assert value(score(late), "ic_acc") == 0.0
    assert value(score(late, EgoOptions(pointer=Pointer.ANY_STEP)), "ic_acc") == pytest.approx(100 / 3)


def test_recording_scope_finds_references_of_other_steps(score):
    run = said((1, 35.0, "feedback", "x"), (2, 66.0, "feedback", "x"))
    assert value(score(run), "mistake_tp") == 1
    near_first = said((1, 26.0, "feedback", "x"), (2, 66.0, "feedback", "x"))
    assert value(score(near_first, EgoOptions(scope=Scope.RECORDING, instruction_gate=None)), "mistake_tp") == 2


def test_floors_run_through_both_protocols_and_are_told_apart(benchmark):
    steps, reference = benchmark
    runs = []
    for name, factory in ego_floors(25.0).items():
        runs.append(run_per_step(factory, steps, ticks(), experiment=name, protocol="demo.per_step"))
        runs.append(run_full_recipe(factory, steps, ticks(), experiment=name, protocol="demo.full_recipe"))
    scores = score_ego(steps, reference, pl.concat(runs)).filter(pl.col("protocol") == "demo.per_step")
    assert value(scores, "mistake_f1", experiment="floor_silent") == 0.0
    assert value(scores, "quiet_units", experiment="floor_silent") == 1
    assert value(scores, "mistake_recall", experiment="floor_always_speak") == 1.0
    assert value(scores, "mistake_precision", experiment="floor_always_speak") == pytest.approx(2 / 215)
    assert value(scores, "mistake_recall", experiment="floor_alert_every_10s") == 1.0
    assert value(scores, "mistake_fp", experiment="floor_alert_every_10s") == 10 + 7 + 4 - 2
    assert value(scores, "ic_acc", experiment="floor_duration_timer") == pytest.approx(200 / 3)
    assert value(scores, "ic_acc_3s", experiment="floor_duration_timer") == pytest.approx(100 / 3)
    board = leaderboard(score_ego(steps, reference, pl.concat(runs)))
    here = board.filter(pl.col("origin") == "here")
    assert here.select("protocol", "experiment").unique().height == 8


def test_published_f1_follows_from_printed_precision_and_recall_but_for_one_slip():
    rows = published(Family.EGO).filter(pl.col("mistake_f1") > 0)
    slack = 0.005
    off = []
    for row in rows.iter_rows(named=True):
        p, r = row["mistake_precision"], row["mistake_recall"]
        low, high = (2 * (p + d) * (r + d) / (p + r + 2 * d) for d in (-slack, slack))
        if not low - slack <= row["mistake_f1"] <= high + slack:
            off.append((row["model"], row["protocol"]))
    assert off == [("Qwen3.5-2B tuned on EGO-CoMist", "ego_mc_bench.per_step")]


class Peeker:
    """Asks for frames of the future."""

    def attach(self, past):
        self.past = past

    def start(self, instruction, start_s):
        pass

    def observe(self, frames, times_s):
        list(self.past.between(0.0, float(times_s[-1]) + self.ahead_s))
        return []

    def give_instruction(self, text, t_s):
        pass

    ahead_s = 1.0


class Stamper(AlwaysSilent):
    """Stamps its feedback at another time than that of the frames it has just seen."""

    def __init__(self, offset_s):
        self.offset_s = offset_s

    def observe(self, frames, times_s):
        return [Utterance(float(times_s[-1]) + self.offset_s, "feedback", "x")]


def test_an_assistant_that_asks_for_later_frames_fails(benchmark):
    with pytest.raises(LookAheadError, match="asked for"):
        run_per_step(Peeker, benchmark[0], ticks(), experiment="x", protocol="demo.per_step")


def test_an_assistant_may_ask_for_earlier_frames(benchmark):
    class Reader(Peeker):
        ahead_s = 0.0

    run = run_per_step(Reader, benchmark[0], ticks(), experiment="x", protocol="demo.per_step")
    assert set(run["status"]) == {"ok"}


@pytest.mark.parametrize("offset_s", [-2.0, 0.5])
def test_messages_stamped_before_or_after_the_frames_seen_fail(benchmark, offset_s):
    with pytest.raises(LookAheadError, match="stamped"):
        run_per_step(lambda: Stamper(offset_s), benchmark[0], ticks(), experiment="x", protocol="demo.per_step")


def test_frames_are_pulled_no_earlier_than_the_assistant_sees_them(benchmark):
    pulled = []

    def provider(recording_id, start_s, end_s):
        for chunk in ticks()(recording_id, start_s, end_s):
            pulled.append(float(chunk[1][-1]))
            yield chunk

    class Watcher(AlwaysSilent):
        def observe(self, frames, times_s):
            assert pulled[-1] == times_s[-1]
            return []

    run = run_full_recipe(Watcher, benchmark[0], provider, experiment="x", protocol="demo.full_recipe")
    assert set(run["status"]) == {"ok"}
    assert len(pulled) == 100


def test_no_reference_text_reaches_an_assistant(benchmark):
    heard = []

    class Listener(DurationTimer):
        def __init__(self):
            super().__init__(5.0)

        def start(self, instruction, start_s):
            heard.append((start_s, instruction))
            super().start(instruction, start_s)

    run_full_recipe(Listener, benchmark[0], ticks(), experiment="x", protocol="demo.full_recipe")
    assert heard == [(0.0, "dice the onion"), (5.0, "add two cups of flour"), (10.0, "stir for ten seconds")]


def test_a_step_that_fails_is_a_row_and_the_others_run(benchmark):
    class Fragile(AlwaysSpeak):
        def start(self, instruction, start_s):
            if "flour" in instruction:
                raise ValueError("no flour")

    run = run_per_step(Fragile, benchmark[0], ticks(), experiment="x", protocol="demo.per_step")
    failed = run.filter(pl.col("status") != "ok")
    assert failed.select("unit_id", "reason").rows() == [("demo/a/1", "ValueError: no flour")]
    assert run.filter(pl.col("unit_id") == "demo/a/2").height == 45


def test_frames_out_of_order_are_a_failed_row(benchmark):
    def backwards(recording_id, start_s, end_s):
        yield np.zeros((1, 0, 0, 3), np.uint8), np.array([start_s + 2.0])
        yield np.zeros((1, 0, 0, 3), np.uint8), np.array([start_s + 1.0])

    run = run_per_step(AlwaysSilent, benchmark[0], backwards, experiment="x", protocol="demo.per_step")
    assert set(run["status"]) == {"error"}
    assert "go back" in run["reason"][0]


def test_a_stopped_run_goes_on_where_it_was(benchmark, tmp_path):
    steps, _ = benchmark
    both = pl.concat([steps, steps.with_columns(recording_id=pl.lit("demo/b"), unit_id=pl.col("unit_id").str.replace("/a/", "/b/"))])
    whole = run_per_step(AlertEvery, both, ticks(), experiment="x", protocol="demo.per_step")
    ran = []

    def counting(recording_id, start_s, end_s):
        ran.append(recording_id)
        return ticks()(recording_id, start_s, end_s)

    first = steps.filter(pl.col("recording_id") == "demo/a")
    path = tmp_path / "run.jsonl"
    run_per_step(AlertEvery, first, ticks(), experiment="x", protocol="demo.per_step", journal=RunJournal(path, "made"))
    with path.open("a") as torn:
        torn.write('{"unit": "demo/b", "rows": [{"sta')
    journal = RunJournal(path, "made")
    again = run_per_step(AlertEvery, both, counting, experiment="x", protocol="demo.per_step", journal=journal)
    assert again.sort("recording_id", "message_index").equals(whole.sort("recording_id", "message_index"))
    assert set(ran) == {"demo/b"}


@pytest.mark.parametrize(
    ("feed", "count", "watched_s"), [("per_step", 215, 215), ("per_step.grace", 130, 130), ("per_step.true_end", 100, 100)]
)
def test_where_a_step_without_success_ends(benchmark, score, feed, count, watched_s):
    run = run_per_step(AlwaysSpeak, benchmark[0], ticks(), experiment="x", protocol=f"demo.{feed}")
    assert run.height == count
    scores = score(run)
    assert value(scores, "false_alarms_per_hour") == pytest.approx(3600 * value(scores, "mistake_fp") / watched_s)


def test_a_success_ends_the_time_in_which_there_could_be_false_alarms(score):
    run = said((0, 10.0, "success", "good"), (1, 40.0, "feedback", "no"), (1, 45.0, "success", "good"), (2, 60.0, "success", "good"))
    assert value(score(run), "false_alarms_per_hour") == 3600 / (10 + 15 + 5)


def test_error_bins_close_on_the_side_away_from_zero():
    shares = timestamp_error_shares([-10.0, -9.9, -7.5, -5.0, -2.5, -2.4, 2.4, 2.5, 5.0, 7.5, 10.0, 99.0])
    counts = {label: round(share * 12) for label, share in shares.items()}
    assert list(counts.values()) == [1, 2, 1, 1, 2, 1, 1, 1, 2]
    assert sum(timestamp_error_shares([]).values()) == 0


def test_plots_are_png(benchmark, score):
    run = said((0, 14.0, "feedback", "use smaller cubes"), (0, 31.0, "success", "good"))
    scores = score(run)
    steps, reference = benchmark
    pairs = matched_feedback(steps, reference, run, EgoOptions())
    assert pairs.select("unit_id", "mistake_type", "reference_t_s", "prediction_t_s").rows() == [("demo/a/0", "technique", 12.0, 14.0)]
    errors = (pairs["prediction_t_s"] - pairs["reference_t_s"]).to_list()
    for image in (
        timestamp_error_histogram(errors),
        timestamp_error_histogram([]),
        timing_error_plot(errors, 15.0),
        per_group_plot(scores, "mistake_f1"),
    ):
        assert image.startswith(PNG)
