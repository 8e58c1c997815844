"""No family lets an assistant see a later frame or read a reference text before its time."""

from dataclasses import replace

import numpy as np
import pytest

from ml.benchmarks.assistants.clips import SingleClipAssistant
from ml.benchmarks.assistants.interface import Answered, LookAheadError
from ml.benchmarks.assistants.per_second import PerSecondAssistant
from ml.benchmarks.assistants.turn_based import TurnBasedAssistant
from ml.benchmarks.cook_mre.protocol import ClipPictures, predict_cook
from ml.benchmarks.cook_mre.samples import CookSample
from ml.benchmarks.families import GuideMeVariant
from ml.benchmarks.guideme.conversations import GuideMeItem, Turn
from ml.benchmarks.guideme.protocol import predict_guideme, run_guideme
from ml.benchmarks.protocols import run_full_recipe, run_per_step
from ml.llm.backends.rules import RulesBackend
from ml.llm.client import Client
from ml.tables.declarations.benchmarks import BENCHMARK_MESSAGES, BENCHMARK_STEPS
from tests.ml.video.films import make_film

COMMON = {"benchmark": "demo", "recording_id": "demo/a"}
STEPS = BENCHMARK_STEPS.rows(
    [
        {**COMMON, "unit_id": "demo/a/0", "position": 0, "start_s": 0.0, "end_s": 20.0, "instruction": "Stir the soup."},
        {**COMMON, "unit_id": "demo/a/1", "position": 1, "start_s": 20.0, "end_s": 40.0, "instruction": "Add salt."},
    ]
)
REFERENCES = BENCHMARK_MESSAGES.rows(
    [
        {"benchmark": "demo", "unit_id": "demo/a/0", "message_index": 0, "t_s": 12.0, "kind": "feedback", "text": "You fold the soup."},
        {"benchmark": "demo", "unit_id": "demo/a/1", "message_index": 0, "t_s": 35.0, "kind": "success", "text": "The soup is salted."},
    ]
)


def frames(recording_id, start_s, end_s):
    for index in range(1, int(end_s - start_s) + 1):
        yield np.zeros((1, 4, 4, 3), np.uint8), np.array([start_s + index])


class Curious:
    """Asks for frames that are ``ahead_s`` later than the last one it saw."""

    def __init__(self, ahead_s):
        self.ahead_s = ahead_s

    def attach(self, past):
        self.past = past

    def start(self, instruction, start_s):
        pass

    def observe(self, frames, times_s):
        list(self.past.between(0.0, float(times_s[-1]) + self.ahead_s))
        return []

    def give_instruction(self, text, t_s):
        pass


@pytest.mark.parametrize("run", [run_per_step, run_full_recipe])
def test_ego_refuses_a_later_frame_and_gives_earlier_ones(run):
    protocol = "demo.per_step" if run is run_per_step else "demo.full_recipe"
    run(lambda: Curious(0.0), STEPS, frames, experiment="x", protocol=protocol)
    with pytest.raises(LookAheadError, match=r"asked for at 1\.000 s"):
        run(lambda: Curious(0.5), STEPS, frames, experiment="x", protocol=protocol)


def test_ego_refuses_a_provider_that_hands_out_the_future():
    def later(recording_id, start_s, end_s):
        yield np.zeros((1, 4, 4, 3), np.uint8), np.array([end_s + 1.0])

    with pytest.raises(LookAheadError, match="past the stream's end"):
        run_per_step(lambda: Curious(0.0), STEPS, later, experiment="x", protocol="demo.per_step")


class Leaking(TurnBasedAssistant):
    """Its prompts hold a reference feedback from the first question on."""

    def _inputs(self, now_s):
        inputs, images = super()._inputs(now_s)
        return {**inputs, "recent": ["You fold the soup."]}, images


def test_ego_refuses_reference_text_in_a_prompt_before_its_time_only():
    client = Client(RulesBackend({"ego_step_complete": lambda i: "NO", "ego_step_mistake": lambda i: "NO"}))

    def run(step):
        return run_per_step(
            lambda: Leaking(client), STEPS[step : step + 1], frames, experiment="x", protocol="d.per_step", references=REFERENCES
        )

    with pytest.raises(LookAheadError, match="You fold the soup"):
        run(0)
    run(1)  # said at 12 s, no secret at 20 s


def test_ego_lets_an_assistant_come_back_to_its_own_words():
    said = Client(
        RulesBackend(
            {"ego_step_complete": lambda i: "NO", "ego_step_mistake": lambda i: "YES. You fold the soup." if i["now_s"] == 5 else "NO"}
        )
    )
    found = run_per_step(
        lambda: TurnBasedAssistant(said), STEPS[:1], frames, experiment="x", protocol="demo.per_step", references=REFERENCES
    )
    assert found["t_s"].to_list() == [5.0]


ITEM = GuideMeItem(
    "a",
    None,
    "",
    "1. Boil water.",
    (Turn(0.0, "user", "help"), Turn(3.0, "assistant", "Boil water.", "instruction"), Turn(9.0, "assistant", "Not milk.", "error")),
)


class CuriousGuide:
    def __init__(self, ahead_s):
        self.ahead_s = ahead_s

    def attach(self, past):
        self.past = past

    def __call__(self, moment):
        list(self.past.between(0.0, moment.now_s + self.ahead_s))
        return Answered("Silent")


