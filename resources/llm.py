"""The language model of each LLM stage, with its reply cache and budget, as the settings name it."""

import dagster as dg
from ml.llm.open_client import open_client

from ml.llm.client import Client
from resources.settings import PlatformSettings


class LanguageModels(dg.ConfigurableResource):
    """``client(stage)`` opens the backend that the settings name for a stage; replies are cached below ``data/llm_cache``."""

    data: str

    def client(self, stage: str) -> Client:
        values = PlatformSettings().values
        return open_client(getattr(values.stages, stage), values.data / "llm_cache", stage)

    def with_usage(self, result: dg.MaterializeResult, client: Client) -> dg.MaterializeResult:
        """The result with what its model calls used."""
        used = client.usage
        spent: dict[str, object] = {
            "model": client.model,
            "calls": used.calls,
            "retries": used.retries,
            "input tokens": used.input_tokens,
            "cached input tokens": used.cache_read_tokens,
            "output tokens": used.output_tokens,
            "money (USD)": used.money_usd,
        }
        return dg.MaterializeResult(metadata={**(result.metadata or {}), **spent})
