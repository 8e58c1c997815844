"""Prediction files of all families scored end to end: values, floors, options, failures, report, comparison."""

import json
from dataclasses import replace

import polars as pl
import pytest

from ml.benchmarks.comparison import compare_files
from ml.benchmarks.cook_mre.metrics import CookOptions
from ml.benchmarks.data import find_benchmark, read_benchmark
from ml.benchmarks.families import Family
from ml.benchmarks.options import allowed_values, flat, options_hash, with_options
from ml.benchmarks.rule_judges import JUDGE_RULES
from ml.benchmarks.scoring import Tools, default_options, score_files, score_tables
from ml.benchmarks.similarity import BertScore, BertScoreOptions
from ml.embeddings.encoder import TextEncoder, embedded_model_folder
from ml.errors import InputError
from ml.llm.backends.rules import RulesBackend
from ml.llm.client import Client
from tests.ml.benchmarks.made_files import cook_files, ego_files, guideme_files, write_json

FILES = {Family.EGO: ego_files, Family.GUIDEME: guideme_files, Family.COOK_MRE: cook_files}


def judge(rules=None):
    return Client(RulesBackend(JUDGE_RULES if rules is None else rules))


@pytest.fixture(scope="module")
def encoder():
    return TextEncoder(threads=1)


@pytest.fixture
def tools(encoder):
    return Tools(encoder, judge())


def value(result, metric, group="all", experiment=None):
    name = experiment or result.run.experiment
    rows = result.scores.filter((pl.col("metric") == metric) & (pl.col("group") == group) & (pl.col("experiment") == name))
    assert rows.height == 1, (metric, group, name)
    return rows.row(0, named=True)


def test_ego_files(tmp_path, tools):
    benchmark, good, weak = ego_files(tmp_path)
    result = score_files(good, benchmark, tools=tools)
    assert result.run.protocol == "timeline.per_step"
    assert value(result, "mistake_f1")["value"] == 1.0
    assert value(result, "ic_acc")["value"] == 100.0
    assert value(result, "mistake_f1", "technique")["n"] == 4
    assert value(result, "timing_error_s")["value"] == pytest.approx(1.0)
    assert value(result, "ic_acc", experiment="floor_duration_timer")["value"] > 90  # knows the benchmark's own median
    assert value(score_files(good, benchmark, tools=tools, median_step_s=5.0), "ic_acc", experiment="floor_duration_timer")["value"] < 1
    other = score_files(weak, benchmark, tools=tools, protocol="full_recipe", floors=False)
    assert value(other, "mistake_precision")["value"] == pytest.approx(12 / 18)
    assert set(other.scores["experiment"]) == {"weak"}


def test_notes_say_what_a_reader_of_the_figures_must_know(tmp_path, tools):
    benchmark, good, _ = ego_files(tmp_path)
    part = tmp_path / "part.json"
    part.write_text(json.dumps(json.loads(good.read_text())[:4]))
    notes = score_files(part, benchmark, settings=["half_window_s=30"], tools=tools, floors=False).notes
    assert notes == (
        "steps without an answer: 6, with an unreadable one: 0; judgements that failed: 0",
        "Recordings without any prediction: 2 of 6.",
        "Scorer options other than the reported ones: half_window_s=30.0.",
    )
    annotation, answers, _ = guideme_files(tmp_path)
    anchors = tmp_path / "anchors.json"
    anchors.write_text(json.dumps([row for row in json.loads(answers.read_text()) if row["endpoint_timestamp"] in (12, 20, 30, 41)]))
    result = score_files(anchors, annotation, profile="development", tools=tools, floors=False)
    assert result.run.protocol == "annotation.anchor"
    assert "Instants: 12 with a reference, 4 silent; 4 videos have fewer silent ones than references." in result.notes
    assert any("soft.missing=silent" in note and "behavior.judge_failure=exclude" in note for note in result.notes)


