"""The played provider of the LLM tests."""

from tests.ml.llm.conftest import provider, provider_url

__all__ = ["provider", "provider_url"]
