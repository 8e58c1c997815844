"""Requests of the counterfactual stages: each distinct question is asked once, its reply is shared by every row that needs it."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ml.counterfactuals.registry import Stage, render_prompt, task_name
from ml.llm.requests import Reply, Request
from ml.llm.stage import Asks, Progress
from ml.vocabulary import MistakeType


@dataclass(frozen=True)
class Question:
    """One question; equal inputs make equal questions."""

    stage: Stage
    mistake_type: MistakeType
    inputs: Mapping[str, object]

    @property
    def key(self) -> str:
        text = json.dumps([self.stage, self.mistake_type, dict(self.inputs)], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:24]


def ask(client: Asks, questions: Sequence[Question], progress: Progress | None = None, max_tokens: int = 512) -> dict[str, Reply]:
    """Replies by question key. Order and number of equal questions do not matter."""
    distinct = {question.key: question for question in questions}
    requests = []
    for key, question in distinct.items():
        system, prompt = render_prompt(question.stage, question.mistake_type, question.inputs)
        task = task_name(question.stage, question.mistake_type)
        requests.append(Request(key=key, task=task, inputs=question.inputs, system=system, prompt=prompt, max_tokens=max_tokens))
    return {reply.key: reply for reply in client.run(requests, progress)} if requests else {}
