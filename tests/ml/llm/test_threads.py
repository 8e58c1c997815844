"""One client for many threads, and models of this process behind the same interface."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from ml.errors import InputError
from ml.llm.backends.openai_backend import OpenAIBackend
from ml.llm.backends.rules import RulesBackend
from ml.llm.budget import Budget
from ml.llm.cache import ReplyCache
from ml.llm.calls import Answer
from ml.llm.client import Client
from ml.llm.limits import Limits
from ml.llm.local import AS_THEY_ARE, LocalClient
from ml.llm.requests import Request
from ml.llm.threads import SharedClient
from ml.vocabulary import Status


def request(text, **more):
    return Request(text, "t", {}, "", text, **more)


def client(provider, cache=None, **more):
    return Client(OpenAIBackend("m", base_url=f"{provider.url}/v1"), cache, limits=Limits(in_flight=1), **more)


def test_threads_ask_side_by_side_over_one_client(provider):
    provider.play(delay_s=0.3)
    texts = [f"question {n}" for n in range(12)]
    with SharedClient(client(provider)) as shared, ThreadPoolExecutor(6) as pool:
        started = time.monotonic()
        replies = list(pool.map(lambda text: shared.run([request(text)])[0], texts))
        elapsed = time.monotonic() - started
    assert [reply.text for reply in replies] == [f"echo {text}" for text in texts]
    assert provider.peak() == 6
    assert elapsed < 12 * 0.3
    assert shared.report()["calls"] == 12


def test_budget_and_cache_hold_for_all_threads_together(provider, tmp_path):
    cache = ReplyCache(tmp_path / "replies.sqlite")
    with SharedClient(client(provider, cache, budget=Budget(max_calls=5))) as shared, ThreadPoolExecutor(4) as pool:
        replies = list(pool.map(lambda n: shared.run([request(f"q {n}")])[0], range(12)))
    assert sum(reply.status is Status.OK for reply in replies) == 5
    assert len(provider.calls()) == 5
    with SharedClient(client(provider, cache)) as again:
        replies = again.run([request(f"q {n}") for n in range(12)])
    assert sum(reply.from_cache for reply in replies) == 5
    assert len(provider.calls()) == 12


def test_a_wrong_key_is_raised_in_the_thread_that_asks(provider):
    provider.play({"kind": "status", "status": 401, "body": {"error": {"message": "bad key"}}, "times": 0})
    with SharedClient(client(provider)) as shared, pytest.raises(InputError, match="bad key"):
        shared.run([request("q")])


def test_an_offline_backend_needs_no_loop():
    with SharedClient(Client(RulesBackend({"t": lambda inputs: "yes"}))) as shared:
        assert shared.run([request("q")])[0].text == "yes"


class Slow:
    """A local model that must not be used by two threads at once."""

    provider, model, min_prefix_tokens, image_limits = "local", "slow", None, AS_THEY_ARE

    def __init__(self, weights="w1", answer=None):
        self.parameters = {"weights": weights}
        self.calls, self._busy, self._answer = 0, threading.Lock(), answer

    def answer(self, asked):
        assert self._busy.acquire(blocking=False)
        time.sleep(0.01)
        self.calls += 1
        self._busy.release()
        return self._answer or Answer(Status.OK, f"said {asked.prompt}")


def test_a_local_model_takes_one_request_at_a_time_and_answers_once(tmp_path):
    model = Slow()
    local = LocalClient(model, ReplyCache(tmp_path / "replies.sqlite"))
    with ThreadPoolExecutor(4) as pool:
        first = list(pool.map(lambda n: local.run([request(f"q {n}", images=(b"x",))])[0].text, range(8)))
    again = LocalClient(Slow("w1"), ReplyCache(tmp_path / "replies.sqlite"))
    replies = again.run([request(f"q {n}", images=(b"x",)) for n in range(8)])
    assert [reply.text for reply in replies] == first
    assert (model.calls, again.calls, again.cache_hits) == (8, 0, 8)


@pytest.mark.parametrize("change", [{"images": (b"y",)}, {"max_tokens": 3}])
def test_another_picture_or_other_weights_are_another_question(tmp_path, change):
    cache = ReplyCache(tmp_path / "replies.sqlite")
    LocalClient(Slow(), cache).run([request("q", images=(b"x",))])
    other = LocalClient(Slow(), cache)
    other.run([request("q", **({"images": (b"x",)} | change))])
    retrained = LocalClient(Slow("w2"), cache)
    retrained.run([request("q", images=(b"x",))])
    assert (other.calls, retrained.calls) == (1, 1)


def test_what_a_local_model_could_not_do_is_tried_again(tmp_path):
    cache = ReplyCache(tmp_path / "replies.sqlite")
    failing = LocalClient(Slow(answer=Answer(Status.ERROR, None, "out of memory")), cache)
    assert failing.run([request("q")])[0].status is Status.ERROR
    assert LocalClient(Slow(), cache).run([request("q")])[0].text == "said q"
