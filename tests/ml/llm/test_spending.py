from ml.llm.backends.anthropic_backend import AnthropicBackend
from ml.llm.cache import ReplyCache
from ml.llm.client import Client
from ml.llm.prices import Price
from ml.llm.requests import Request
from ml.llm.spending import spent


def test_spending_is_summed_by_stage_and_model_from_what_was_paid(provider, tmp_path):
    usage = {"input_tokens": 1000, "output_tokens": 100}
    provider.play({"kind": "text", "text": "ok", "usage": usage, "times": 0})
    path = tmp_path / "replies.sqlite"

    def run(model):
        backend = AnthropicBackend(model, api_key="k", base_url=provider.url)
        client = Client(backend, ReplyCache(path), prices={"a": Price(2.0, 10.0, 0.2, 2.5), "b": Price(1.0, 1.0, 0.1, 1.0)})
        tasks = ("change.timing", "instruct.timing", "check.validity", "judge")
        client.run([Request(str(n), task, {}, prompt=f"{task} {n}") for n, task in enumerate(tasks)])

    run("a")
    run("b")
    run("a")  # found in the cache: nothing is paid again
    table = spent(path)
    rows = table.rows_by_key(("stage", "model"), named=True, unique=True)
    assert set(rows) == {(stage, model) for stage in ("counterfactuals", "validity_check", "judge") for model in "ab"}
    two = rows["counterfactuals", "a"]
    assert (two["replies"], two["failed"], two["calls"], two["input_tokens"], two["output_tokens"]) == (2, 0, 2, 2000, 200)
    assert two["money_usd"] == 2 * (1000 * 2.0 + 100 * 10.0) / 1e6
    assert table["money_usd"][0] == table["money_usd"].max()
    assert spent(tmp_path / "none.sqlite").height == 0


def test_stages_of_all_tasks_and_a_price_that_nobody_knows(provider, tmp_path):
    provider.play({"kind": "text", "text": "ok", "usage": {"input_tokens": 1000, "output_tokens": 100}, "times": 0})
    path = tmp_path / "replies.sqlite"
    client = Client(AnthropicBackend("own-model", api_key="k", base_url=provider.url), ReplyCache(path))
    stages = {
        "instruct.described": "instructions",
        "instruct.timing": "counterfactuals",
        "propose.steps": "proposed_steps",
        "narrate": "narrations",
        "guide": "guide",
    }
    client.run([Request(task, task, {}, prompt=task) for task in stages])
    table = spent(path)
    assert set(table["stage"]) == set(stages.values())
    assert table["money_usd"].null_count() == table.height
    assert spent(path, {"own-model": Price(0.0, 0.0, 0.0, 0.0)})["money_usd"].to_list() == [0.0] * table.height
