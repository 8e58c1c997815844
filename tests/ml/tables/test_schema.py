"""Tables refuse what they do not declare, and keep what the declared dtypes hold (field cases 86, 87, 84)."""

import polars as pl
import pytest

from ml.errors import InputError
from ml.tables.catalogue import TABLES
from ml.tables.schema import Column, Partitioning, Table

TOY = Table(
    "toy",
    "",
    Partitioning.SINGLE,
    ("a",),
    (
        Column("a", pl.String(), ""),
        Column("t", pl.Float64(), "", nullable=True),
        Column("mistake", pl.String(), "", nullable=True, allowed=("measurement", "timing")),
    ),
)


def test_ints_seen_first_do_not_turn_later_floats_into_ints():
    frame = TOY.rows([{"a": str(i), "t": 0} for i in range(120)] + [{"a": "x", "t": 12.75}])
    assert frame["t"][120] == 12.75
    assert frame.schema == TOY.polars_schema


def test_a_key_that_appears_after_100_rows_is_kept():
    frame = TOY.rows([{"a": str(i)} for i in range(200)] + [{"a": "x", "mistake": "timing"}])
    assert frame["mistake"].to_list()[-1] == "timing"


def test_a_text_after_150_nulls_is_kept():
    frame = TOY.check(TOY.rows([{"a": str(i), "mistake": None} for i in range(150)] + [{"a": "x", "mistake": "timing"}]))
    assert frame["mistake"].null_count() == 150
    assert frame["mistake"][150] == "timing"
    assert frame.schema == TOY.polars_schema


def test_a_number_after_150_nulls_keeps_the_declared_dtype():
    frame = TOY.rows([{"a": str(i), "t": None} for i in range(150)] + [{"a": "x", "t": 1}])
    assert frame["t"].dtype == pl.Float64
    with pytest.raises(InputError, match=r"row 150, field t: 'a' is a str"):
        TOY.rows([{"a": str(i), "t": None} for i in range(150)] + [{"a": "x", "t": "a"}])


def test_a_text_among_numbers_is_refused_by_row_and_field():
    with pytest.raises(InputError, match=r"toy, record row 1, field t: '200' is a str"):
        TOY.rows([{"a": "1", "t": 1.0}, {"a": "2", "t": "200"}])


def test_an_unknown_column_is_refused():
    with pytest.raises(InputError, match="unknown column 'tt'"):
        TOY.rows([{"a": "1", "tt": 1.0}])


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pl.DataFrame({"a": ["x"]}), "columns differ: missing"),
        (TOY.rows([{"a": "x"}, {"a": "x"}]), "2 rows share a key"),
        (pl.DataFrame({"a": [None], "t": [1.0], "mistake": [None]}, schema=TOY.polars_schema), "field a: value is missing"),
        (TOY.rows([{"a": "x", "mistake": "salt"}]), "'salt' is not allowed. Allowed: measurement, timing"),
        (pl.DataFrame({"a": ["x"], "t": ["1"], "mistake": ["timing"]}), "dtype is String, not Float64"),
    ],
)
def test_check_names_table_record_and_field(frame, message):
    with pytest.raises(InputError, match=message):
        TOY.check(frame)


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES.keys())
def test_declared_tables_are_sound(table):
    names = table.polars_schema.names()
    assert len(names) == len(set(names)) == len(table.columns)
    assert set(table.key) <= set(names)
    assert all(not column.nullable for column in table.columns if column.name in table.key)
    assert table.check(table.empty()).schema == table.polars_schema
    for column in table.columns:
        assert column.doc
        assert column.dtype != pl.Float64() or column.name.endswith(("_s", "_3s")) or not column.name.endswith(("time", "start", "end"))
