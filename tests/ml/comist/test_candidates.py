import numpy as np
import pytest

from ml.comist.candidates import CandidateSettings, build_candidates, candidate_texts
from ml.comist.leaks import benchmark_leaks, sources_that_share
from ml.embeddings.encoder import TextEncoder
from ml.embeddings.vectors import TextVectors
from ml.errors import InputError
from ml.tables.declarations.benchmarks import BENCHMARK_STEPS
from ml.vocabulary import Direction, MistakeType, Status
from tests.ml.comist.made import counterfactual, counterfactuals, recording, recordings, timestamps

MEASURED = {"mistake_type": MistakeType.MEASUREMENT, "direction": Direction.GREATER}


@pytest.fixture(scope="module")
def encoder():
    return TextEncoder(threads=1)


def build(frame, encoder, benchmark=(), clips=None, settings=None, due=None):
    ids = sorted(set(frame["recording_id"]))
    due = timestamps(frame, clips) if due is None else due
    vectors = encoder.vectors(candidate_texts(frame, benchmark))
    return build_candidates(frame, due, recordings(*(recording(i) for i in ids)), benchmark, vectors, settings)


def test_scores_of_a_changed_number_and_of_equal_texts(encoder):
    frame = counterfactuals(
        counterfactual("a", "s/1", "Add 2 scoops of rice to the pot", "Add 3 scoops of rice to the pot", **MEASURED),
        counterfactual("b", "s/1", "Stir the soup", "Stir the soup", step_uid="2#0"),
        counterfactual("c", "s/1", "Stir the soup", None, step_uid="3#0", status=Status.REFUSED, reason="refused"),
    )
    out = build(frame, encoder).rows_by_key("pair_id", named=True, unique=True)
    assert out["a"]["differs"]
    assert out["a"]["original_similarity"] > 0.9
    assert out["b"]["differs"] is False
    assert out["b"]["original_similarity"] == pytest.approx(1.0, abs=1e-5)
    assert (out["c"]["status"], out["c"]["reason"], out["c"]["original_similarity"]) == ("refused", "refused", None)
    assert (out["a"]["licence"], out["a"]["split_file"], out["a"]["split_sha256"]) == ("Apache-2.0", "splits.json", "ab")


def test_status_comes_from_the_first_stage_that_failed(encoder):
    frame = counterfactuals(*(counterfactual(p, "s/1", "Slice the onion", "Grate the onion", step_uid=f"{p}#0") for p in "abc"))
    due = timestamps(frame.head(2))
    never = timestamps(frame.head(1), t_s=None, status=Status.NEVER_APPARENT, reason="the answer was None")
    due = never.vstack(due.tail(1))
    out = build(frame, encoder, due=due)
    assert out["status"].to_list() == ["never_apparent", "ok", "waiting"]
    assert out["reason"][0] == "the answer was None"
    assert "timestamp" in out["reason"][2]


def test_duplicates_on_one_clip_and_copies_elsewhere(encoder):
    texts = ("Slice the onion into thin rings", "Grate the onion into a bowl")
    frame = counterfactuals(
        counterfactual("a", "s/1", *texts),
        counterfactual("b", "s/1", texts[0], "Grate the onion into a bowl."),
        counterfactual("c", "s/2", *texts),
        counterfactual("d", "s/2", *texts, step_uid="7#0"),
        counterfactual("e", "s/3", "Pour the milk into the mug", "Spoon the milk into the mug"),
    )
    out = build(frame, encoder, clips={"7#0": (100.0, 120.0)}).rows_by_key("pair_id", named=True, unique=True)
    assert {key: row["duplicate_of"] for key, row in out.items()} == {"a": None, "b": "a", "c": "a", "d": "a", "e": None}
    assert out["b"]["duplicate_similarity"] > 0.97
    assert out["c"]["duplicate_similarity"] == 1.0


def test_another_amount_is_no_duplicate_though_the_vectors_are_close(encoder):
    frame = counterfactuals(
        counterfactual("a", "s/1", "Add 2 scoops of rice to the pot", "Add 3 scoops of rice to the pot", **MEASURED),
        counterfactual("b", "s/1", "Add 2 scoops of rice to the pot", "Add 4 scoops of rice to the pot", **MEASURED),
        counterfactual("c", "s/2", "Add 3 scoops of rice to the pot", "Add 4 scoops of rice to the pot", **MEASURED),
    )
    assert build(frame, encoder)["duplicate_of"].to_list() == [None, None, None]