def test_what_values_depend_on_beside_options_is_in_the_hash(tmp_path, tools):
    benchmark, good, _ = ego_files(tmp_path)

    def timer(**known):
        return value(score_files(good, benchmark, tools=tools, **known), "ic_acc", experiment="floor_duration_timer")["options_hash"]

    hashes = [timer(), timer(median_step_s=5.0), timer(median_step_s=5.0)]
    assert hashes[0] != hashes[1] == hashes[2]
    annotation, answers, _ = guideme_files(tmp_path)
    spoken = write_json(
        tmp_path / "spoken.json", [row for row in json.loads(answers.read_text()) if row["prediction"] not in (None, "Silent")]
    )
    runs = [score_files(spoken, annotation, protocol="dense", tools=tools, floors=False, absent_is_silence=flag) for flag in (False, True)]
    assert runs[0].own_scores["options_hash"][0] != runs[1].own_scores["options_hash"][0]
    assert "The file holds no silent instant. If it lists utterances only, say so: --absent-is-silence." in runs[0].notes
    assert "Instants that the file lacks are taken for silence." in runs[1].notes
    assert runs[1].page.options["instants.rule"] == "rows_else_silence"


def test_silent_with_a_full_stop_is_told_under_the_official_profile(tmp_path, tools):
    annotation, answers, _ = guideme_files(tmp_path)
    dotted = [
        {**row, "prediction": (row["prediction"] or "Silent").replace("Silent", "Silent.")} for row in json.loads(answers.read_text())
    ]
    file = write_json(tmp_path / "dotted.json", dotted)
    official, lenient = (score_files(file, annotation, profile=one, tools=tools, floors=False).notes for one in ("official", "development"))
    assert any("answers are the word Silent with punctuation: talk" in note for note in official)
    assert not any("punctuation" in note or "--absent-is-silence" in note for note in lenient)
    both = score_files(file, annotation, tools=tools, floors=False, absent_is_silence=True).notes
    assert sum("punctuation" in note or note == "Instants that the file lacks are taken for silence." for note in both) == 2


def test_every_group_has_pooled_values_and_means_over_recordings(tmp_path, tools):
    for files, family in ((ego_files, "technique"), (guideme_files, "instruction"), (cook_files, "verb")):
        folder = tmp_path / family
        folder.mkdir()
        benchmark, good, _ = files(folder)
        own = score_files(good, benchmark, tools=tools, floors=False).own_scores.filter(pl.col("group") == family)
        names = set(own["metric"])
        assert names
        single = {name for name in names if "_per_recording" not in name}
        assert all(f"{name.removesuffix('_3s')}_per_recording{'_3s' if name.endswith('_3s') else ''}" in names for name in single)


def test_clarifications_are_a_category_of_their_own_where_asked_for(tmp_path, tools):
    types = ["instruction", "clarification_by_user", "feedback_action_aligned_success", "feedback_finish_all"]
    timeline = {
        "video_id": "a",
        "output_texts": ["Stir", "Yes, the big pan.", "Good", "Done"],
        "output_timestamps": [0.0, 10.0, 20.0, 20.0],
    }
    pl.DataFrame([{**timeline, "output_types": types}]).write_parquet(tmp_path / "t.parquet")
    rows = [
        {"recording_id": "a", "t_s": t_s, "kind": kind, "text": "Take the big one."}
        for t_s, kind in ((11.0, "clarification"), (15.0, "feedback"))
    ]
    file = write_json(tmp_path / "run.json", rows)
    plain = score_files(file, tmp_path / "t.parquet", tools=tools, floors=False)
    assert value(plain, "mistake_fp")["value"] == 1.0  # the answer to the person is none
    assert "clarification" not in set(plain.scores["group"])
    asked = score_files(file, tmp_path / "t.parquet", settings=["clarifications=true"], tools=tools, floors=False)
    assert value(asked, "mistake_f1", "clarification")["value"] == 1.0
    by_recording = score_files(
        file, tmp_path / "t.parquet", settings=["clarifications=true", "average=per_recording"], tools=tools, floors=False
    )
    assert value(by_recording, "mistake_f1_pooled", "clarification")["value"] == 1.0
    assert value(asked, "mistake_fp")["value"] == 1.0


