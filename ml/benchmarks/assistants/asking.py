"""Asking a model for an assistant: which failures are one answer's and which end the run. Prompts and clients are elsewhere."""

from collections.abc import Sequence
from typing import Protocol

from ml.benchmarks.assistants.interface import Answered
from ml.benchmarks.running import AssistantUnusableError
from ml.errors import InputError
from ml.llm.parsed import Parsed, text_of
from ml.llm.requests import Reply, Request
from ml.vocabulary import Status


class Answers(Protocol):
    """What is needed of ``ml.llm.client.Client`` and ``ml.llm.local.LocalClient``."""

    def run(self, requests: Sequence[Request]) -> list[Reply]: ...


class ModelCallError(RuntimeError):
    """The model did not answer: the unit that was running is a failed one."""


def ask(client: Answers, requests: Sequence[Request]) -> list[Reply]:
    """Replies in order. Raises ``AssistantUnusableError`` where every further call would fail alike: no model, wrong key, no budget."""
    try:
        replies = client.run(requests)
    except InputError as error:
        raise AssistantUnusableError(str(error)) from error
    for reply in replies:
        if reply.status is Status.OVER_BUDGET:
            raise AssistantUnusableError(f"the budget is spent ({reply.reason}). Raise it and run again; paid replies are kept")
    return replies


def answered(reply: Reply) -> Answered:
    """A reply as a free answer, without what the model thought before it; a refused, cut or empty one is a failed answer."""
    text = text_of(reply)
    return Answered(None, text.status, text.reason) if isinstance(text, Parsed) else Answered(text.strip())


def listed_times(times_s: Sequence[float], origin_s: float = 0.0) -> str:
    """Times of pictures for a prompt, in seconds after ``origin_s``, in order: uneven spacing must reach the model."""
    return ", ".join(f"{t - origin_s:.1f}" for t in times_s) or "none"