def test_guideme_refuses_a_later_frame():
    run_guideme(CuriousGuide(0.0), ITEM, (1.0, 2.0), frames, GuideMeVariant(True))
    with pytest.raises(LookAheadError, match=r"asked for at 0\.000 s"):
        predict_guideme(lambda: CuriousGuide(1.0), [ITEM], frames, experiment="x", protocol="g.dense")


def test_guideme_hands_over_no_answer_of_now_or_later_and_no_knowledge_unless_named():
    heard = []

    def answer(moment):
        heard.append((moment.now_s, moment.dialogue, moment.knowledge))
        return Answered("Silent")

    predict_guideme(lambda: answer, [ITEM], frames, experiment="x", protocol="g.dense")
    assert len(heard) > 10
    for now_s, dialogue, knowledge in heard:
        assert all(turn.t_s < now_s or turn.speaker == "user" for turn in dialogue)
        assert not knowledge
    heard.clear()
    predict_guideme(lambda: answer, [ITEM], frames, experiment="x", protocol="g.dense-knowledge")
    assert {knowledge for _, _, knowledge in heard} == {"1. Boil water."}


def test_guideme_refuses_a_provider_that_hands_out_the_future():
    def later(recording_id, start_s, end_s):
        yield np.zeros((1, 4, 4, 3), np.uint8), np.array([end_s + 1.0])

    with pytest.raises(LookAheadError, match="past the last instant"):
        run_guideme(lambda moment: Answered("Silent"), ITEM, (1.0, 2.0), later, GuideMeVariant(True))


SAMPLE = CookSample("s1", "c1", "Dice the onion.", "Slice the onion.", "verb", "hard")


def test_cook_mre_refuses_a_frame_outside_the_clip(tmp_path):
    path = make_film(tmp_path / "film.mp4", 75)
    sample = CookSample("s1", "c1", "Dice it.", "Slice it.", "verb", "hard", video_path=str(path), start_s=1.0, end_s=2.0)

    def ask(at_s):
        def answer(question):
            assert len(question.frames_at([0.5])) == 1
            question.frames_at([at_s])
            return [Answered("yes")] * len(question.hints)

        return predict_cook(answer, [sample], experiment="x", protocol="c.default")

    assert ask(1.0)["status"].to_list() == ["ok"]
    with pytest.raises(LookAheadError, match=r"of a clip from 1\.000 to 2\.000"):
        ask(1.5)


def test_cook_mre_tells_neither_class_nor_what_is_really_seen():
    seen = []

    def answer(question):
        seen.append(question)
        return [Answered("yes")] * len(question.hints)

    predict_cook(answer, [SAMPLE], experiment="x", protocol="c.default", pictures=ClipPictures(box=None))
    assert "Slice" not in repr(seen[0])
    assert seen[0].hints == (None,)
    with pytest.raises(LookAheadError, match="really shows"):
        seen[0].check_text("They slice: Slice the onion.")


def test_cook_mre_refuses_a_prompt_that_holds_the_reference():
    leaky = CookSample("s1", "c1", "Dice the onion.", "onion", "verb", "hard")
    client = Client(RulesBackend({"single_clip": lambda i: "yes"}))
    predict_cook(SingleClipAssistant(client), [leaky], experiment="x", protocol="c.default", pictures=ClipPictures(box=None))

    def prompted(question):
        question.check_text(f"{question.instruction} In truth: {SAMPLE.original}")
        return []

    with pytest.raises(LookAheadError):
        predict_cook(prompted, [SAMPLE], experiment="x", protocol="c.default", pictures=ClipPictures(box=None))


GUIDED = GuideMeItem(
    "v", None, "", "Pour the milk into the bowl.",
    (
        Turn(0.0, "user", "Help me with pancakes."),
        Turn(4.0, "assistant", "Crack two eggs first."),
        Turn(9.0, "assistant", "Pour the milk into the bowl."),
    ),
)  # fmt: skip


def guided(answer, protocol="g.dense"):
    return predict_guideme(lambda: answer, [GUIDED], frames, experiment="x", protocol=protocol)


@pytest.mark.parametrize("protocol", ["g.dense", "g.dense-own", "g.dense-knowledge"])
def test_guideme_refuses_a_prompt_that_holds_a_later_reference(protocol):
    def leaking(from_s):
        def answer(moment):
            text = "Pour the milk into the bowl." if moment.now_s >= from_s else ""
            moment.check_text(f"Seen so far at {moment.now_s} s. Hint: {text}")
            return Answered("Silent")

        return answer

    assert set(guided(leaking(9.0), protocol)["status"]) == {"ok"}
    if protocol == "g.dense-knowledge":  # its name says that the task is known
        assert set(guided(leaking(0.0), protocol)["status"]) == {"ok"}
        return
    with pytest.raises(LookAheadError, match=r"at 5\.000 s a text holds what is said at 9\.000 s"):
        guided(leaking(5.0), protocol)


def test_guidemes_own_prompt_is_checked_and_what_was_said_may_stand_in_it():
    def client_of(asked):
        return Client(RulesBackend({"guide": lambda inputs: asked.append(inputs) or "Silent"}))

    asked = []
    assert set(guided(PerSecondAssistant(client_of(asked)))["status"]) == {"ok"}
    assert any("Pour the milk" in str(inputs["dialogue"]) for inputs in asked)  # after it was said

    class Leaking(PerSecondAssistant):
        def __call__(self, moment):
            return super().__call__(replace(moment, knowledge="Pour the milk into the bowl."))

    with pytest.raises(LookAheadError):
        guided(Leaking(client_of([])))
