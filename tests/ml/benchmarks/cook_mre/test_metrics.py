"""Cook-MRE formulas on floors, empty groups and any judgements."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.benchmarks.cook_mre.metrics import (
    CookOptions,
    CorrectSample,
    HintAggregation,
    HintCounting,
    MistakeSample,
    Unparsable,
    is_readable,
    score_cook_mre,
)

MAYBE = st.sampled_from([True, False, None])
MISTAKES = st.lists(st.builds(MistakeSample, MAYBE, MAYBE, MAYBE), max_size=12)
CORRECT = st.lists(st.builds(CorrectSample, st.lists(MAYBE, min_size=1, max_size=4).map(tuple)), max_size=12)
OPTIONS = st.builds(
    CookOptions,
    st.booleans(),
    st.sampled_from(list(Unparsable)),
    st.sampled_from(list(HintAggregation)),
    st.sampled_from(list(HintCounting)),
)


@given(MISTAKES, CORRECT, OPTIONS)
def test_values_stay_in_range(mistakes, correct, options):
    scores = score_cook_mre(mistakes, correct, options)
    for value in (scores.type_acc, scores.corr_acc, scores.full_pass, scores.mpc_f1, scores.correct_f1, scores.macro_f1):
        assert value is None or 0 <= value <= 1
    if options.is_gated and scores.corr_acc is not None and scores.type_acc is not None:
        assert scores.corr_acc <= scores.type_acc <= 1


@pytest.mark.parametrize(("says_mistake", "mpc", "macro", "full"), [(True, 0.868, 0.434, 0.0), (False, 0.0, 0.189, 0.233)])
def test_published_floors(says_mistake, mpc, macro, full):
    scores = score_cook_mre([MistakeSample(says_mistake)] * 989, [CorrectSample((says_mistake,))] * 300, CookOptions())
    assert (round(scores.mpc_f1, 3), round(scores.macro_f1, 3), round(scores.full_pass or 0.0, 3)) == (mpc, macro, full)


def test_empty_groups_are_no_data_and_an_undecided_class_is_zero():
    nothing = score_cook_mre([], [], CookOptions())
    assert (nothing.type_acc, nothing.corr_acc, nothing.full_pass) == (None, None, None)
    assert (nothing.mpc_f1, nothing.macro_f1) == (0.0, 0.0)
    never = score_cook_mre([MistakeSample(False)] * 33, [CorrectSample((False,))] * 10, CookOptions())
    assert never.mpc_f1 == 0.0  # 33 references and no prediction of the class
    assert never.macro_f1 == never.correct_f1 / 2


def test_unparsable_answers_are_counted():
    samples = [MistakeSample(None), MistakeSample(True, True, True)], [CorrectSample((None, False)), CorrectSample((False,))]
    wrong, excluded = (score_cook_mre(*samples, CookOptions(unparsable=rule)) for rule in Unparsable)
    assert (wrong.unparsable, wrong.n, wrong.tp, wrong.fn, wrong.fp, wrong.tn) == (2, 4, 1, 1, 1, 1)
    assert (excluded.unparsable, excluded.n, excluded.full_pass) == (2, 2, 1.0)


def test_excluding_what_is_unreadable_means_judgements_too():
    options = CookOptions(unparsable=Unparsable.EXCLUDE)
    read, failed = MistakeSample(True, True, True), MistakeSample(True, None, None)
    missed, half = MistakeSample(False, None, None), MistakeSample(True, True, None)
    assert [is_readable(one, options) for one in (read, failed, missed, half)] == [True, False, True, False]
    scores = score_cook_mre([read, failed], [], options)
    assert (scores.type_acc, scores.n) == (1.0, 1)
    assert score_cook_mre([read, missed], [], options).type_acc == 0.5  # under the gate a missed mistake needs no further judgement
    ungated = CookOptions(unparsable=Unparsable.EXCLUDE, is_gated=False)
    assert not is_readable(missed, ungated)
