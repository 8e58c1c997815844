"""The language model of each LLM stage, with its reply cache and budget, as the settings name it."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg

from ml.errors import InputError
from ml.llm.stage import Rules
from ml.llm_stages import llm_stage
from ml.settings import LLM, LLMBackend
from resources.settings import PlatformSettings

if TYPE_CHECKING:
    from ml.llm.client import Client

KEY_VARIABLES = {LLMBackend.ANTHROPIC: "ANTHROPIC_API_KEY", LLMBackend.OPENAI: "OPENAI_API_KEY"}


class LanguageModels(dg.ConfigurableResource):
    """``client(stage)`` opens the backend that the settings name for a stage; replies are cached below ``data/llm_cache``."""

    data: str

    def client(self, stage: str) -> "Client":
        declared = llm_stage(stage)
        return open_client(declared.settings(PlatformSettings().values), Path(self.data) / "llm_cache", declared.rules())

    def with_usage(self, result: dg.MaterializeResult, client: "Client") -> dg.MaterializeResult:
        """The result with what its model calls used: calls, cache hits, tokens by kind, money, retries, outcomes."""
        spent = {key.replace("_", " "): value for key, value in client.report().items() if value is not None}
        return dg.MaterializeResult(metadata={**(result.metadata or {}), **spent})


def open_client(chosen: LLM, cache: Path, rules: Rules | None = None) -> "Client":
    """A client for one stage; its budget is that of the run, ``rules`` are its offline answers.

    Raises ``InputError`` where the key's variable is not set.
    """
    from ml.llm.budget import Budget
    from ml.llm.cache import ReplyCache
    from ml.llm.client import Client
    from ml.llm.limits import Limits

    budget = Budget(chosen.budget_usd, chosen.budget_calls)
    limits = Limits(in_flight=chosen.max_in_flight)
    replies = ReplyCache(cache / "replies.sqlite")
    match chosen.backend:
        case LLMBackend.RULES:
            from ml.llm.backends.rules import RulesBackend

            return Client(RulesBackend(rules or {}))
        case LLMBackend.ANTHROPIC:
            from ml.llm.backends.anthropic_backend import AnthropicBackend

            anthropic = AnthropicBackend(chosen.model or "", api_key=_key(chosen), base_url=chosen.base_url)
            return Client(anthropic, replies, budget=budget, limits=limits)
        case LLMBackend.OPENAI:
            from ml.llm.backends.openai_backend import OpenAIBackend

            openai = OpenAIBackend(chosen.model or "", api_key=_key(chosen), base_url=chosen.base_url)
            return Client(openai, replies, budget=budget, limits=limits)


def _key(chosen: LLM) -> str | None:
    """The key, or None for a server of one's own that asks for none."""
    variable = chosen.api_key_variable or KEY_VARIABLES[chosen.backend]
    key = os.environ.get(variable)
    if not key and chosen.base_url is None:
        raise InputError(f"{variable} is not set", field="api_key_variable", remedy="Set it, or use backend = 'rules', which needs no key")
    return key
