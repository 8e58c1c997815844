"""Local vision-language chat models as assistants ask them: Qwen and InternVL with random weights, and their cache."""

import io

import pytest
import torch
from PIL import Image

from ml.errors import InputError
from ml.llm.backends.picture_processors import InternVLPictures, QwenPictures
from ml.llm.backends.transformers_chat import ChatModel, TransformersChat, chat_messages, weights_identity
from ml.llm.cache import ReplyCache
from ml.llm.local import LocalClient
from ml.llm.requests import Request
from ml.vocabulary import Status
from tests.ml.llm.tiny_chats import build

KINDS = ("qwen2_5_vl", "qwen3_vl", "qwen3_5", "internvl")


def jpeg(colour, size=(64, 48)):
    written = io.BytesIO()
    Image.new("RGB", size, colour).save(written, "JPEG")
    return written.getvalue()


def request(*colours, max_tokens=6):
    return Request("k", "t", {}, "You watch.", "What is this?", tuple(jpeg(colour) for colour in colours), max_tokens=max_tokens)


@pytest.fixture(scope="module", params=KINDS)
def folder(request, tmp_path_factory):
    made = tmp_path_factory.mktemp("models") / request.param
    build(made, request.param)
    return made


def test_every_picture_has_its_places_in_the_prompt(folder):
    chat = ChatModel(str(folder), "cpu")
    inputs = chat.processor.apply_chat_template(
        chat_messages(request("red", "blue")), add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
    )
    processor = chat.processor
    if folder.name == "internvl":
        assert isinstance(processor, InternVLPictures)
        assert inputs["pixel_values"].shape == (2, 3, 32, 32)  # one tile each, whatever the settings say
        wanted = 2 * 4
    else:
        assert len(inputs["image_grid_thw"]) == 2
        wanted = int(inputs["image_grid_thw"].prod(dim=1).sum()) // 4
    image_id = processor.tokenizer.convert_tokens_to_ids(processor.image_token)
    assert int((inputs["input_ids"] == image_id).sum()) == wanted
    text = processor.tokenizer.decode(inputs["input_ids"][0])
    assert text.index(processor.image_token) < text.index("What is this?") < text.index("<|im_start|>assistant")
    assert text.startswith("<|im_start|>system\nYou watch.")


def test_a_reply_depends_on_the_pictures_and_is_the_same_again(folder):
    chat = ChatModel(str(folder), "cpu")

    def scores(colour):
        inputs = chat.processor.apply_chat_template(
            chat_messages(request(colour)), add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
        )
        with torch.inference_mode():
            return chat.model(**inputs).logits[0, -1]

    assert not torch.equal(scores("red"), scores("blue"))
    first, again = (chat.reply(chat_messages(request("red", "blue")), 6) for _ in range(2))
    assert first == again
    assert first.status in (Status.OK, Status.TRUNCATED, Status.EMPTY)


def test_a_temperature_draws_and_draws_the_same_again(folder):
    chat = ChatModel(str(folder), "cpu")
    drawn = [chat.reply(chat_messages(request("red")), 8, 2.0) for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert drawn[0].text != chat.reply(chat_messages(request("red")), 8).text


def test_more_than_the_cap_is_truncated_and_kept_by_content(folder, tmp_path):
    cache = ReplyCache(tmp_path / "replies.sqlite")
    first = LocalClient(TransformersChat(str(folder), "cpu"), cache)
    replies = first.run([request("red", max_tokens=3), request("blue", max_tokens=3)])
    again = LocalClient(TransformersChat(str(folder), "cpu"), cache)
    assert [(r.status, r.text) for r in again.run([request("red", max_tokens=3), request("blue", max_tokens=3)])] == [
        (r.status, r.text) for r in replies
    ]
    assert (first.calls, again.calls, again.cache_hits) == (2, 0, 2)


def test_other_weights_in_the_same_folder_are_another_model(tmp_path):
    build(tmp_path / "m", "qwen3_vl")
    before = weights_identity(str(tmp_path / "m"))
    build(tmp_path / "m", "qwen3_vl", seed=1)
    assert weights_identity(str(tmp_path / "m")) != before
    assert weights_identity("Qwen/Qwen3-VL-2B-Instruct") == "Qwen/Qwen3-VL-2B-Instruct"


def test_a_template_that_shows_no_pictures_is_an_answer_with_its_reason(tmp_path):
    build(tmp_path, "qwen3_vl")
    chat = ChatModel(str(tmp_path), "cpu")
    assert isinstance(chat.processor, QwenPictures)
    chat.processor.tokenizer.chat_template = "{% for m in messages %}{{ m.role }}{% endfor %}"
    answer = chat.reply(chat_messages(request("red")), 4)
    assert answer.status is Status.ERROR
    assert "0 places for 1 pictures" in (answer.reason or "")


def test_a_folder_without_a_model_names_the_setting(tmp_path):
    with pytest.raises(InputError, match=r"assistants\.model"):
        TransformersChat(str(tmp_path), "cpu").answer(request("red"))
