"""ROUGE-L in other scripts and with number signs, and its agreement with rouge-score on plain text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score import rouge_scorer

from ml.benchmarks.text_overlap import RougeOptions, Tokenizer, rouge_l, unicode_tokens

ORIGINAL = RougeOptions(tokenizer=Tokenizer.ORIGINAL)


def test_identical_text_in_another_script_scores_one():
    assert rouge_l("玉ねぎを切る", "玉ねぎを切る") == 1.0
    assert rouge_l("玉ねぎを切る", "玉ねぎを切る", ORIGINAL) == 0.0


def test_a_wrong_amount_is_visible():
    assert rouge_l("add ½ cup", "add ¼ cup") == pytest.approx(2 / 3)
    assert rouge_l("add ½ cup", "add ½ cup") == 1.0
    assert rouge_l("add ½ cup", "add ¼ cup", ORIGINAL) == 1.0


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("½cup", ["½", "cup"]),
        ("10 cm²", ["10", "cm", "²"]),
        ("Sautéed crème", ["sautéed", "crème"]),
        ("Saute\u0301ed", ["sautéed"]),
        ("प्याज काटें", ["प्याज", "काटें"]),
        ("玉ねぎを 2個", ["玉", "ね", "ぎ", "を", "2", "個"]),
        ("Нарежьте лук!", ["нарежьте", "лук"]),
        ("...", []),
        ("½ — ·", ["½"]),
    ],
)
def test_tokens_of_other_scripts(text, tokens):
    assert unicode_tokens(text) == tokens


@given(st.text(alphabet=st.characters(max_codepoint=127), max_size=60), st.text(alphabet=st.characters(max_codepoint=127), max_size=60))
def test_the_default_equals_rouge_score_on_ascii(one, other):
    expected = rouge_scorer.RougeScorer(["rougeL"]).score(other, one)["rougeL"].fmeasure
    assert rouge_l(one, other) == rouge_l(one, other, ORIGINAL) == expected


@given(st.text(max_size=40), st.text(max_size=40))
def test_any_two_texts_score_between_zero_and_one(one, other):
    assert 0 <= rouge_l(one, other) <= 1
    if unicode_tokens(one):
        assert rouge_l(one, one) == 1.0
