"""The LLM stages as the graph runs them: what a source's settings change."""

import polars as pl
import pytest

from ml.counterfactuals.registry import offline_rules
from ml.counterfactuals.stages import as_fields
from ml.llm.backends.rules import RulesBackend
from ml.llm.client import Client
from ml.llm.stage import Inputs
from ml.llm_stages import LLM_STAGES
from ml.settings import load_settings
from tests.ml.counterfactuals.conftest import make_steps
from tests.ml.counterfactuals.readings import duration


@pytest.mark.parametrize(("source", "least_s"), [("kitchen_captaincook4d", 2.0), ("cc4d", 15.0), ("own", 30.0)])
def test_a_time_changes_by_no_less_than_the_source_wants(source, least_s):
    common = {"kind": "captaincook4d", "annotations": "/a"}
    settings = load_settings(sources={"cc4d": common, "own": {**common, "minimum_timing_change_s": 30}})
    texts = ("Cook the rice for 8 seconds.", "Blitz the blender for 20 seconds.", "Bake the bread for 30 minutes.", "Fry it for 2 minutes.")
    steps = pl.concat([make_steps(*texts, recording_id=f"{one}/1") for one in (source, "kitchen_captaincook4d")]).unique()
    client = Client(RulesBackend(offline_rules()))
    attributes = LLM_STAGES["attributes"].make(Inputs({"steps": steps}, settings), client)
    made = LLM_STAGES["counterfactuals"].make(Inputs({"attributes": attributes}, settings), client)
    changed = made.filter((pl.col("mistake_type") == "timing") & (pl.col("status") == "ok") & (pl.col("recording_id") == f"{source}/1"))
    changes = [
        abs(duration(fields["counterfactual_amount_of_time"]).low_s - duration(fields["amount_of_time"]).low_s)
        for fields in map(as_fields, changed["fields"])
    ]
    assert changes
    assert min(changes) >= least_s
    assert (min(changes) < 15) == (source == "kitchen_captaincook4d")
