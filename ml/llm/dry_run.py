"""A stage run that sends nothing: what it would ask, for estimates and printed prompts.

A stage may ask in rounds, each about the replies of the last. Stored replies are used where there are any; else the offline rules answer,
so that there is something to ask about further. What a model would really say may lead to somewhat more or fewer further questions.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from ml.llm.client import Client
from ml.llm.requests import Reply, Request
from ml.llm.stage import Inputs, LLMStage, Progress, Rules
from ml.llm.tokens import MESSAGE_OVERHEAD, text_tokens
from ml.vocabulary import Status


@dataclass
class Questions:
    """Answers like a client, from the cache or by rule, and keeps what was asked.

    ``stood_in`` has the output tokens of the replies that a rule gave, by request key: a guess at a model's.
    """

    client: Client
    rules: Rules
    asked: list[Request] = field(default_factory=list)
    stood_in: dict[str, int] = field(default_factory=dict)

    @property
    def model(self) -> str:
        return self.client.model

    def run(self, requests: Sequence[Request], progress: Progress | None = None) -> list[Reply]:
        self.asked += requests
        replies = [found or self._by_rule(request) for request, found in zip(requests, self.client.look_up(requests), strict=True)]
        if progress is not None:
            progress(len(replies), len(replies))
        return replies

    def _by_rule(self, request: Request) -> Reply:
        rule = self.rules.get(request.task)
        text = rule(request.inputs) if rule is not None else ""
        if not text.strip():
            return Reply(request.key, Status.EMPTY, None, "no rule stands in for the model", model=self.model)
        self.stood_in[request.key] = text_tokens(text) + MESSAGE_OVERHEAD
        return Reply(request.key, Status.OK, text, None, model=self.model)


def dry_run(stage: LLMStage, inputs: Inputs, client: Client) -> tuple[pl.DataFrame, Questions]:
    """The rows that the stage would make if the rules were right, and all that it would ask."""
    questions = Questions(client, stage.rules())
    return stage.make(inputs, questions), questions
