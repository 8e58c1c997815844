"""Requests of the counterfactual stages: each distinct question is asked once, its reply is shared by every row that needs it."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ml.counterfactuals.mistake_rules import Question as Moments
from ml.counterfactuals.reading import short_text
from ml.counterfactuals.registry import MISTAKE_RULES, Stage, render_prompt, reply_schema, task_name
from ml.llm.requests import Reply, Request
from ml.llm.stage import Asks, Progress
from ml.vocabulary import Direction, MistakeType, Status


@dataclass(frozen=True)
class Question:
    """One question; equal inputs make equal questions."""

    stage: Stage
    mistake_type: MistakeType
    inputs: Mapping[str, Any]

    @property
    def key(self) -> str:
        text = json.dumps([self.stage, self.mistake_type, dict(self.inputs)], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:24]


def ask(client: Asks, questions: Sequence[Question], progress: Progress | None = None, max_tokens: int = 512) -> dict[str, Reply]:
    """Replies by question key. Order and number of equal questions do not matter."""
    distinct = {question.key: question for question in questions}
    requests = [
        Request(
            key,
            task_name(question.stage, question.mistake_type),
            question.inputs,
            *render_prompt(question.stage, question.mistake_type, question.inputs),
            schema=reply_schema(question.stage, question.mistake_type),
            max_tokens=max_tokens,
            check=partial(unreadable, question),
        )
        for key, question in distinct.items()
    ]
    return {reply.key: reply for reply in client.run(requests, progress)} if requests else {}


def unreadable(question: Question, text: str) -> str | None:
    """Why a reply to the question cannot be read, None where it can. An answer that is read and found wrong is no matter of form."""
    rules, inputs = MISTAKE_RULES[question.mistake_type], question.inputs
    match question.stage:
        case Stage.EXTRACT:
            attributes = rules.read_attributes(text)
            status, reason = attributes.status, attributes.reason
        case Stage.TIMESTAMP:
            direction, options = Direction(inputs["direction"]), inputs["options"]
            moment = rules.read_moment(text, Moments(inputs, direction, options, inputs["clip_start_s"], inputs["clip_end_s"]))
            status, reason = moment.status, moment.reason
        case _:
            value = short_text(text, "reply")
            status, reason = value.status, value.reason
    return reason or "it has no form" if status is Status.UNPARSABLE else None
