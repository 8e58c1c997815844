"""Protocol names: what they mean, and that a wrong one says what is allowed."""

import pytest

from ml.benchmarks.families import Family, GuideMeVariant, History, parse_protocol
from ml.errors import InputError


@pytest.mark.parametrize(
    ("name", "family", "table"),
    [
        ("kitchen_steps.per_step", Family.EGO, "predictions"),
        ("qicd.full_recipe", Family.EGO, "predictions"),
        ("guideme.anchor", Family.GUIDEME, "guidance_predictions"),
        ("guideme.dense-own-window30-every0.5", Family.GUIDEME, "guidance_predictions"),
        ("cook_mre.hint", Family.COOK_MRE, "clip_predictions"),
        ("cook_mre.hint-all", Family.COOK_MRE, "clip_predictions"),
    ],
)
def test_a_name_says_family_and_table(name, family, table):
    found = parse_protocol(name)
    assert (found.family, found.table, found.benchmark) == (family, table, name.split(".")[0])


def test_a_guideme_name_says_window_interval_history_and_seed():
    assert parse_protocol("g.dense").guideme == GuideMeVariant(True, History.TRUE, 60.0, 1.0, 0, False)
    found = parse_protocol("g.anchor-own-window120-every2-seed7-knowledge").guideme
    assert found == GuideMeVariant(False, History.OWN, 120.0, 2.0, 7, True)


@pytest.mark.parametrize(
    "name", ["per_step", "b.", ".dense", "b.dense-mine", "b.per_step-own", "b.anchor-every", "b.window30", "b.hint-own"]
)
def test_a_wrong_name_is_refused_with_what_is_allowed(name):
    with pytest.raises(InputError, match="dense\\|anchor"):
        parse_protocol(name)


@pytest.mark.parametrize(
    "part",
    [
        "window0.5",
        "window3601",
        "window99999999999999999999",
        "every0",
        "every0.05",
        "every61",
        "seed7.5",
        "seed4294967296",
        f"seed{'9' * 400}",
    ],
)
def test_a_number_without_sense_is_refused_with_its_bounds(part):
    with pytest.raises(InputError, match=r"out of range. After (window|every|seed), give .* to \d+"):
        parse_protocol(f"b.anchor-{part}")


def test_the_bounds_themselves_are_allowed():
    found = parse_protocol("b.anchor-window3600-every0.1-seed4294967295").guideme
    assert (found.window_s, found.interval_s, found.seed) == (3600.0, 0.1, 4294967295)
    assert parse_protocol("b.anchor-window1-every60-seed0").guideme.interval_s == 60.0
