"""Every reference case and variant of a folder of metric cases, named by METRIC_CASES, by default those beside the shared papers.

The cases share no code with the project. Keys of ``expected`` that a case leaves out are not compared; a key, option or value that the
project does not know fails the case.
"""

import json
import math
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ml.benchmarks.assistants.polling import RecentFeedback, YesNo, decide, polling_instants, read_yes_no
from ml.benchmarks.cook_mre.metrics import (
    CookOptions,
    CorrectSample,
    HintAggregation,
    HintCounting,
    MistakeSample,
    Unparsable,
    implied_macro_f1,
    score_cook_mre,
)
from ml.benchmarks.ego.completion import CompletionStep, score_completion
from ml.benchmarks.ego.mistakes import Event, MistakeUnit, score_mistakes
from ml.benchmarks.ego.options import (
    Average,
    Counting,
    Denominator,
    Duplicates,
    EgoOptions,
    GateFailure,
    Matching,
    Scope,
    WhichSuccess,
)
from ml.benchmarks.guideme import options as guideme
from ml.benchmarks.guideme.behavior import Moment, Outcome, classify, matched_score, score_behavior
from ml.benchmarks.guideme.grids import anchor_grid, dense_ticks, silent_candidates, tick_of
from ml.benchmarks.guideme.soft import distance_cost, score_corpus, score_video, video_from_sums
from ml.benchmarks.guideme.timeline import Instant, is_silence
from ml.benchmarks.similarity import harmonic_f, rescale, unscale
from ml.benchmarks.text_overlap import RougeOptions, RougeVariant, Tokenizer, mean_rouge_l, rouge_l

SHARED = Path(os.environ.get("INTERJECT_SHARED", Path(__file__).parents[4] / "shared"))
FOLDER = Path(os.environ.get("METRIC_CASES", SHARED / "metric_cases"))


def load_runs():
    """(id, family, input, config, expected, tolerance) of every case and of every variant with its config laid over the case's."""
    runs = []
    for path in sorted(FOLDER.glob("*.json")):
        document = json.loads(path.read_text())
        for case in document["cases"]:
            shared = (document["family"], case["input"])
            runs.append((case["id"], *shared, case["config"], case["expected"], case["tolerance"]))
            for variant in case.get("variants", []):
                config = {**case["config"], **variant["config"]}
                if "window_s" in variant["config"] and "half_window_s" not in variant["config"]:
                    config.pop("half_window_s", None)  # the case's half belongs to the case's window
                runs.append((f"{case['id']}:{variant['name']}", *shared, config, variant["expected"], case["tolerance"]))
    return runs


RUNS = load_runs()


@pytest.fixture
def folder():
    if not RUNS:
        pytest.skip(f"no metric cases in {FOLDER}")
    return FOLDER


