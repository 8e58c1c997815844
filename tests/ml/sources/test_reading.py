from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.errors import InputError
from ml.sources.reading import Record, TimeUnit, read_csv, read_json, read_text, to_seconds


def test_byte_order_mark(tmp_path):
    path = tmp_path / "steps.json"
    path.write_bytes(b'\xef\xbb\xbf{"steps":[]}')
    assert read_json(path) == {"steps": []}


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_wrong_encoding_is_told_with_its_byte(tmp_path, mark):
    path = tmp_path / "steps.json"
    path.write_bytes(mark + '{"a": "é\n'.encode() + '"½ cup"}'.encode("cp1252"))
    position = len(mark) + len('{"a": "é\n'.encode()) + 1
    with pytest.raises(InputError, match=rf"byte {position} \(0xbd, line 2\) is not UTF-8.*Save the file as UTF-8"):
        read_text(path)


def test_utf_16_is_named(tmp_path):
    path = tmp_path / "steps.json"
    path.write_bytes('{"steps": []}'.encode("utf-16"))
    with pytest.raises(InputError, match="UTF-16"):
        read_text(path)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('{"a": 1, "a": 2}', "'a' stands twice"),
        ('{"a": NaN}', "NaN"),
        ('{"a": }', "line 1, column 7"),
        ("", "not valid JSON"),
    ],
)
def test_json_that_would_lose_data(tmp_path, text, told):
    path = tmp_path / "steps.json"
    path.write_text(text)
    with pytest.raises(InputError, match=told) as caught:
        read_json(path)
    assert caught.value.file == path


def test_absent_file(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_json(tmp_path / "nowhere.json")


def test_csv(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('a,b,b\n1,"x, y",2\n\n')
    table = read_csv(path)
    assert table.header == ("a", "b", "b")
    assert table.rows == (("1", "x, y", "2"),)
    assert table.index("a") == 0
    with pytest.raises(InputError, match="2 columns 'b'"):
        table.index("b")
    assert read_csv(path, header=False, delimiter=";").header == ("0",)


@pytest.mark.parametrize(
    ("value", "unit", "rate", "seconds"),
    [
        (5, TimeUnit.SECONDS, None, 5.0),
        ("44.97", TimeUnit.SECONDS, None, 44.97),
        (1500, TimeUnit.MILLISECONDS, None, 1.5),
        (2_500_000_000, TimeUnit.NANOSECONDS, None, 2.5),
        (15_000_000, TimeUnit.TICKS, None, 1.5),
        ("01:02:03.5", TimeUnit.CLOCK, None, 3723.5),
        ("000123", TimeUnit.FRAMES, Fraction(30), 4.1),
        (5400, TimeUnit.FRAMES, Fraction(30000, 1001), 180.18),
    ],
)
def test_units(value, unit, rate, seconds):
    assert to_seconds(value, unit, rate=rate) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("value", "unit"),
    [
        (True, TimeUnit.SECONDS),
        ("soon", TimeUnit.SECONDS),
        (float("inf"), TimeUnit.SECONDS),
        (None, TimeUnit.SECONDS),
        ("1:75:00", TimeUnit.CLOCK),
        (12, TimeUnit.CLOCK),
        (1e300, TimeUnit.SECONDS),
        (-2e7, TimeUnit.SECONDS),
        ("1_0", TimeUnit.SECONDS),
        (2e10, TimeUnit.MILLISECONDS),
        (f"{'9' * 400}:00:00", TimeUnit.CLOCK),
    ],
)
def test_values_that_are_no_time(value, unit):
    with pytest.raises(ValueError):
        to_seconds(value, unit)


def test_frames_need_their_rate():
    with pytest.raises(TypeError):
        to_seconds(12, TimeUnit.FRAMES)
    with pytest.raises(TypeError):
        to_seconds(12, TimeUnit.SECONDS, rate=Fraction(30))
    with pytest.raises(ValueError):
        to_seconds(12.5, TimeUnit.FRAMES, rate=Fraction(30))
    with pytest.raises(ValueError):
        to_seconds(10**9, TimeUnit.FRAMES, rate=Fraction(30))


@settings(deadline=None)
@given(st.integers(0, 10**7), st.sampled_from([Fraction(25), Fraction(30000, 1001), Fraction(60000, 1001)]))
def test_a_frame_number_comes_back_from_its_time(frame, rate):
    assert round(to_seconds(frame, TimeUnit.FRAMES, rate=rate) * rate) == frame


def test_record_tells_where(tmp_path):
    record = Record.of({"t": "12", "b": "1", "n": None, "list": [1], "id": 7}, tmp_path / "f.json", "video 3")
    with pytest.raises(InputError, match=r"file .*f\.json, record video 3, field t: '12' is a text"):
        record.number("t")
    with pytest.raises(InputError, match="Fields found: b, id, list, n, t"):
        record.text("gone")
    with pytest.raises(InputError, match=r"record video 3, list\[0\]: an object belongs here"):
        list(record.items("list"))
    with pytest.raises(InputError, match="true or false"):
        record.flag("t")
    assert record.flag("b") is True
    assert record.flag("n", default=False) is False
    assert record.identifier("id") == "7"
    assert record.optional_text("n") is None