def test_guideme_files(tmp_path, tools):
    benchmark, good, _ = guideme_files(tmp_path)
    result = score_files(good, benchmark, tools=tools)
    assert value(result, "soft_precision")["value"] == pytest.approx(1.0, abs=1e-5)
    assert value(result, "soft_recall")["value"] == pytest.approx(2 / 3, abs=1e-5)
    assert value(result, "score_m")["value"] == 100.0
    assert value(result, "nr", "correction")["value"] == 100.0
    row = value(result, "cs")
    assert row["n_missing"] == 4
    assert value(result, "instants")["n"] + row["n_missing"] == 4 * 52
    assert value(result, "fa", experiment="floor_always_speak")["value"] > 80
    assert any("all-MiniLM-L6-v2" in note for note in result.notes)
    assert {"soft_f1_pooled", "cs_per_recording", "score_per_recording"} <= set(result.own_scores["metric"])
    unjudged = score_files(good, benchmark, tools=replace(tools, judge=None), floors=False)
    assert not {"score", "score_m"} & set(unjudged.scores["metric"])


def test_cook_files(tmp_path, tools):
    benchmark, good, weak = cook_files(tmp_path)
    result = score_files(good, benchmark, tools=tools)
    assert value(result, "corr_acc")["value"] == pytest.approx(15 / 16)
    row = value(result, "full_pass")
    assert (row["value"], row["n"], row["n_missing"], row["n_unparsable"]) == (pytest.approx(18 / 20), 20, 1, 0)
    assert value(result, "failure_share", "failure.instruction_bias")["value"] == 1.0
    assert value(result, "failure_share_of_mistakes", "failure.instruction_bias")["n"] == 16
    assert value(result, "mpc_f1", experiment="floor_always_mistake")["value"] == pytest.approx(32 / 36)
    assert value(result, "type_acc", "verb.hard")["n"] == 2
    unjudged = score_files(weak, benchmark, tools=replace(tools, judge=None), floors=False)
    assert value(unjudged, "mpc_f1")["value"] == 0.0
    assert "full_pass" not in set(unjudged.scores["metric"])


@pytest.mark.parametrize("family", list(Family))
def test_report_holds_everything_and_is_written_whole(tmp_path, tools, family):
    benchmark, good, _ = FILES[family](tmp_path)
    result = score_files(good, benchmark, tools=tools, timelines=2)
    paths = result.write(tmp_path / "out")
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["report.html", "report.json"]
    document = json.loads(paths[0].read_text())
    own = document["runs"][0]
    assert own["experiment"] == "good"
    assert all({"value", "low", "high", "n", "n_missing", "n_unparsable", "n_judge_failed", "options_hash"} <= set(r) for r in own["rows"])
    assert any(run["experiment"].startswith("floor_") for run in document["runs"])
    assert "bootstrap.seed" in document["options"]
    page = paths[1].read_text()
    assert page.count("data:image/png;base64,") >= 2
    assert page.count("<svg") == (0 if family is Family.COOK_MRE else 2)
    assert "http://" not in page  # nothing is fetched
    assert "https://" not in page
    assert result._repr_html_() == page


def test_a_broken_input_writes_nothing(tmp_path, tools):
    benchmark, _, _ = ego_files(tmp_path)
    bad = write_json(tmp_path / "bad.json", [{"video_id": "1_0", "pred_texts": ["Hello"], "pred_timestamps": [0.0]}])
    with pytest.raises(InputError) as error:
        score_files(bad, benchmark, tools=tools).write(tmp_path / "out")
    assert (error.value.file, error.value.record, error.value.field) == (bad, "item 0 text 0", "pred_texts")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("family", list(Family))