def assert_matches(found, expected, tolerance, where):
    if isinstance(expected, dict):
        for key, value in expected.items():
            assert key in found, f"{where}: {key} is not computed"
            assert_matches(found[key], value, tolerance, f"{where}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), f"{where}: {found} and {expected}"
        for index, value in enumerate(expected):
            assert_matches(found[index], value, tolerance, f"{where}[{index}]")
    elif isinstance(expected, bool) or expected is None or isinstance(expected, str):
        assert found == expected, where
    else:
        assert found is not None, f"{where}: nothing found, {expected} expected"
        assert math.isclose(found, expected, rel_tol=0, abs_tol=tolerance + 1e-12), f"{where}: {found} and {expected}"


YES_NO_WORDS = ("yes", "no", "unparsable", "invalid", "neither", "unclear")


def refuse_unknown(config, known):
    assert not set(config) - set(known), f"options not known: {sorted(set(config) - set(known))}"


MATCHING = {  # by a part of the name
    "optimal": Matching.OPTIMAL,
    "closest": Matching.CLOSEST_FIRST,
    "nearest": Matching.CLOSEST_FIRST,
    "order": Matching.PREDICTION_ORDER,
    "any": Matching.ANY_IN_WINDOW,
    "direction": Matching.TWO_DIRECTIONS,
    "fitcoach": Matching.TWO_DIRECTIONS,
}
AVERAGE = {
    "micro": Average.POOLED,
    "pooled": Average.POOLED,
    "macro": Average.PER_RECORDING,
    "macro_video": Average.PER_RECORDING,
    "per_video": Average.PER_RECORDING,
    "video_mean": Average.PER_RECORDING,
}
EGO_KEYS = {
    "window_s",
    "window_mode",
    "half_window_s",
    "inclusive",
    "matching",
    "duplicates",
    "average",
    "zero_division",
    "scope",
    "counting",
    "instruction_gate",
    "gate_failure",
    "latency_s",
    "delay_s",
}


def half_window(config):
    """A mode other than "centered" reads the window as reaching so far to each side."""
    if config.get("window_mode", "centered") == "centered":
        return config.get("half_window_s", config.get("window_s", 30) / 2)
    return max(config["window_s"], config.get("half_window_s", 0))


def is_mistake(kind):
    """Only mistake feedback is scored: not success, instructions, clarifications or comments."""
    return "mistake" in kind or (kind.startswith("feedback") and "success" not in kind and "finish" not in kind)


def ego_options(config):
    refuse_unknown(config, EGO_KEYS)
    gate = config.get("instruction_gate")
    if isinstance(gate, str):
        assert gate.startswith("rouge_l>="), gate
        gate = float(gate.removeprefix("rouge_l>="))
    scope = config.get("scope", "step")
    return EgoOptions(
        half_window_s=half_window(config),
        inclusive=config["inclusive"],
        matching=next(rule for part, rule in MATCHING.items() if part in config["matching"]),
        duplicates=Duplicates(config["duplicates"]),
        scope=Scope.RECORDING if scope in ("session", "recording", "video") else Scope(scope),
        counting=Counting.SEGMENTS if "segment" in config.get("counting", "events") else Counting(config.get("counting", "events")),
        delay_s=config.get("latency_s", config.get("delay_s", 0.0)),
        instruction_gate=gate,
        gate_failure=GateFailure(config.get("gate_failure", "fp_and_fn")),
        average=AVERAGE[config["average"]],
        zero_division=config["zero_division"],
    )


def ego_mistake(given, config):
    wanted, followed = given.get("gt_instruction"), given.get("pred_instruction")
    if "instruction_rouge_l" in given:
        assert math.isclose(rouge_l(followed, wanted), given["instruction_rouge_l"], abs_tol=1e-9)

    def events(rows, is_predicted):
        made = []
        for row in rows:
            if not is_mistake(row.get("type", "feedback")):
                continue
            active = followed or (row.get("instruction") if is_predicted else None)
            made.append(Event(row["t"], row.get("text"), wanted, active))
        return tuple(made)

    units = [MistakeUnit(u["unit"], u["unit"].rsplit("/", 1)[0], events(u["gt"], False), events(u["pred"], True)) for u in given["units"]]
    scores = score_mistakes(units, ego_options(config))
    return {
        "tp": scores.tp,
        "fp": scores.fp,
        "fn": scores.fn,
        "tn_units": scores.quiet_units,
        "precision": scores.precision,
        "recall": scores.recall,
        "f1": scores.f1,
        "matches": [[outcome.unit_id, *pair] for outcome in scores.outcomes for pair in outcome.pairs],
    }


def ego_icacc(given, config):
    refuse_unknown(config, ["half_window_s", "window_s", "inclusive", "which_success", "denominator", "scale", "average"])
    options = EgoOptions(
        half_window_s=config["half_window_s"],
        inclusive=config["inclusive"],
        which_success=WhichSuccess(config["which_success"]),
        denominator=Denominator(config["denominator"]),
    )
    recordings: dict[str, list[CompletionStep]] = {}
    for step in given["steps"]:
        name = str(step.get("video", step.get("recording", str(step.get("unit", "")).rsplit("/", 1)[0])))
        recordings.setdefault(name, []).append(CompletionStep(step["gt_completion"], tuple(step["pred_success"])))
    whole = score_completion([step for steps in recordings.values() for step in steps], options)
    ic_acc = whole.ic_acc
    if AVERAGE[config.get("average", "micro")] is Average.PER_RECORDING:
        each = [score_completion(steps, options) for steps in recordings.values()]
        ic_acc = sum(one.ic_acc for one in each) / len(each)
    return {"correct": whole.correct, "total": whole.total, "ic_acc": ic_acc * config.get("scale", 100) / 100}


def rouge_options(config):
    refuse_unknown(config, ["variant", "use_stemmer", "beta", "empty", "tokenizer"])
    variant = {"google_rouge_score": RougeVariant.GOOGLE, "pycocoevalcap": RougeVariant.COCO}[config["variant"]]
    tokenizer = Tokenizer(config["tokenizer"]) if "tokenizer" in config else Tokenizer.ORIGINAL
    return RougeOptions(variant, tokenizer, config["use_stemmer"], config["beta"])


def rouge_l_family(given, config):
    options = rouge_options(config)
    if "pairs" in given:
        return mean_rouge_l([tuple(pair) for pair in given["pairs"]], options, config.get("empty", 0.0))
    return rouge_l(given["pred"], given["ref"], options)


def bertscore_rescale(given, config):
    baseline, f_rule = config["baseline"], config.get("f_rule", "own_baseline")
    if not config.get("rescale", True):
        baseline = dict.fromkeys("PRF", 0.0)
    if "rescaled_F" in given:
        return unscale(given["rescaled_F"], baseline["F"])
    if "raw_F" in given:
        return rescale(given["raw_F"], baseline["F"])
    p, r = rescale(given["raw_P"], baseline["P"]), rescale(given["raw_R"], baseline["R"])
    raw_f = harmonic_f(given["raw_P"], given["raw_R"])
    f = {"own_baseline": rescale(raw_f, baseline["F"]), "harmonic_of_rescaled": harmonic_f(p, r)}[f_rule]
    return {"raw_F": raw_f, "P": p, "R": r, "F": f}


SOFT_KEYS = {
    "profile",
    "sigma",
    "distance_unit",
    "talk_silent_cost",
    "similarity",
    "candidates",
    "average",
    "empty",
    "silent_strings",
    "hard_threshold",
    "missing",
    "midpoint",
}


def soft_options(config):
    refuse_unknown(config, SOFT_KEYS)
    assert config["profile"] in ("official_461f106", "paper_literal"), config["profile"]
    strings = set(config["silent_strings"])
    assert {"", "silent", "<|silent|>"} <= strings, strings
    cost = config["talk_silent_cost"]
    candidates = {"all_frames_of_segment": guideme.Candidates.ALL_INSTANTS, "talk_only": guideme.Candidates.TALK_ONLY}
    is_literal = config["profile"] == "paper_literal"
    return guideme.SoftOptions(
        sigma=config["sigma"],
        distance_unit=guideme.DistanceUnit(config["distance_unit"]),
        talk_silent_cost=None if isinstance(cost, str) else cost,
        similarity=guideme.Similarity(config["similarity"]),
        candidates=guideme.Candidates.TALK_ONLY if is_literal else candidates[config["candidates"]],
        midpoint=guideme.Midpoint(config.get("midpoint", "later")),
        missing=guideme.Missing(config.get("missing", "drop")),
        silence=guideme.SilenceRule.OFFICIAL if len(strings) == 3 else guideme.SilenceRule.LENIENT,
        average=guideme.Average(config["average"]),
        hard_threshold=float(str(config["hard_threshold"]).replace(">", "")),
        empty=config["empty"],
    )


def guideme_soft(given, config):
    options = soft_options(config)
    if "d" in given:
        return [float(x) for x in distance_cost(given["d"], options.sigma)]
    if "videos" in given:
        videos = [video_from_sums(v["S"], v["n_gen"], v["m_ref"], int(v["hard_P"] * v["n_gen"] + 0.5), options) for v in given["videos"]]
        corpus = score_corpus(videos, options)
        return {"sP": corpus.precision, "sR": corpus.recall, "sF1": corpus.f1}

    def score(pairs):
        table = {(p["gen"], p["ref"]): p["cos"] for p in pairs}
        instants = [Instant(f["t"], f["gen"], f["ref"]) for f in given["frames"]]

        def cosines(said, references):
            return np.array([[table.get((s, r), 0.0) for r in references] for s in said])

        return score_video(instants, cosines, options)

    if "cos" not in given:
        values = {key.removeprefix("cos_"): value for key, value in given.items() if key.startswith("cos_")}
        assert values, f"no cosine in {sorted(given)}"
        return {name: score([{"gen": "g", "ref": "r", "cos": cos}]).hard_f1 for name, cos in values.items()}
    video = score(given["cos"])
    return {
        "S": video.similarity,
        "n_gen": video.said,
        "m_ref": video.references,
        "sP": video.precision,
        "sR": video.recall,
        "sF1": video.f1,
        "hard_P": video.hard_precision,
        "hard_R": video.hard_recall,
        "hard_F1": video.hard_f1,
    }


def behavior_options(config):
    return guideme.BehaviorOptions(
        config["pc_time_window_s"],
        guideme.JudgeFailure.EXCLUDE if config["judge_error"] == "exclude" else guideme.JudgeFailure.ZERO,
        guideme.RateDenominator(config["denominator"]),
    )


def guideme_behavior(given, config):
    if "video_duration" in given:
        ticks = dense_ticks(
            given["user_start"], given["gt"], given["video_duration"], given["tail_drawn"], float(config.get("chunk_seconds", 1))
        )
        speak = sorted({tick_of(t, ticks[0]) for t in given["gt"]})
        return {"first": ticks[0], "last": ticks[-1], "n": len(ticks), "speak_ticks": speak, "n_silent": len(ticks) - len(speak)}
    if any(key.startswith("anchors_") for key in given):
        found: dict[str, float] = {}
        for key, anchors in given.items():
            name = key.removeprefix("anchors_")
            candidates, grid = silent_candidates(anchors, config["min_gap_s"]), anchor_grid(anchors, 7, config["min_gap_s"])
            assert set(grid.silent_s) <= set(candidates)
            found |= {f"{name}_n": len(candidates), f"{name}_sampled": len(grid.silent_s)}
            if candidates:
                found |= {f"{name}_first": candidates[0], f"{name}_last": candidates[-1]}
        return found
    known = ["profile", "pc_time_window_s", "judge_error", "denominator", "judge_scale", "judge", "silence", "silent_strings"]
    refuse_unknown(config, known)
    options = behavior_options(config)
    if "frames" not in given:
        if "texts" in given:
            is_lenient = config.get("silence", "official") != "official" or len(config.get("silent_strings", "123")) > 3
            rule = guideme.SilenceRule.LENIENT if is_lenient else guideme.SilenceRule.OFFICIAL
            return [is_silence(text, rule) for text in given["texts"]]
        return matched_score(config.get("judge", given["judge"]), options)
    frames = given["frames"]
    records = classify([Moment(f["t"], f["gt"], f["pred"]) for f in frames], options)
    judged = [(r.outcome, frames[r.said_at].get("judge") if r.outcome is Outcome.PARTLY_CORRECT else None) for r in records]
    scores = score_behavior(judged, options)
    return {
        "CS": scores.correct_silent,
        "NR": scores.no_response,
        "FA": scores.false_alarm,
        "PC": scores.partly_correct,
        "Score": scores.score,
        "records": scores.records,
        "n_judge_failed": scores.judge_failed,
    }


def cook_options(config):
    refuse_unknown(
        config, ["gated", "positive_class", "zero_division", "unparsable", "hint_aggregation", "hint", "hint_counting", "average"]
    )
    assert config["positive_class"] == "mistake"
    return CookOptions(
        config["gated"],
        Unparsable(config["unparsable"]),
        HintAggregation(config["hint_aggregation"]),
        HintCounting(config.get("hint_counting", "per_sample")),
        config["zero_division"],
    )


def cook_mre(given, config, title=""):
    if "rows" in given:
        worst = max(
            abs(100 * implied_macro_f1(r["MPC_F1"] / 100, r["CorrAcc"] / 100, r["FullPass"] / 100) - r["Macro_F1"]) for r in given["rows"]
        )
        return {"worst_abs_difference_below_0.15_points": worst < 0.15}
    if "mistakes" in given:  # totals of a floor: what it always says stands in the title
        says_mistake = "always says 'mistake'" in title.lower() or given.get("says") == "mistake"
        assert says_mistake or "always says 'correct'" in title.lower() or given.get("says") == "correct", title
        mistakes = [MistakeSample(says_mistake, False, False)] * given["mistakes"]
        correct = [CorrectSample((says_mistake,))] * given["correct"]
    elif "mistake_pred" in given:
        mistakes = [MistakeSample(None if p is None else bool(p), False, False) for p in given["mistake_pred"]]
        correct = [CorrectSample((None if p is None else bool(p),)) for p in given["correct_pred"]]
    else:
        mistakes = [MistakeSample(*(bool(x) for x in rte)) for rte in given["mistakes_rte"]]
        claims = given.get("correct_prompt_claims", [[1 - r] for r in given.get("correct_r", [])])
        correct = [CorrectSample(tuple(bool(c) for c in row)) for row in claims]
    scores = score_cook_mre(mistakes, correct, cook_options(config))
    return {
        "TypeAcc": scores.type_acc,
        "CorrAcc": scores.corr_acc,
        "FullPass": scores.full_pass,
        "MPC_F1": scores.mpc_f1,
        "correct_F1": scores.correct_f1,
        "Macro_F1": scores.macro_f1,
        "tp": scores.tp,
        "fp": scores.fp,
        "fn": scores.fn,
        "tn": scores.tn,
    }


def yes_no(texts, expected):
    """What each text is read as, in the words of the case: true/false/null, or yes/no and any word for what is neither."""
    words = {"yes": True, "no": False}
    if not any(isinstance(one, str) for one in expected):
        return [read_yes_no(text).is_yes for text in texts]
    found = [read_yes_no(text).is_yes for text in texts]
    return [one if words.get(str(one).lower()) is is_yes else is_yes for one, is_yes in zip(expected, found, strict=True)]


def turn_based(given, config, expected=()):
    if "step_start" in given:
        return polling_instants(
            given["step_start"], given["stream_end"], config["interval_s"], final_partial=config.get("final_partial", False)
        )
    if "polls" in given:
        answers = {t: (complete, mistaken) for _, t, complete, mistaken in given["polls"]}
        events = []
        for t in answers:

            def ask(which):
                def answer(now):
                    said = answers[now][which]
                    assert said is not None, f"question {which} at {now} should not be asked"
                    return YesNo(said == "yes", "text")

                return answer

            event = decide(t, ask(0), ask(1))
            if event is not None:
                events.append([event[0], t])
                if event[0] == "success":
                    break
        return events
    if "texts" in given:
        if "rule" in config:  # what the published baseline does, for contrast
            assert config["rule"] == "lower().replace('yes.','').replace('yes','')", config["rule"]
            return [text.lower().replace("yes.", "").replace("yes", "").strip() for text in given["texts"]]
        if all(one is None or isinstance(one, bool) or str(one).lower() in YES_NO_WORDS for one in expected):
            return yes_no(given["texts"], expected)
        return [read_yes_no(text).rest for text in given["texts"]]
    memory = RecentFeedback(config.get("memory_s", 60))
    for t, text in given["feedback"]:
        memory.add(t, text)
    return memory.at(given["now"])


def action_head(given, config):
    import torch

    from ml.streaming.head import decide, gap_over, speak_loss
    from ml.streaming.settings import BalanceLoss, Thresholds

    if "logits" in given:
        logits, labels = (torch.tensor(given[name], dtype=torch.float64) for name in ("logits", "labels"))
        if config["reduction"] == "class_balanced":
            return float(speak_loss(logits, labels, balance=BalanceLoss.CLASS_BALANCED))
        assert config["reduction"] == "mean over frames", config["reduction"]
        return {"bce": float(speak_loss(logits, labels)), "pos_weight_3": float(speak_loss(logits, labels, positive_weight=3.0))}
    thresholds = Thresholds(given["threshold"], 1.0)
    gap = config.get("min_gap_s", given.get("min_gap_s", 0))
    spoken: list[int] = []
    for t, probability in enumerate(given["probs_from_t1"], 1):
        is_due = gap_over(t, spoken[-1] if spoken else None, gap)
        if is_due and decide(probability, 1.0, thresholds) is not None:
            spoken.append(t)
    return spoken


FAMILIES = {
    "ego_mistake": ego_mistake,
    "ego_icacc": ego_icacc,
    "rouge_l": rouge_l_family,
    "bertscore_rescale": bertscore_rescale,
    "guideme_soft": guideme_soft,
    "guideme_behavior": guideme_behavior,
    "cook_mre": cook_mre,
    "turn_based": turn_based,
    "action_head": action_head,
}
TITLES = {case["id"]: case["title"] for path in sorted(FOLDER.glob("*.json")) for case in json.loads(path.read_text())["cases"]}


@pytest.mark.parametrize(("name", "family", "given", "config", "expected", "tolerance"), RUNS, ids=[run[0] for run in RUNS])
def test_case(folder, name, family, given, config, expected, tolerance):
    assert family in FAMILIES, f"{name}: no scorer for the family {family}"
    extra = {"cook_mre": {"title": TITLES[name.split(":")[0]]}, "turn_based": {"expected": expected}}.get(family, {})
    assert_matches(FAMILIES[family](given, config, **extra), expected, tolerance, name)


def test_all_families_of_the_folder_are_covered(folder):
    assert {run[1] for run in RUNS} <= set(FAMILIES)


def test_the_default_options_are_the_default_readings():
    options = EgoOptions()
    assert options == replace(
        options,
        half_window_s=15.0,
        inclusive=True,
        matching=Matching.OPTIMAL,
        duplicates=Duplicates.FALSE_POSITIVE,
        scope=Scope.STEP,
        average=Average.POOLED,
        zero_division=0.0,
    )
    assert guideme.official().soft == guideme.SoftOptions()
    assert guideme.official().behavior.pair_window_s == 2.0
