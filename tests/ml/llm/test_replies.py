"""Section C of the field cases, row by row, and what else the readers promise."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml.llm.quantities import Duration
from ml.llm.replies import (
    read_dict,
    read_duration,
    read_list,
    read_number,
    read_option,
    read_span,
    read_text,
    read_timestamp,
    read_yes_no,
    share_of_round,
)
from ml.llm.requests import Reply
from ml.vocabulary import Status


def test_row_47_trailing_sentence_is_ignored_and_kept_apart():
    parsed = read_dict('{"ok":1}\nLet me know if you need more.')
    assert parsed.value == {"ok": 1}
    assert parsed.ignored == "Let me know if you need more."


@pytest.mark.parametrize(
    ("text", "value"),
    [('{"query":"what\'s the weather"}', {"query": "what's the weather"}), ("{'step': \"don't stir\"}", {"step": "don't stir"})],
)
def test_row_48_apostrophes_stay(text: str, value: dict):
    assert read_dict(text).value == value


def test_row_50_typographic_delimiters_are_read_and_inner_quotes_never_shorten():
    assert read_dict("{“a”: 1}").value == {"a": 1}
    assert read_dict("{‘a’: ‘don’t “rush”’}").value == {"a": "don’t “rush”"}
    for broken in ('{"n":"told the "chef", wait"}', "{“n”:“told the ”chef”, wait”}", '{"n": "told the " "chef"}'):
        parsed = read_dict(broken)
        assert (parsed.value, parsed.status) == (None, Status.UNPARSABLE), broken


def test_row_51_one_object_in_a_list_is_unwrapped_and_others_are_a_bad_reply():
    assert read_dict('[{"mistake":"too much"}]').value == {"mistake": "too much"}
    for text in ('["too much"]', '"text"', '[{"a": 1}, {"b": 2}]', "[]", "7"):
        assert read_dict(text).status is Status.UNPARSABLE, text


@pytest.mark.parametrize(
    ("text", "letter", "reason"),
    [
        ("None of the above", None, "none of the above"),
        ("Answer seems to be A", "A", None),
        ("Answer: **D**", "D", None),
        ("NONE.", None, "none"),
        ("N/A", None, "none"),
    ],
)
def test_row_53_letters_are_not_picked_out_of_words(text: str, letter: str | None, reason: str | None):
    parsed = read_option(text, "ABCD")
    assert (parsed.value, parsed.reason) == (letter, reason)
    assert parsed.status is (Status.OK if letter else Status.NOT_APPLICABLE)


@pytest.mark.parametrize("text", ["A or B", "B) or C)", "A pan is hot", "Definitely", "D'accord", "Answer: A. Answer: B."])
def test_options_that_leave_a_choice_are_unparsable(text: str):
    assert read_option(text, "ABCD").status is Status.UNPARSABLE


def test_an_options_own_text_counts_as_its_letter():
    assert read_option("Whisk the eggs.", "AB", ("fold the eggs", "whisk the eggs")).value == "B"


def test_row_54_off_list_is_recorded_with_the_nearest_and_never_chosen():
    parsed = read_timestamp("14 s", [12.0, 17.5, 31.2])
    assert (parsed.value, parsed.status) == (None, Status.OFF_LIST)
    assert parsed.reason is not None
    assert "12 s" in parsed.reason
    assert "2 s away" in parsed.reason
    assert read_timestamp("17.50 s", [12.0, 17.5, 31.2]).value == 17.5


@pytest.mark.parametrize("text", ['{"mistakes":[{"a":', "[]"])
def test_row_56_truncated_is_never_an_empty_answer(text: str):
    reply = Reply("k", Status.TRUNCATED, text, "stop reason max_tokens")
    for read in (read_dict, read_list, read_text, read_yes_no, read_number, read_duration, read_timestamp):
        parsed = read(reply)
        assert (parsed.value, parsed.status, parsed.reason) == (None, Status.TRUNCATED, "stop reason max_tokens")
    assert read_list('{"mistakes":[{"a":').status is Status.UNPARSABLE


def test_row_57_refusal_by_mark_empty_and_refusal_in_words_are_three_outcomes():
    marked = read_text(Reply("k", Status.REFUSED, None, "stop reason refusal"))
    empty = read_text(Reply("k", Status.EMPTY, None, "no text, stop reason end_turn"))
    worded = read_text("I'm sorry, I can't assist")
    assert len({(one.status, one.reason) for one in (marked, empty, worded)}) == 3
    assert [one.value for one in (marked, empty, worded)] == [None, None, None]
    assert worded.status is Status.REFUSED


def test_row_59_out_of_range_is_rejected_and_the_scale_is_explicit():
    assert read_span("from 18 to 24 s", (0.0, 13.0)).status is Status.OUT_OF_CLIP
    assert read_span("from 25 to 40", (0.0, 13.0), is_percent=True).value == pytest.approx((3.25, 5.2))
    assert read_span("2-8 s", (100.0, 113.0)).value == (102.0, 108.0)
    assert read_span("102 to 108", (100.0, 113.0), is_relative=False).value == (102.0, 108.0)
    assert read_span("from 8 to 2 s", (0.0, 13.0)).status is Status.INCONSISTENT
    assert read_timestamp("20", clip=(0.0, 13.0)).status is Status.OUT_OF_CLIP
    assert read_timestamp("5 s", clip=(100.0, 113.0), offset_s=100.0).value == 105.0


def test_row_60_round_values_show():
    assert share_of_round([0.0, 5.0, 10.0, 15.0]) == 1.0
    assert share_of_round([1.0, 5.0, 7.2, 9.9]) == 0.25
    assert share_of_round([]) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("**YES**.", True),
        ("yes, the flour is in", True),
        ("No.", False),
        ("Answer: **No**", False),
        ('{"answer": true}', True),
        ("<think>no, maybe</think>YES", True),
        ("No mistake is visible", False),
        ("No. Yes, I am sure", None),
        ("Yes, no salt was added", True),
        ("Yes: there is no lid on the pot.", True),
        ("No mistake. The eyes are on the pan", False),
        ("NO, yes I am sure", None),
        ("No, yes it is", None),
        ("no problem, yes", None),
        ("Yes, well, no.", None),
        ("Yes, no it is not", None),
        ("Eyes on the pan", None),
        ("None", None),
        ("Nope", None),
        ("I would say yes", None),
        ("Yes and no", None),
        ("YES or NO", None),
        ("YES\nFinal answer: NO", None),
        ("Yes-man", None),
    ],
)
def test_yes_and_no_are_read_strictly(text: str, value: bool | None):
    parsed = read_yes_no(text)
    assert parsed.value is value
    assert parsed.status is (Status.UNPARSABLE if value is None else Status.OK)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('Feedback: "Use ½ cup, not 1."', "Use ½ cup, not 1."),
        ("Here it is:\n\n**Use ½ cup.**", "Use ½ cup."),
        ('"Say \\"when\\""', 'Say "when"'),
        ('{"feedback": "Use 3 cups"}', "Use 3 cups"),
        ("```\nUse 3 cups\n```", "Use 3 cups"),
        ('Stir "gently" and "slowly"', 'Stir "gently" and "slowly"'),
        ('"gently" and "slowly"', '"gently" and "slowly"'),
        ("I can't see the flour yet.", "I can't see the flour yet."),
    ],
)
def test_one_line_texts(text: str, value: str):
    assert read_text(text, labels=("Feedback",)).value == value


def test_texts_that_are_no_one_line():
    assert read_text("one\ntwo").status is Status.UNPARSABLE
    assert read_text("  \n").status is Status.EMPTY
    assert read_text("N/A").status is Status.NOT_APPLICABLE
    assert read_text('{"feedback": null}', "feedback").status is Status.NOT_APPLICABLE
    assert read_text('{"other": "x"}', "feedback").status is Status.UNPARSABLE


def test_names_are_matched_without_case_blanks_and_hyphens():
    assert read_dict("{'Amount of-Time': '2 min'}", ("amount_of_time",)).value == {"amount_of_time": "2 min"}
    assert read_dict('{"a": 1}', ("a", "b")).reason == "the object lacks b"
    assert read_dict('{"A": 1, "a": 2}', ("a",)).status is Status.UNPARSABLE
    assert read_dict("None").status is Status.NOT_APPLICABLE


def test_two_answers_or_two_values_of_one_name_are_ambiguous():
    assert read_dict('{"a": 1} Wait, no: {"a": 2}').status is Status.UNPARSABLE
    assert read_dict('{"a": 1, "a": 2}').status is Status.UNPARSABLE
    assert read_dict('{"a": 1} Again: {"a": 1}').value == {"a": 1}


@pytest.mark.parametrize(
    ("text", "value"),
    [("2½ tablespoons", 2.5), ("1,200 g", 1200), ("three", 3), ("1 1/2 cups", 1.5), ("{'amount': 4}", 4), ("-3", -3), ("about 5", 5)],
)
def test_numbers(text: str, value: float):
    assert read_number(text).value == pytest.approx(value)


@pytest.mark.parametrize("text", ["There are 5 reasons for a 9", "NaN", "many", "3.5.1", "1/0", '{"a": NaN}'])
def test_no_number_or_several(text: str):
    assert read_number(text).status is Status.UNPARSABLE


@pytest.mark.parametrize(
    ("text", "low_s", "high_s"),
    [
        ("1 minute 30 seconds", 90, 90),
        ("1.5 minutes", 90, 90),
        ("90 s", 90, 90),
        ("2-3 minutes", 120, 180),
        ("15-30 more seconds", 15, 30),
        ("1:30", 90, 90),
        ("half an hour", 1800, 1800),
        ("an hour and a half", 5400, 5400),
        ("1 minute (60 seconds)", 60, 60),
        ("90 s to 2 min", 90, 120),
        ("1h5m", 3900, 3900),
    ],
)
def test_durations(text: str, low_s: float, high_s: float):
    assert read_duration(text).value == Duration(low_s, high_s)


def test_durations_that_leave_a_choice():
    assert read_duration("2 minutes, then 3 minutes").status is Status.UNPARSABLE
    assert read_duration("2 and 3 minutes").status is Status.UNPARSABLE
    assert read_duration("90").status is Status.UNPARSABLE
    assert read_duration("90", unit_s=1.0).value == Duration(90, 90)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("00:12", 12.0),
        ("12.5 s", 12.5),
        ("{'timestamp': 12}", 12.0),
        ('{"timestamp": "00:12.5"}', 12.5),
        ("[12.5]", 12.5),
        ("<12.5 seconds>", 12.5),
        ("Timestamp: 12.5\nReason: 3 tablespoons are in", 12.5),
        ("at 12 s because 3 tablespoons are in", 12.0),
        ("1:02:03", 3723.0),
    ],
)
def test_timestamps(text: str, value: float):
    assert read_timestamp(text).value == value


@pytest.mark.parametrize(
    "text", ["12 s (or None)", "12.5 or none", "None or 12.5", "12 s, N/A", "{'timestamp': 12} or None", '{"timestamp": "12 or None"}']
)
def test_a_moment_or_none_leaves_a_choice(text: str):
    assert read_timestamp(text).status is Status.UNPARSABLE


@pytest.mark.parametrize("text", ["12 s. None of the earlier windows shows it.", "None of the earlier windows shows it: {'timestamp': 12}"])
def test_none_of_others_is_a_reason(text: str):
    assert read_timestamp(text).value == 12


@pytest.mark.parametrize("text", ["None", "N/A", "Answer: None", '{"timestamp": null}', '{"timestamp": "None"}'])
def test_no_timestamp_means_never_apparent(text: str):
    assert read_timestamp(text, [1.0]).status is Status.NEVER_APPARENT


@pytest.mark.parametrize("text", ["12 or 17.5", "between 12 s and 15 s", "[1, 2]", '{"start": 1, "time": 2}', "soon"])
def test_several_moments_or_none_are_unparsable(text: str):
    assert read_timestamp(text).status is Status.UNPARSABLE


PLAIN = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="{}[]"), max_size=30)
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
OBJECTS = st.dictionaries(
    TEXTS, st.one_of(TEXTS, st.integers(-(10**6), 10**6), st.booleans(), st.none(), st.lists(TEXTS, max_size=3)), min_size=1, max_size=4
)


@given(PLAIN, OBJECTS, PLAIN, st.sampled_from((json.dumps, repr, lambda value: json.dumps(value, ensure_ascii=False))))
def test_any_object_is_read_whole_wherever_it_stands(before: str, value: dict, after: str, write):
    text = f"{before}\n{write(value)}\n{after}"
    assert read_dict(text).value == value


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), st.text("ab ,:\"'“”‘’\\", max_size=12), min_size=1, max_size=3))
def test_no_value_is_ever_shortened_by_bad_quoting(value: dict):
    """Written without any escaping, an object either reads back letter for letter or is refused.

    Values hold no braces: a quote and a brace inside one would end the object, and what follows would be a remark (field case 47).
    """
    for left, right in (('"', '"'), ("“", "”")):
        text = "{" + ", ".join(f"{left}{name}{right}: {left}{part}{right}" for name, part in value.items()) + "}"
        parsed = read_dict(text)
        same_names = parsed.value is not None and set(parsed.value) == set(value)  # else the text really says something else
        if same_names and not any("\\" in part for part in value.values()):
            assert parsed.value == value


@given(st.one_of(TEXTS, st.text("{}[]\"“”'‘’,: 0123456789aNYesno-½/.\n", max_size=60)))
def test_no_text_makes_a_reader_fail(text: str):
    for read in (read_dict, read_list, read_text, read_yes_no, read_number, read_duration, read_timestamp):
        parsed = read(text)
        assert (parsed.value is None) == (parsed.status is not Status.OK)
        assert (parsed.reason is None) == (parsed.status is Status.OK)
    assert read_option(text, "ABCD").status in Status
    assert read_span(text, (0.0, 10.0)).status in Status


@given(st.integers(0, 5), st.integers(0, 59), st.integers(0, 59))
def test_a_duration_reads_back_from_every_wording(hours: int, minutes: int, seconds: int):
    total = hours * 3600 + minutes * 60 + seconds
    parts = [f"{count} {unit}" for count, unit in ((hours, "hours"), (minutes, "minutes"), (seconds, "seconds")) if count]
    for text in (f"{hours}:{minutes:02}:{seconds:02}", " ".join(parts), ", ".join(parts), " and ".join(parts), f"{total} s"):
        if text:
            assert read_duration(text).value == Duration(total, total), text