def test_a_run_whose_items_all_failed_is_a_failed_run(tmp_path, tools, family):
    benchmark, good, _ = FILES[family](tmp_path)
    data = read_benchmark(benchmark)
    table = score_files(good, data, tools=tools, floors=False).run.predictions
    failed = table.with_columns(status=pl.lit("error"), reason=pl.lit("server down"))
    with pytest.raises(InputError, match=r"items failed, the first with: server down"):
        score_tables(data, failed, tools=tools)


@pytest.mark.parametrize("family", [Family.GUIDEME, Family.COOK_MRE])
def test_failed_judgements_are_counted_and_a_dead_judge_fails_the_run(tmp_path, encoder, family):
    benchmark, good, _ = FILES[family](tmp_path)
    shaky = {**JUDGE_RULES, "judge_quality": lambda i: "4" if "mug" in str(i["said"]) else "NaN"}
    shaky |= {"judge_type": lambda i: "YES" if i["element"] == "verb" else "hard to say"}
    result = score_files(good, benchmark, tools=Tools(encoder, judge(shaky)), floors=False)
    failed = value(result, "score" if family is Family.GUIDEME else "full_pass")["n_judge_failed"]
    assert failed == (4 if family is Family.GUIDEME else 12)
    dead = dict.fromkeys(JUDGE_RULES, lambda inputs: "I cannot evaluate this.")
    with pytest.raises(InputError, match="every judgement by rules failed"):
        score_files(good, benchmark, tools=Tools(encoder, judge(dead)))


def test_bertscore_from_a_local_model_is_part_of_the_result(tmp_path, tools):
    benchmark, good, weak = ego_files(tmp_path)
    folder = str(embedded_model_folder())
    scored = {}
    for is_rescaled in (True, False):
        with_bert = replace(tools, bertscore=BertScore(BertScoreOptions(folder, 6, rescale=is_rescaled)))
        scored[is_rescaled] = score_files(weak, benchmark, tools=with_bert, floors=False)
    rescaled, raw = (value(scored[flag], "bertscore") for flag in (True, False))
    assert rescaled["n"] == 12
    assert rescaled["value"] < raw["value"]
    assert rescaled["options_hash"] != raw["options_hash"]
    assert scored[True].page.options["bertscore.layers"] == 6
    perfect = score_files(good, benchmark, tools=replace(tools, bertscore=BertScore(BertScoreOptions(folder))))
    assert value(perfect, "bertscore")["value"] == pytest.approx(1.0, abs=1e-4)
    floor = value(perfect, "bertscore", experiment="floor_always_speak")
    assert floor["value"] < 0.9
    assert floor["options_hash"] == value(perfect, "bertscore")["options_hash"]
    measured = replace(tools, bertscore=BertScore(BertScoreOptions(folder)))
    compared = compare_files(good, weak, read_benchmark(benchmark), default_options(Family.EGO), measured).table
    assert compared.row(by_predicate=pl.col("metric") == "bertscore", named=True)["difference"] > 0


@pytest.mark.parametrize("family", list(Family))
def test_every_option_can_be_set_by_name_and_changes_the_hash(family):
    options = default_options(family)
    for name, now in flat(options).items():
        words = allowed_values(options, name)
        changes = {
            "true": "false",
            "a number from 0 to 1e7": "0.25",
            "a whole number from 0 to 1e7": "7",
            "a text": "x",
            "a number from 0 to 1e7, none": "0.25",
        }
        text = changes.get(words.split(", separated")[0])
        if text is None:
            text = next(word for word in words.split(", ") if word != str(now) and word != "none")
        if isinstance(now, bool):
            text = str(not now).lower()
        changed = with_options(options, [f"{name}={text}"])
        assert flat(changed)[name] != now, name
        assert options_hash(changed) != options_hash(options), name


