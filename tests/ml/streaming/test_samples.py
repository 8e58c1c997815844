from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.errors import InputError
from ml.streaming.samples import TrainingSample, block_range, block_times, build_sample, check_samples
from ml.streaming.settings import embedded_fine_tuning

SETTINGS = embedded_fine_tuning()


def sample(
    messages=((4.2, "feedback", "Use a fork."),), start_s=0.0, end_s=8.0, dataset="qicd", instruction="Beat the eggs."
) -> TrainingSample:
    return TrainingSample("s", dataset, "r", "v.mp4", start_s, end_s, instruction, messages)


@given(start_s=st.floats(0, 500), length_s=st.floats(0, 60))
def test_blocks_lie_inside_the_stream_and_miss_less_than_a_second_at_each_end(start_s, length_s):
    end_s = start_s + length_s
    blocks = block_range(start_s, end_s)
    if blocks:
        assert block_times(blocks[0])[0] >= start_s - 1e-5
        assert block_times(blocks[-1])[1] <= end_s + 1e-5
        assert block_times(blocks[0])[0] - start_s < 1
        assert end_s - block_times(blocks[-1])[1] < 1 + 1e-5
    else:
        assert length_s < 1.5 + 1e-5


def test_silent_silent_speak_gives_three_supervised_blocks(model):
    built = build_sample(sample(((2.3, "success", "Good."),), end_s=3.0), model, replace(SETTINGS, ignored_before_exact=0))
    assert built.speak == [0.0, 0.0, 1.0]
    assert built.weights == [1.0, 1.0, 1.0]
    assert built.trained_tokens == 3 + len(built.replies)


def test_the_reply_follows_its_block_and_is_the_only_text_trained(model):
    built = build_sample(sample(), model, SETTINGS)
    ids, end = built.sequence.ids, built.sequence.block_ends[4]
    assert [place for place, _, _ in built.replies] == list(range(end, end + len(built.replies)))
    assert [token for _, token, _ in built.replies] == ids[end + 1 : end + 1 + len(built.replies)]
    assert model.decode([token for _, token, _ in built.replies]) == "Feedback: Use a fork."
    assert [weight for _, _, weight in built.replies][:2] == [SETTINGS.first_token_weight, 1.0]


def test_an_answer_that_also_stands_in_the_prompt_is_trained_where_it_is_given(model):
    built = build_sample(sample(((4.2, "feedback", "Yes."),), instruction="Yes."), model, SETTINGS)
    assert all(place >= built.sequence.block_ends[4] for place, _, _ in built.replies)
    assert built.replies


def test_soft_target_covers_the_blocks_from_the_moment_to_the_reply(model):
    built = build_sample(sample(), model, SETTINGS, delays=[2])
    assert built.speak == [0, 0, 0, 0, 1, 1, 1, 0]
    assert built.weights[3] == 0.0
    assert {index for index, _ in built.kinds} == {4, 5, 6}
    assert built.replies[0][0] == built.sequence.block_ends[6]


def test_an_inferred_time_leaves_more_blocks_undecided_than_an_exact_one(model):
    exact = build_sample(sample(dataset="qicd"), model, SETTINGS)
    inferred = build_sample(sample(dataset="ego_comist"), model, SETTINGS)
    assert exact.weights.count(0.0) == SETTINGS.ignored_before_exact
    assert inferred.weights.count(0.0) == SETTINGS.ignored_before_inferred


def test_a_stream_ends_with_its_success(model):
    built = build_sample(sample(((4.2, "success", "Good."),)), model, SETTINGS)
    assert len(built.speak) == len(built.sequence.blocks) == 5


def test_a_stream_without_message_is_all_silence(model):
    built = build_sample(sample(()), model, SETTINGS)
    assert built.speak == [0.0] * 8
    assert built.trained_tokens == 8


def test_mixed_datasets_are_told_apart_in_the_prompt(model):
    prompts = [build_sample(sample(dataset=name), model, SETTINGS).sequence.ids for name in ("ego_comist", "qicd")]
    assert prompts[0] != prompts[1]


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"end_s": 0.4}, "no whole second"),
        ({"messages": ((30.0, "feedback", "Late."),)}, "outside the stream"),
        ({"messages": ((3.0, "comment", "Hm."),)}, "neither feedback nor success"),
        ({"messages": ((3.0, "feedback", "  "),)}, "no text"),
    ],
)
def test_a_sample_that_cannot_be_trained_on_is_refused_with_its_reason(model, changed, reason):
    kept, refused = check_samples([sample(), replace(sample(**changed), sample_id="bad")], model, SETTINGS)
    assert [one.sample_id for one in kept] == ["s"]
    assert refused[0].sample_id == "bad"
    assert reason in refused[0].reason


def test_one_token_too_many_refuses_the_row_instead_of_cutting_frames(model):
    length = len(build_sample(sample(), model, SETTINGS).sequence)
    assert build_sample(sample(), model, replace(SETTINGS, max_tokens=length))
    with pytest.raises(InputError, match=f"{length} tokens are more than max_tokens {length - 1}"):
        build_sample(sample(), model, replace(SETTINGS, max_tokens=length - 1))


def test_when_no_sample_is_left_the_run_stops(model):
    with pytest.raises(InputError, match="none of 1 samples"):
        check_samples([sample(end_s=0.4)], model, SETTINGS)
