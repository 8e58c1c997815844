"""Prices per token and what a call costs. Budgets and estimates use it; nothing here calls anyone.

The table is a convenience, taken from the providers' public pages as of ``PRICES_AS_OF``. Prices change without notice: check them, and
put your own into the settings (``llm.prices``), which come before the table.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ml.llm.requests import Usage
from ml.setting_sections.models import ModelPrice

PRICES_AS_OF = "2026-10 for Claude, 2025-11 for the others"
BATCH_SHARE = 0.5  # both providers bill batch work at half price


@dataclass(frozen=True)
class Price:
    """USD per million tokens of each of the four kinds.

    Some models bill a prompt of more than ``long_from`` tokens, cached ones included, at ``long_times`` the price, output too.
    """

    input: float
    output: float
    cache_read: float
    cache_write: float
    long_from: int | None = None
    long_times: float = 1.0

    def _times(self, prompt_tokens: int) -> float:
        return self.long_times if self.long_from is not None and prompt_tokens > self.long_from else 1.0

    def money(self, usage: Usage, share: float = 1.0) -> float:
        """USD for the tokens of one call; ``share`` is 0.5 for batch work."""
        million = (
            usage.input_tokens * self.input
            + usage.output_tokens * self.output
            + usage.cache_read_tokens * self.cache_read
            + usage.cache_write_tokens * self.cache_write
        )
        prompt = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        return share * self._times(prompt) * million / 1e6

    def worst(self, input_tokens: int, max_tokens: int, share: float = 1.0) -> float:
        """USD of a call whose whole input is billed at the dearest input kind and whose output reaches the cap."""
        million = input_tokens * max(self.input, self.cache_write) + max_tokens * self.output
        return share * self._times(input_tokens) * million / 1e6


def _anthropic(price_in: float, price_out: float, read_share: float = 0.1) -> Price:
    return Price(price_in, price_out, price_in * read_share, price_in * 1.25)


def _automatic(price_in: float, price_out: float, cached: float) -> Price:
    return Price(price_in, price_out, cached, price_in)


FREE = Price(0.0, 0.0, 0.0, 0.0)
PRICES: dict[str, Price] = {
    "claude-opus-5-5": _anthropic(4.0, 20.0, 0.05),
    "claude-opus-5": _anthropic(5.0, 25.0),
    "claude-opus-4-8": _anthropic(5.0, 25.0),
    "claude-opus-4-7": _anthropic(5.0, 25.0),
    "claude-opus-4-6": _anthropic(5.0, 25.0),
    "claude-opus-4-5": _anthropic(5.0, 25.0),
    "claude-sonnet-5-5": _anthropic(2.0, 10.0, 0.05),
    "claude-sonnet-5": _anthropic(2.0, 10.0),
    "claude-sonnet-4-6": _anthropic(3.0, 15.0),
    "claude-sonnet-4-5": _anthropic(3.0, 15.0),
    "claude-haiku-5-5": Price(0.1, 0.5, 0.01, 0.125, long_from=100_000, long_times=5.0),
    "claude-haiku-4-5": _anthropic(1.0, 5.0),
    "gpt-5": _automatic(1.25, 10.0, 0.125),
    "gpt-5-mini": _automatic(0.25, 2.0, 0.025),
    "gpt-5-nano": _automatic(0.05, 0.4, 0.005),
    "gpt-4.1": _automatic(2.0, 8.0, 0.5),
    "gpt-4.1-mini": _automatic(0.4, 1.6, 0.1),
    "gpt-4.1-nano": _automatic(0.1, 0.4, 0.025),
    "gpt-4o": _automatic(2.5, 10.0, 1.25),
    "gpt-4o-mini": _automatic(0.15, 0.6, 0.075),
    "gemini-2.5-pro": Price(1.25, 10.0, 0.31, 1.25, long_from=200_000, long_times=2.0),
    "gemini-2.5-flash": _automatic(0.3, 2.5, 0.075),
    "gemini-2.5-flash-lite": _automatic(0.1, 0.4, 0.025),
}
_DATED = re.compile(r"[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|latest|0)$")


def price_of(model: str, own: Mapping[str, Price] | None = None) -> Price | None:
    """The price of a model, by its exact name or without a date suffix; ``own`` comes before the table. None where unknown."""
    table = {**PRICES, **(own or {})}
    return table.get(model) or table.get(_DATED.sub("", model))


def own_prices(settings: Mapping[str, ModelPrice]) -> dict[str, Price]:
    """The prices of the settings; an input that is cached costs as any other where nothing else is said."""
    return {
        model: Price(
            given.input,
            given.output,
            given.input if given.cache_read is None else given.cache_read,
            given.input if given.cache_write is None else given.cache_write,
        )
        for model, given in settings.items()
    }