def test_overlapping_steps_of_one_recording_share_a_clip(encoder):
    texts = ("Slice the onion into thin rings", "Grate the onion into a bowl")
    frame = counterfactuals(counterfactual("a", "s/1", *texts), counterfactual("b", "s/1", texts[0], texts[1] + " now", step_uid="2#0"))
    near = build(frame, encoder, clips={"1#0": (10.0, 40.0), "2#0": (12.0, 41.0)}, settings=CandidateSettings(same_clip_floor=0.9))
    assert near["duplicate_of"].to_list() == [None, "a"]


def test_nearest_benchmark_step_is_that_of_either_text(encoder):
    frame = counterfactuals(counterfactual("a", "s/1", "Slice the onion", "Grate the onion"))
    out = build(frame, encoder, ["Boil the pasta", "Slice the onions", "Grate the onion"]).row(0, named=True)
    assert out["benchmark_step"] == "Grate the onion"
    assert out["benchmark_similarity"] == pytest.approx(1.0, abs=1e-5)
    none = build(frame, encoder).row(0, named=True)
    assert none["benchmark_step"] is None
    assert none["benchmark_similarity"] is None


def test_scores_do_not_depend_on_row_order_nor_on_how_neighbours_are_searched(encoder):
    kitchen = ["onion", "carrot", "garlic", "tomato", "potato", "apple"]
    frame = counterfactuals(
        *(
            counterfactual(f"{r}{k}{v}", f"s/{r}", f"Slice the {k} into {v} pieces", f"Grate the {k} into {v} pieces", step_uid=f"{k}{v}#0")
            for r in range(3)
            for k in kitchen
            for v in ("thin", "thick", "even", "small")
        )
    )
    first = build(frame, encoder)
    order = np.random.default_rng(0).permutation(frame.height)
    assert build(frame[order], encoder).equals(first)
    assert build(frame, encoder, settings=CandidateSettings(exact_rows=1)).equals(first)


def test_bad_input_is_named():
    frame = counterfactuals(counterfactual("a", "s/1", "Slice the onion", "Grate the onion"))
    vectors = TextVectors.of(["Slice the onion"], np.ones((1, 2), dtype=np.float32))
    with pytest.raises(InputError, match="Grate the onion"):
        build_candidates(frame, timestamps(frame), recordings(recording("s/1")), [], vectors)
    with pytest.raises(InputError, match="s/1"):
        build_candidates(frame, timestamps(frame), recordings(recording("s/2")), [], vectors)
    with pytest.raises(InputError, match="pair id comes twice"):
        build_candidates(frame.vstack(frame), timestamps(frame), recordings(recording("s/1")), [], vectors)


def test_leaks_are_found_by_id_by_file_and_by_shared_videos():
    known = recordings(recording("captaincook4d/8_16"), recording("raw_videos/x", video_path="/v/b.mp4"), recording("raw_videos/y"))
    steps = BENCHMARK_STEPS.rows(
        [
            {"benchmark": "q", "unit_id": str(n), "position": n, "start_s": 0.0, "end_s": 1.0, **row}
            for n, row in enumerate(
                [
                    {"recording_id": "qicd/8_16", "instruction": "Add salt", "video_path": None},
                    {"recording_id": "ego_mc_bench/1", "instruction": "Add milk", "video_path": "/v/b.mp4"},
                    {"recording_id": "raw_videos/y", "instruction": "Add oil", "video_path": None},
                    {"recording_id": "ego_mc_bench/2", "instruction": "Add rice", "video_path": "/v/c.mp4"},
                ]
            )
        ]
    )
    shared = sources_that_share({"captaincook4d": "captaincook4d", "qicd": "qicd", "goalstep": "ego4d_goalstep"})
    assert shared == [("qicd", "captaincook4d")]
    assert benchmark_leaks(steps, known, shared).rows() == [
        ("captaincook4d/8_16", "Add salt"),
        ("raw_videos/x", "Add milk"),
        ("raw_videos/y", "Add oil"),
    ]
