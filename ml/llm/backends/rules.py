"""The offline backend: a task name to a pure function of the request's inputs. The functions themselves live with their stage."""

from collections.abc import Callable, Mapping

from ml.errors import InputError
from ml.llm.calls import Answer
from ml.llm.requests import Request
from ml.vocabulary import Status

Rule = Callable[[Mapping[str, object]], str]


class RulesBackend:
    """Answers from functions that return reply text in the form that a model would give, so that both go through one reader."""

    provider = "rules"

    def __init__(self, functions: Mapping[str, Rule], model: str = "rules") -> None:
        self._functions = dict(functions)
        self.model = model

    def answer(self, request: Request) -> Answer:
        """An InputError names a task without a rule; a rule's own error is a bug and is raised as it is."""
        rule = self._functions.get(request.task)
        if rule is None:
            known = ", ".join(sorted(self._functions)) or "none"
            raise InputError("no rule for this task", record=request.key, field=f"task {request.task}", remedy=f"Known tasks: {known}")
        text = rule(request.inputs)
        if not text.strip():
            return Answer(Status.EMPTY, None, "the rule returned no text", model=self.model)
        return Answer(Status.OK, text, model=self.model)
