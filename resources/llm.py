"""The language model of each LLM stage, with its reply cache, budget, pace and retries, as the settings name them."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg

from ml.errors import InputError
from ml.llm.stage import Rules
from ml.llm_stages import llm_stage
from ml.setting_sections.models import LLM, LLMBackend
from ml.settings import Settings
from resources.settings import PlatformSettings

if TYPE_CHECKING:
    from ml.llm.backends.anthropic_backend import AnthropicBackend
    from ml.llm.backends.openai_backend import OpenAIBackend
    from ml.llm.batches import Batches
    from ml.llm.cache import ReplyCache
    from ml.llm.client import Client

KEY_VARIABLES = {LLMBackend.ANTHROPIC: "ANTHROPIC_API_KEY", LLMBackend.OPENAI: "OPENAI_API_KEY"}


class LanguageModels(dg.ConfigurableResource):
    """``client(stage)`` opens the backend that the settings name for a stage; replies are cached below ``data/llm_cache``."""

    data: str

    def client(self, stage: str, *, retry_failed: bool = False) -> "Client | Batches":
        """A client, or batches where the stage's settings say so; both have ``run``, ``usage`` and ``report``."""
        declared, settings = llm_stage(stage), PlatformSettings().values
        chosen = declared.settings(settings)
        if chosen.batch:
            return open_batches(chosen, self.cache, settings, retry_failed=retry_failed)
        return open_client(chosen, self.cache, settings, declared.rules(), retry_failed=retry_failed)

    @property
    def cache(self) -> "ReplyCache":
        return reply_cache(Path(self.data))


def reply_cache(data: Path) -> "ReplyCache":
    """The one file of paid replies and of batches below a data folder."""
    from ml.llm.cache import ReplyCache

    return ReplyCache(data / "llm_cache" / "replies.sqlite")


def spend_metadata(report: Mapping[str, float | int | str | None]) -> dict[str, float | int | str]:
    """What a run's model calls used, as asset metadata: calls, cache hits, tokens by kind, money, retries, outcomes.

    Every partition of the run shows the same figures, and their names say so: they are not to be summed over partitions.
    """
    return {f"run {key.replace('_', ' ')}": value for key, value in report.items() if value is not None}


def open_client(
    chosen: LLM,
    cache: "ReplyCache | None",
    settings: Settings,
    rules: Rules | None = None,
    *,
    retry_failed: bool = False,
    needs_key: bool = True,
) -> "Client":
    """A client for one stage; its budget is that of the run, ``rules`` are its offline answers.

    Raises ``InputError`` where the key's variable is not set, unless ``needs_key`` is false, as for a client that only estimates.
    """
    from ml.llm.backends.rules import RulesBackend
    from ml.llm.budget import Budget
    from ml.llm.client import Client
    from ml.llm.limits import Limits
    from ml.llm.prices import own_prices
    from ml.llm.retries import RetryPolicy

    if chosen.backend is LLMBackend.RULES:
        return Client(RulesBackend(rules or {}))
    return Client(
        open_backend(chosen, needs_key=needs_key),
        cache,
        budget=Budget(chosen.budget_usd, chosen.budget_calls),
        prices=own_prices(settings.llm.prices),
        limits=Limits(chosen.max_in_flight, chosen.requests_per_minute, chosen.tokens_per_minute, chosen.timeout_s),
        retry=RetryPolicy(total_s=chosen.retry_total_s, attempts=chosen.retry_attempts),
        retry_failed=retry_failed,
        max_tokens=chosen.max_tokens,
        truncated_cap=chosen.truncated_cap,
    )


def open_batches(chosen: LLM, cache: "ReplyCache", settings: Settings, *, retry_failed: bool = False) -> "Batches":
    """The batch side of a stage's backend. Raises ``InputError`` where the key's variable is not set."""
    from ml.llm.backends.anthropic_backend import AnthropicBackend
    from ml.llm.backends.anthropic_batches import AnthropicBatches
    from ml.llm.backends.openai_batches import OpenAIBatches
    from ml.llm.batches import Batches
    from ml.llm.budget import Budget
    from ml.llm.prices import own_prices

    backend = open_backend(chosen)
    return Batches(
        AnthropicBatches(backend) if isinstance(backend, AnthropicBackend) else OpenAIBatches(backend),
        cache,
        budget=Budget(chosen.budget_usd, chosen.budget_calls),
        prices=own_prices(settings.llm.prices),
        retry_failed=retry_failed,
        max_tokens=chosen.max_tokens,
        truncated_cap=chosen.truncated_cap,
    )


def open_backend(chosen: LLM, *, needs_key: bool = True) -> "AnthropicBackend | OpenAIBackend":
    """The provider's model. A server of one's own is a provider of its own, so that two that serve one name are two models."""
    key = _key(chosen) if needs_key else "none"
    match chosen.backend:
        case LLMBackend.ANTHROPIC:
            from ml.llm.backends.anthropic_backend import AnthropicBackend

            return AnthropicBackend(
                chosen.model or "",
                api_key=key,
                base_url=chosen.base_url,
                send_temperature=bool(chosen.send_temperature),
                schema_by=chosen.schema_by.value,
                effort=chosen.effort,
                extra=chosen.extra,
            )
        case LLMBackend.OPENAI:
            from ml.llm.backends.openai_backend import OpenAIBackend

            effort = {} if chosen.effort is None else {"reasoning_effort": chosen.effort}
            return OpenAIBackend(
                chosen.model or "",
                api_key=key,
                base_url=chosen.base_url,
                provider=chosen.base_url or "openai",
                send_temperature=chosen.send_temperature is not False,
                extra={**effort, **chosen.extra},
            )
        case LLMBackend.RULES:
            raise InputError("the rules have no provider", field="backend", remedy="Use 'anthropic' or 'openai'")


def _key(chosen: LLM) -> str | None:
    """The key, or None for a server of one's own that asks for none."""
    variable = chosen.api_key_variable or KEY_VARIABLES[chosen.backend]
    key = os.environ.get(variable)
    if not key and chosen.base_url is None:
        raise InputError(f"{variable} is not set", field="api_key_variable", remedy="Set it, or use backend = 'rules', which needs no key")
    return key
