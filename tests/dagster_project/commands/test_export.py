"""`interject export` as a user calls it."""

import pytest
from typer.testing import CliRunner

from dagster_project.cli import app
from ml.errors import InputError


@pytest.mark.parametrize("place", ["/proc/zz", "a_file", "a_file/below"])
def test_a_place_that_cannot_be_written_is_told_before_any_work(tmp_path, monkeypatch, place):
    monkeypatch.setenv("INTERJECT_DATA", str(tmp_path / "data"))
    (tmp_path / "a_file").write_text("x")
    to = place if place.startswith("/") else str(tmp_path / place)
    result = CliRunner().invoke(app, ["export", "comist_plus", "--to", to])  # there is no mix, yet the place is told first
    assert isinstance(result.exception, InputError)
    assert str(result.exception).endswith("Name another place with --to")
