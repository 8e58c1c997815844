"""A sixth mistake type is one module: the platform is copied, a module is put in, and stages 1 and 2 run with it."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
MODULE = '''
"""Location mistakes: the thing is put somewhere else."""

import json
import re

from ml.counterfactuals.mistake_rules import MistakeRules, no_bar
from ml.counterfactuals.moments import read_one_moment
from ml.counterfactuals.prompts.shared import CHOICE, FEEDBACK_FORM, JUST_TEXT, STEP, SYSTEM, TIMELINE
from ml.counterfactuals.prompts.template import Prompts
from ml.counterfactuals.reading import one_attribute
from ml.vocabulary import Direction, MistakeType

FIELDS = ("location",)
OTHER = {"bowl": "pan", "pan": "bowl"}
PROMPTS = Prompts(
    system=SYSTEM,
    extract=STEP + "Where does it go?",
    change={Direction.ALTERNATIVE: STEP + "Where else than $location?"},
    instruct=STEP + "Rewrite with $counterfactual_location. " + JUST_TEXT,
    feedback={Direction.ALTERNATIVE: "Asked: $counterfactual_location, done: $location. " + FEEDBACK_FORM},
    timestamp={Direction.ALTERNATIVE: TIMELINE + CHOICE},
)


def extract(inputs):
    found = re.search(r"(bowl|pan)", inputs["instruction"])
    return json.dumps({"location": found[1]}) if found else "None"


def offline():
    return {
        "extract": extract,
        "change": lambda inputs: OTHER[inputs["location"]],
        "instruct": lambda inputs: inputs["instruction"].replace(inputs["location"], inputs["counterfactual_location"]),
        "feedback": lambda inputs: f"Use the {inputs['counterfactual_location']}.",
        "timestamp": lambda inputs: json.dumps({"timestamp": inputs["options"][0]}),
    }


RULES = MistakeRules(
    mistake_type=MistakeType("location"),
    about="where something is put",
    directions=(Direction.ALTERNATIVE,),
    fields=FIELDS,
    changed="location",
    prompts=PROMPTS,
    read_attributes=lambda reply: one_attribute(reply, FIELDS, FIELDS, "the step names no place"),
    bars=no_bar,
    check=lambda instruction, fields, direction, minimum: None,
    read_moment=read_one_moment,
    offline=offline,
)
'''
SCRIPT = """
import json
from pathlib import Path

import polars as pl

import ml
from ml.counterfactuals.registry import DIRECTIONS, reply_schema
from ml.llm.backends.rules import RulesBackend
from ml.llm.client import Client
from ml.llm.stage import Inputs
from ml.llm_stages import llm_stage
from ml.setting_sections.sources import Source
from ml.settings import load_settings
from ml.tables.catalogue import TABLES
from ml.tables.store import TableStore
from ml.validity.questions import MEANING
from ml.vocabulary import MistakeType
from tests.ml.counterfactuals.conftest import make_narrations, make_steps

store = TableStore(Path("tables"))
settings = load_settings(sources={"test": Source(kind="captaincook4d", annotations=Path("x"))})
tables = {"steps": make_steps("Add 2 cups of rice to the bowl"), "narrations": make_narrations(*["The person adds rice to the bowl."] * 4)}
for name in ("attributes", "counterfactuals", "feedback_timestamps"):
    stage = llm_stage(name)
    tables[name] = stage.make(Inputs(tables, settings), Client(RulesBackend(stage.rules())))
    store.write(name, tables[name], "test/1")
mine = tables["feedback_timestamps"].join(tables["counterfactuals"], on="pair_id").filter(pl.col("mistake_type") == "location")
print(json.dumps({
    "from": ml.__path__[0],
    "types": list(MistakeType),
    "meaning": MEANING[MistakeType("location")],
    "pairs": mine.select("direction", "counterfactual_instruction", "feedback", "t_s", "status").rows(),
    "measurement": tables["counterfactuals"].filter(pl.col("mistake_type") == "measurement").height,
}))
"""


@pytest.fixture(scope="module")
def told(tmp_path_factory) -> dict:
    copy = tmp_path_factory.mktemp("platform")
    for folder in ("ml", "tests", "measure"):
        shutil.copytree(ROOT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__", "*.safetensors"))
    (copy / "ml" / "counterfactuals" / "types" / "location.py").write_text(MODULE)
    command = [sys.executable, "-c", "import sys; sys.path.insert(0, '')\n" + SCRIPT]
    done = subprocess.run(command, cwd=copy, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout) | {"root": str(copy)}


def test_one_module_makes_a_type_known_everywhere(told):
    assert told["types"] == ["location", "measurement", "preparation", "technique", "temperature", "timing"]
    assert told["meaning"] == "where something is put"
    assert told["from"] != str(ROOT / "ml")


@pytest.mark.parametrize("groups", [{}, {"location": {"location": "bowl"}}])
def test_the_groups_that_a_label_file_has_are_scored(told, tmp_path, groups):
    rice = [{"quantity": "2 cups", "ingredient": "rice"}]
    labels = [{"step_id": "1", "text": "Add 2 cups of rice to the bowl", "measurement": rice} | groups]
    (tmp_path / "labels.json").write_text(json.dumps(labels))
    command = [sys.executable, "measure/attribute_extraction.py", "--gold", str(tmp_path / "labels.json")]
    done = subprocess.run(
        [*command, "--predictions", str(tmp_path / "out.json")],
        cwd=told["root"],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": told["root"], "PATH": ""},
    )
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["measurement", *groups]
    assert done.stdout.count("recall=1.000") == 1 + len(groups)


def test_stages_1_and_2_make_its_pairs_beside_the_others(told):
    assert told["pairs"] == [["alternative", "Add 2 cups of rice to the pan", "Use the pan.", 2.5, "ok"]]
    assert told["measurement"] == 2
