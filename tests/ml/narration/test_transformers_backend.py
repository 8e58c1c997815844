import pytest

from ml.errors import InputError
from ml.narration.narrator import FramePlan
from ml.narration.transformers_backend import TransformersBackend
from ml.video.windows import Window, WindowFrames
from ml.vocabulary import Status
from tests.ml.narration.tiny_models import build, plain_frames, teach

PLAN = FramePlan(1.0, (64, 64))
RED, BLUE, GREEN = ((220, 20, 20), (20, 20, 220), (20, 220, 20))


def window(colour: tuple[int, int, int], times_s: tuple[float, ...] = (5.0, 9.0)) -> WindowFrames:
    return WindowFrames(Window(1, 5.0, 15.0), times_s, plain_frames(colour, len(times_s)))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "tiny-idefics3"
    build(folder)
    return folder


@pytest.fixture(scope="module")
def backend(folder):
    made = TransformersBackend(str(folder), PLAN, device="cpu", max_new_tokens=16)
    teach(
        made,
        [
            (window(RED), "stirs the red pan."),
            (window(BLUE), "holds the blue bowl."),
            (window(GREEN), ""),
            (window((128, 128, 128)), "I cannot help."),
        ],
        steps=70,
    )
    return made


def test_the_text_follows_the_pictures(backend):
    assert backend.name == "transformers/tiny-idefics3"
    narrations = backend.describe([window(RED), window(BLUE), window(RED)])
    assert [n.text for n in narrations] == ["stirs the red pan.", "holds the blue bowl.", "stirs the red pan."]
    assert {n.status for n in narrations} == {Status.OK}


def test_silence_and_refusal_are_outcomes(backend):
    empty, refused = backend.describe([window(GREEN), window((128, 128, 128))])
    assert (empty.status, empty.text) == (Status.EMPTY, None)
    assert refused.status is Status.REFUSED


def test_text_cut_at_the_cap_is_truncated(folder):
    (narration,) = TransformersBackend(str(folder), PLAN, device="cpu", max_new_tokens=3).describe([window(RED)])
    assert narration.status is Status.TRUNCATED
    assert narration.reason == "cut at 3 tokens"


def test_each_picture_follows_its_true_time(backend):
    system, user = backend.messages(window(RED, (5.0, 9.0, 15.0)))
    assert system["role"] == "system"
    shown = [part["text"] if part["type"] == "text" else part["image"].size for part in user["content"]]
    assert shown[:6] == ["<0.0 seconds>", (64, 48), "<4.0 seconds>", (64, 48), "<10.0 seconds>", (64, 48)]
    assert "picture 2 at 4.0 s, picture 3 at 10.0 s" in shown[6]
    assert len(shown) == 7


def test_what_the_model_refuses_is_a_row_with_its_words(tmp_path):
    """Processor and model disagree on the tokens of a picture: no window can be described, and each says why."""
    build(tmp_path, tokens_per_picture=9)
    narrations = TransformersBackend(str(tmp_path), PLAN, device="cpu").describe([window(RED), window(BLUE)])
    assert [n.status for n in narrations] == [Status.ERROR, Status.ERROR]
    assert all("tokens" in (n.reason or "") for n in narrations)


def test_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"narration\.model"):
        TransformersBackend(str(tmp_path), PLAN)
