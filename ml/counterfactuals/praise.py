"""Feedback that only praises: nothing is told to be wrong, so that it is no feedback on a mistake, whatever value it names."""

import re
from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec

Given = ParamSpec("Given")

_OPENING: Final = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|oh|wow|yes|yeah|very|really|so|that(?:['’]s|\s+is|\s+was)|this\s+is)\W+)*"
    r"(?:perfect(?:ly)?|great|nice(?:ly)?|good|well\s+done|exactly|excellent)\b",
    re.IGNORECASE,
)
_TOLD: Final = re.compile(
    r"n['’]t\b|\b(?:not|but|instead|should|only|too|stop|need(?:s|ed)?|rather|must|however|though|almost|except|never)\b", re.IGNORECASE
)


def is_praise(feedback: str) -> bool:
    """Whether a text opens with praise and then tells of nothing wrong: "Perfect, 2 tablespoons it is!"."""
    return _OPENING.match(feedback) is not None and _TOLD.search(feedback) is None


def and_no_praise(check: Callable[Given, str | None]) -> Callable[Given, str | None]:
    """A check of feedback, the last argument of ``check``, that refuses mere praise as well."""

    @wraps(check)
    def checked(*args: Given.args, **kwargs: Given.kwargs) -> str | None:
        wrong = check(*args, **kwargs)
        if wrong is None and is_praise(str(args[-1])):
            return "the feedback praises and tells of no mistake"
        return wrong

    return checked
