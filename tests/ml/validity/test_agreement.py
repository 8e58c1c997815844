import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.validity.agreement import cohen_kappa, counted_answers, fleiss_kappa, people_refuse, sum_up, wilson
from ml.validity.sample import draw_sample
from tests.ml.comist.made import recording, recordings
from tests.ml.validity.made import answer, answers, checks, pair, pairs

KNOWN = recordings(recording("cook/1"))


@pytest.fixture
def sample():
    return draw_sample(pairs(*(pair(name) for name in "abcd")), KNOWN)


@pytest.fixture
def shown(sample):
    return dict(sample.select("pair_id", "shown_sha256").iter_rows())


def value(review, measure, question, group="all"):
    [row] = review.rows_by_key(("measure", "question", "group"), named=True)[measure, question, group]
    return row["value"], row["n"]


def test_shares_agreement_and_errors(sample, shown):
    said = answers(
        answer("Ann", "a", shown["a"], apparent_s=3.5),
        answer("Ann", "b", shown["b"], "nyy"),
        answer("Ann", "c", shown["c"], apparent_s=-8.0),
        answer("Ann", "d", shown["d"], "y--"),  # not complete
        answer("Ben", "a", shown["a"], apparent_s=None, never_apparent=True),
        answer("Ben", "b", shown["b"], "yny"),
        answer("Ben", "c", shown["c"], "yyn"),
        answer("Ben", "d", "another text"),
    )
    review = sum_up(sample, said, checks(a="y-y", b="ny-", c="yyy"))
    assert value(review, "valid_share", "valid") == (pytest.approx((1 + 0 + 0.5) / 3), 3)
    assert value(review, "valid_share", "different") == (pytest.approx((1 + 0.5 + 1) / 3), 3)
    assert value(review, "valid_share", "valid", "cook")[1] == 3
    assert value(review, "agreement", "valid", "Ann & Ben") == (pytest.approx(2 / 3), 3)
    assert value(review, "agreement", "feasible") == (pytest.approx(2 / 3), 3)
    assert value(review, "kappa", "valid", "Ann & Ben") == (pytest.approx(0.4), 3)
    # the check leaves feasibility of a open, so its verdict on a as a whole is open too; b is refused whatever is open
    assert value(review, "check_agreement", "valid") == (pytest.approx(3 / 4), 4)
    assert value(review, "check_agreement", "of_type") == (pytest.approx(3 / 4), 4)
    assert value(review, "timestamp_error_share", "(-2.5, 2.5)") == (0.5, 2)
    assert value(review, "timestamp_error_share", "[10, inf)") == (0.5, 2)
    low, high = review.filter(measure="valid_share", question="valid", group="all").select("low", "high").row(0)
    assert 0 <= low < 0.5 < high <= 1


def test_without_answers_there_are_no_values(sample):
    review = sum_up(sample, answers(), checks())
    assert set(review["n"]) == {0}
    assert review["value"].null_count() == review.height


def test_a_pair_goes_when_most_reviewers_refuse_it(sample, shown):
    said = answers(
        *(answer(name, "a", shown["a"], verdicts) for name, verdicts in (("A", "nyy"), ("B", "yny"), ("C", "yyy"))),
        *(answer(name, "b", shown["b"], verdicts) for name, verdicts in (("A", "nyy"), ("B", "yyy"))),
        answer("A", "c", shown["c"], "n--"),
        answer("A", "d", "another text", "nyy"),
    )
    assert people_refuse(said, sample) == ["a"]


def test_a_stratum_counts_by_the_pairs_it_stands_for():
    rows = [pair(f"m{n}") for n in range(9)] + [pair("t", mistake_type="timing")]
    sample = draw_sample(pairs(*rows), KNOWN, 4)
    verdicts = {"measurement": "yyy", "timing": "nyy"}
    said = answers(*(answer("Ann", row["pair_id"], row["shown_sha256"], verdicts[row["mistake_type"]]) for row in sample.to_dicts()))
    assert value(sum_up(sample, said, checks()), "valid_share", "valid")[0] == pytest.approx(0.9)
    assert counted_answers(sample, said)["valid"].sum() == 3


def test_known_kappas():
    pairs_of_verdicts = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    assert cohen_kappa(pairs_of_verdicts) == pytest.approx(0.4)
    assert cohen_kappa([(True, True)] * 3) is None
    assert fleiss_kappa([(2, 2), (2, 2), (0, 2), (0, 2)]) == pytest.approx(1.0)
    assert fleiss_kappa([(1, 2), (1, 2)]) == pytest.approx(-1.0)
    assert fleiss_kappa([]) is None
    assert wilson(0.871, 500) == pytest.approx((0.8389, 0.8976), abs=1e-3)


@settings(deadline=None)
@given(votes=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=40))
def test_cohens_kappa_is_that_of_scikit_learn(votes):
    from sklearn.metrics import cohen_kappa_score

    got = cohen_kappa(votes)
    if got is not None:
        assert got == pytest.approx(cohen_kappa_score([one for one, _ in votes], [other for _, other in votes]))
