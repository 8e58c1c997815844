from typing import Any

from ml.llm.backends.openai_backend import OpenAIBackend
from ml.llm.client import Client
from ml.llm.images import ImageLimits
from ml.narration.narrator import FramePlan
from ml.narration.openai_backend import ClientBackend
from ml.narration.stage import narrate_recording
from tests.ml.narration.chat_server import chat_server, completion, numbers, pictures
from tests.ml.video.films import make_film

ID = "raw_videos/film"


def narrator(url: str, plan: FramePlan) -> ClientBackend:
    return ClientBackend(Client(OpenAIBackend("qwen3-vl", base_url=url)), plan)


def test_each_window_sends_its_own_pictures_and_true_times(tmp_path):
    path = make_film(tmp_path / "a.mp4", 150, 10)
    with chat_server(lambda body: (200, completion(body, f"sees {numbers(body)}"))) as (url, bodies):
        rows = narrate_recording(ID, path, 15.0, lambda: narrator(url, FramePlan(0.4, (120, 120))))
    assert rows["text"].to_list() == ["sees 0 25 50 75", "sees 50 75 100 125"]
    assert rows["narrator"][0] == "openai/qwen3-vl"
    assert len(bodies) == 2
    for body in bodies:
        assert body["model"] == "qwen3-vl"
        assert [picture.shape for picture in pictures(body)] == [(72, 120, 3)] * 4
        assert "picture 2 at 2.5 s, picture 3 at 5.0 s" in body["messages"][-1]["content"][-1]["text"]
        assert body["messages"][0]["role"] == "system"


def test_kept_frames_at_0_4_and_9_s_are_told_so(tmp_path):
    path = make_film(tmp_path / "a.mp4", 100, 10, skip_frames=frozenset(set(range(100)) - {0, 40, 90}))
    with chat_server(lambda body: (200, completion(body, numbers(body)))) as (url, bodies):
        rows = narrate_recording(ID, path, 10.0, lambda: narrator(url, FramePlan(1.0, (160, 96))))
    assert rows["text"].to_list() == ["0 40 90"]
    assert "picture 1 at 0.0 s, picture 2 at 4.0 s, picture 3 at 9.0 s" in bodies[0]["messages"][-1]["content"][-1]["text"]


def test_a_window_with_more_pictures_than_the_provider_takes_is_asked_about_in_parts(tmp_path):
    path = make_film(tmp_path / "a.mp4", 100, 10)
    with chat_server(lambda body: (200, completion(body, f"sees {numbers(body)}"))) as (url, bodies):
        backend = OpenAIBackend("qwen3-vl", base_url=url, image_limits=ImageLimits(max_count=4))
        rows = narrate_recording(ID, path, 10.0, lambda: ClientBackend(Client(backend), FramePlan(1.0, (120, 120))))
    assert rows.select("text", "status").rows() == [("sees 0 10 20 sees 30 40 50 60 sees 70 80 90", "ok")]
    asked = sorted(body["messages"][-1]["content"][-1]["text"] for body in bodies)
    assert [len(pictures(body)) <= 4 for body in bodies] == [True] * 3
    assert sum("cover 3.0 seconds" in text and "picture 1 at 0.0 s, picture 2 at 1.0 s" in text for text in asked) == 2
    assert sum("cover 4.0 seconds" in text for text in asked) == 1


def test_a_part_that_fails_is_the_windows_outcome(tmp_path):
    path = make_film(tmp_path / "a.mp4", 100, 10)
    with chat_server(lambda body: (200, completion(body, "" if "70" in numbers(body) else "sees"))) as (url, _):
        backend = OpenAIBackend("qwen3-vl", base_url=url, image_limits=ImageLimits(max_count=4))
        rows = narrate_recording(ID, path, 10.0, lambda: ClientBackend(Client(backend), FramePlan(1.0, (120, 120))))
    assert rows.select("text", "status").rows() == [(None, "empty")]


def test_outcomes_are_rows(tmp_path):
    path = make_film(tmp_path / "a.mp4", 300, 10)

    def answer(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        match numbers(body).split()[0]:
            case "0":
                return 200, completion(body, "  takes a\ncup ")
            case "50":
                return 200, completion(body, "takes a cup and", finish="length")
            case "100":
                return 200, completion(body, "I'm sorry, I can't assist with that.")
            case "150":
                return 200, completion(body, "")
            case _:
                return 400, {"error": {"message": "this picture is not wanted", "type": "invalid_request_error"}}

    with chat_server(answer) as (url, _):
        rows = narrate_recording(ID, path, 30.0, lambda: narrator(url, FramePlan(0.5, (160, 96))))
    assert rows["status"].to_list() == ["ok", "truncated", "refused", "empty", "error"]
    assert rows["text"][0] == "takes a cup"
    assert "not wanted" in rows["reason"][4]
    assert rows["reason"].null_count() == 1


def test_large_frames_are_held_to_2000_pixels(tmp_path):
    path = make_film(tmp_path / "a.mp4", 2, 1, width=2560, height=1440)
    with chat_server(lambda body: (200, completion(body, numbers(body)))) as (url, bodies):
        rows = narrate_recording(ID, path, 2.0, lambda: narrator(url, FramePlan(1.0, (4000, 4000))))
    assert rows["text"].to_list() == ["0 1"]
    assert all(max(picture.shape) <= 2000 for picture in pictures(bodies[0]))
