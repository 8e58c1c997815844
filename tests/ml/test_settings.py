"""One typed settings file: defaults run, a wrong key or value is refused by name with what is allowed."""

from pathlib import Path

import pytest

from ml.errors import InputError
from ml.setting_sections.models import LLMBackend, NarrationBackend
from ml.settings import load_settings
from ml.vocabulary import MistakeType


@pytest.fixture(autouse=True)
def _no_outer_settings(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    import os

    for name in [n for n in os.environ if n.startswith("INTERJECT_") and n != "INTERJECT_SHARED"]:
        monkeypatch.delenv(name)


def write(tmp_path, text):
    (tmp_path / "interject.toml").write_text(text)


def test_defaults_run_the_sample_kitchen_offline():
    settings = load_settings()
    assert settings.narration.backend is NarrationBackend.EMBEDDED
    assert {getattr(settings.stages, name).backend for name in type(settings.stages).model_fields} == {LLMBackend.RULES}
    assert settings.all_sources()["kitchen_captaincook4d"].annotations.is_absolute()


def test_file_and_environment_override_defaults(tmp_path, monkeypatch):
    write(tmp_path, '[narration]\nbackend = "openai"\nmodel = "m"\n[sources.cc]\nkind = "captaincook4d"\nannotations = "/cc"\n')
    monkeypatch.setenv("INTERJECT_NARRATION__MODEL", "other")
    settings = load_settings()
    assert (settings.narration.backend, settings.narration.model) == (NarrationBackend.OPENAI, "other")
    assert str(settings.all_sources()["cc"].annotations) == "/cc"


def test_descriptive_kinds_give_preparation_and_technique_unless_told_otherwise(tmp_path):
    goalstep = "[sources.g]\nkind = 'ego4d_goalstep'\nannotations = '/x'\n"
    write(tmp_path, goalstep + "[sources.c]\nkind = 'captaincook4d'\nannotations = '/y'\n")
    settings = load_settings()
    assert settings.mistake_types("g") == ("preparation", "technique")
    assert settings.mistake_types("c") == tuple(MistakeType) == settings.mistake_types("raw_videos")
    assert settings.mistake_types("raw_videos", is_proposed=True) == ("preparation", "technique")
    assert settings.mistake_types("elsewhere") == ()
    write(tmp_path, goalstep + "mistake_types = ['timing']")
    assert load_settings().mistake_types("g") == ("timing",)
    write(tmp_path, goalstep + "mistake_types = ['salting']")
    with pytest.raises(InputError, match=r"sources\.g\.mistake_types.*'measurement', 'preparation'.*given 'salting'"):
        load_settings()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[narration]\nbackand = 1", r"narration.backand: no such key; allowed: .*backend"),
        (
            '[stages.attributes]\nbackend = "gpt"',
            r"stages.attributes.backend: Input should be 'rules', 'anthropic' or 'openai' \(given 'gpt'\)",
        ),
        ('[stages.attributes]\nbackend = "anthropic"', "needs `model`"),
        ("[mixes.m]\nweights = {ego_komist = 1.0}", r"mixes.m.weights: no dataset 'ego_komist'; allowed: .*ego_comist"),
        ('[experiments.e]\nmix = "none"', r"experiments.e.mix: no mix 'none'; mixes: comist_plus"),
        (
            "[mixes.m]\nweights = {ego_comist = 1.0}",
            r"no mix 'comist_plus' for the default experiment; declare",
        ),
        ("[mixes.m]\nweights = {ego_comist = nan}", r"mixes.m.weights.ego_comist: Input should be a finite number"),
        ("[stages.attributes]\nbackend = 'openai'\nmodel = 'm'\nbudget_usd = inf", r"budget_usd: Input should be a finite number"),
        ("[experiments.'..']\nmix = 'comist_plus'", r"experiments\.\.\.: a name is made of plain letters.*given '\.\.'"),
        ("[experiments.'a/b']\nmix = 'comist_plus'", r"experiments\.a/b: a name is made of plain letters"),
        ("[experiments.'a|b']\nmix = 'comist_plus'", r"experiments\.a\|b: a name is made of plain letters"),
        ("[experiments.floor_silent]\nmix = 'comist_plus'", r"experiments.floor_silent: the name is taken by a floor"),
        ("[assistants.'a b']\nbackend = 'embedded'", r"assistants\.a b: a name is made of plain letters"),
        ("[sources.'a-b']\nkind = 'qicd'\nannotations = '/x'", r"sources\.a-b: a source's name is made of"),
        ("[sources.raw_videos]\nkind = 'qicd'\nannotations = '/x'", r"sources.raw_videos: the name is taken"),
        ("[benchmarks]\nprotocols = ['b.hint', 'b.hint']", r"benchmarks.protocols: 'b.hint' stands twice"),
        ("[benchmarks]\nprotocols = []", r"benchmarks.protocols: name at least one protocol"),
        ("[benchmarks]\nexperiments = ['untuned_base', 'untuned_base']", r"benchmarks.experiments: 'untuned_base' stands twice"),
        ("[narration]\nbox = [0, 448]", r"narration.box.0: Input should be greater than or equal to 2"),
        ("[narration]\nbackend = 'openai'", r"narration: backend 'openai' needs `model`"),
        ("[narration]\ndevice = 'gpu9'", r"narration.device: a device is auto, cpu"),
        ("[stages.attributes]\nbackend = 'openai'\nmodel = 'm'\nbase_url = 'localhost:8000'", r"base_url: an address begins with http://"),
        ("[review]\nseed = -1", r"review.seed: Input should be greater than or equal to 0"),
        ("data = ''", r"data: a folder is named by a text that is not empty"),
        ("[raw_videos]\nfolder = '.'", r"raw_videos.folder: it holds the data folder"),
        ("[raw_videos]\nfolder = '/'", r"raw_videos.folder: it holds the data folder"),
        ('[benchmarks]\nexperiments = ["x"]', r"benchmarks.experiments: no 'x'; allowed: comist_plus, .*floor_alert"),
        ("[narration", r"interject.toml: .*Mend the syntax"),
        ("[sources.cc]\nkind = 'captaincook4d'\nannotations = '/x'\nvideo = '/y'", r"sources.cc.video: no such key; allowed: annotations"),
        ("sample_kitchen_share = 0.0", r"sample_kitchen_share: Input should be greater than 0"),
    ],
)
def test_wrong_keys_and_values_are_refused_by_name(tmp_path, text, message):
    write(tmp_path, text)
    with pytest.raises(InputError, match=message):
        load_settings()