def test_wrong_options_say_what_is_allowed():
    options = default_options(Family.EGO)
    assert with_options(options, ["tokenizer=original"]).rouge.tokenizer == "original"
    assert with_options(options, ["narrow_half_windows_s=2,4"]).narrow_half_windows_s == (2.0, 4.0)
    assert with_options(options, ["instruction_gate=none"]).instruction_gate is None
    for setting, words in (("matching=best", "closest_first"), ("half_window=3", "half_window_s"), ("matching", "name=value")):
        with pytest.raises(InputError, match=words):
            with_options(options, [setting])
    with pytest.raises(InputError, match="official, development, paper_literal"):
        default_options(Family.GUIDEME, "strict")
    with pytest.raises(InputError, match="no profiles"):
        default_options(Family.EGO, "official")


def test_options_reach_the_scores(tmp_path, tools):
    benchmark, good, weak = ego_files(tmp_path)
    wide = score_files(weak, benchmark, tools=tools, floors=False, settings=["half_window_s=11"])
    assert value(wide, "mistake_recall")["value"] == 0.0
    by_recording = score_files(good, benchmark, tools=tools, floors=False, settings=["average=per_recording"])
    assert {"mistake_f1", "mistake_f1_pooled"} <= set(by_recording.scores["metric"])
    assert "mistake_f1_per_recording" not in set(by_recording.scores["metric"])
    (tmp_path / "g").mkdir()
    benchmark, good, _ = guideme_files(tmp_path / "g")
    kept = score_files(good, benchmark, tools=tools, floors=False, profile="development")
    assert value(kept, "cs")["n"] == 4 * 52  # failures count as silence
    anchored = score_files(good, benchmark, tools=tools, floors=False, settings=["denominator=anchored"])
    assert value(anchored, "nr")["value"] + value(anchored, "pc")["value"] == pytest.approx(100.0)
    assert value(anchored, "score")["n"] == 12


def test_cook_options_reach_the_scores(tmp_path, tools):
    benchmark, good, _ = cook_files(tmp_path)
    by_sample = score_files(good, benchmark, tools=tools, floors=False, settings=["clusters=sample"])
    by_clip = score_files(good, benchmark, tools=tools, floors=False)
    assert value(by_sample, "full_pass")["value"] == value(by_clip, "full_pass")["value"]
    assert value(by_sample, "full_pass_per_recording")["n"] == 20
    assert value(by_clip, "full_pass_per_recording")["n"] == 10
    excluded = score_files(good, benchmark, tools=tools, floors=False, settings=["unparsable=exclude"])
    assert value(excluded, "full_pass")["n"] == 19
    unread = score_files(
        write_json(tmp_path / "odd.json", [{"sample_id": "s0", "answer": "Hm."}]),
        benchmark,
        tools=tools,
        floors=False,
        settings=["presence=yes_no"],
    )
    row = value(unread, "mpc_f1")
    assert (row["n_missing"], row["n_unparsable"]) == (19, 1)
    assert isinstance(unread.run.options, CookOptions)


@pytest.mark.parametrize("family", list(Family))
def test_two_files_compared(tmp_path, tools, family):
    benchmark, good, weak = FILES[family](tmp_path)
    options = default_options(family)
    found = compare_files(good, weak, read_benchmark(benchmark), options, tools)
    assert (found.a, found.b) == ("good", "weak")
    main = found.table.row(by_predicate=pl.col("metric") == found.metric, named=True)
    assert main["difference"] > 0
    assert main["low"] > 0
    assert main["wins"] > 0 == main["losses"]
    assert found.recordings["difference"][0] > 0
    path = found.write(tmp_path / "new" / "c.json")
    assert json.loads(path.read_text())["metrics"][0]["metric"] == found.table["metric"][0]
    same = compare_files(good, good, read_benchmark(benchmark), options, tools)
    assert set(same.table["difference"].drop_nulls()) == {0.0}
    assert same.a != same.b or same.a == str(good)


def test_unknown_benchmarks_say_what_there_is(tmp_path):
    with pytest.raises(InputError, match="no file and no benchmark 'nothing'"):
        find_benchmark("nothing")
