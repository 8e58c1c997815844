"""Readings that a test takes for granted."""

from collections.abc import Callable
from typing import TypeVar

from ml.counterfactuals.amounts import Amount, read_amount
from ml.counterfactuals.durations import Duration, read_duration
from ml.counterfactuals.heat import Heat, read_heat

T = TypeVar("T")


def _read(read: Callable[[str], T | None], text: str | None) -> T:
    assert text is not None
    value = read(text)
    assert value is not None, text
    return value


def amount(text: str | None) -> Amount:
    return _read(read_amount, text)


def duration(text: str | None) -> Duration:
    return _read(read_duration, text)


def heat(text: str | None) -> Heat:
    return _read(read_heat, text)