def test_unknown_variables_and_missing_files_are_refused(monkeypatch):
    monkeypatch.setenv("INTERJECT_NARATION__BACKEND", "openai")
    with pytest.raises(InputError, match=r"INTERJECT_NARATION__BACKEND: no such setting. Sections: data"):
        load_settings()
    monkeypatch.delenv("INTERJECT_NARATION__BACKEND")
    monkeypatch.setenv("INTERJECT_SETTINGS", "absent.toml")
    with pytest.raises(InputError, match=r"absent.toml: the file does not exist"):
        load_settings()


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("INTERJECT_NARRATION__BACKEND", "foo", r"file environment: INTERJECT_NARRATION__BACKEND \(narration.backend\): Input should be"),
        ("INTERJECT_NARRATION__BACKAND", "foo", r"INTERJECT_NARRATION__BACKAND \(narration.backand\): no such key; allowed: .*backend"),
        ("INTERJECT_SOURCES", '{"a": {"kind": "qicd"}}', r"INTERJECT_SOURCES \(sources.a.annotations\): Field required"),
        ("INTERJECT_EXPERIMENTS", "abc", r"field INTERJECT_EXPERIMENTS: a value that must be JSON is not"),
        ("INTERJECT_BENCHMARKS__PROTOCOLS", "x", r"field INTERJECT_BENCHMARKS__PROTOCOLS: a value that must be JSON is not"),
    ],
)
def test_a_wrong_value_from_the_environment_names_its_variable(monkeypatch, variable, value, message):
    monkeypatch.setenv(variable, value)
    with pytest.raises(InputError, match=message):
        load_settings()


def test_a_value_has_no_keys(monkeypatch):
    monkeypatch.setenv("INTERJECT_DATA__FOLDER", "x")
    with pytest.raises(InputError, match=r"field INTERJECT_DATA__FOLDER: 'data' is a value and has no keys"):
        load_settings()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("data = 'x'".encode("utf-16"), r"interject.toml: the file is UTF-16, at byte 0. Save it as UTF-8"),
        ("data = 'é'".encode("cp1252"), r"interject.toml: byte 8 \(0xe9, line 1\) is not UTF-8"),
    ],
)
def test_other_encodings_are_refused(tmp_path, content, message):
    (tmp_path / "interject.toml").write_bytes(content)
    with pytest.raises(InputError, match=message):
        load_settings()


def test_a_byte_order_mark_and_a_home_folder_are_read(tmp_path):
    (tmp_path / "interject.toml").write_bytes("data = '~/kitchen'\r\n".encode("utf-8-sig"))
    assert load_settings().data == Path.home() / "kitchen"


def test_an_empty_variable_is_no_value(monkeypatch):
    monkeypatch.setenv("INTERJECT_DATA", "")
    assert load_settings().data == Path("data")


def test_the_sample_kitchen_relaxes_for_itself_what_holds_for_every_other_source():
    found = load_settings(sources={"cc4d": {"kind": "captaincook4d", "annotations": "/a", "counterfactuals": True}})
    assert [found.minimum_timing_change_s(one) for one in ("kitchen_captaincook4d", "cc4d", "raw_videos")] == [2.0, 15.0, 15.0]
    assert found.sources_of_few_texts() == ("kitchen_captaincook4d",)
    assert (found.selection.near_benchmark, found.selection.copies_per_text) == (0.99, 20)


def test_assistants_stand_beside_the_defaults_and_take_part_by_kind():
    found = load_settings(
        assistants={
            "m": {"llm": {"backend": "openai", "model": "x"}},
            "n": {"kind": "per_second", "backend": "transformers", "model": "/m"},
        }
    )
    assert found.benchmarks.experiments[-2:] == ("m", "n")
    assert [found.takes_part("m", p) for p in ("b.per_step", "b.dense-own", "b.hint")] == [True, True, True]
    assert [found.takes_part("n", p) for p in ("b.per_step", "b.dense-own", "b.hint")] == [False, True, False]
    assert [found.takes_part("floor_always_correct", p) for p in ("b.per_step", "b.anchor", "b.default")] == [False, False, True]


@pytest.mark.parametrize(
    ("assistant", "told"),
    [
        ({}, "needs `llm`"),
        ({"backend": "transformers"}, "needs `model`"),
        ({"backend": "embedded", "kind": "turn_based"}, "narrates and answers single clips"),
        ({"kind": "narration", "llm": {"backend": "openai", "model": "x"}}, "needs `helper`"),
    ],
)
def test_an_assistant_that_could_not_be_asked_is_refused(assistant, told):
    with pytest.raises(InputError, match=told):
        load_settings(assistants={"m": assistant})


def test_a_protocol_that_there_is_not_is_refused():
    with pytest.raises(InputError, match=r"benchmarks\.protocols"):
        load_settings(benchmarks={"protocols": ["b.often"]})
