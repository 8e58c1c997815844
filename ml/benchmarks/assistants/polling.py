"""What turn-based assistants share: when they are asked, how YES or NO is read, what they said in the last minute. Holds no prompt."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

# An answer begins with YES or NO as a word of its own; decoration and a closed thinking block may stand before it.
_THINKING = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL | re.IGNORECASE)
_ANSWER = re.compile(r"\A[\s*_#>`\"'“”‘(\[]*(yes|no)(?![\w'’-])[\s*_`\"'“”’)\]]*(.*)\Z", re.DOTALL | re.IGNORECASE)
_LEAD = re.compile(r"\A[\s.,:;!*_`–—-]+")


@dataclass(frozen=True)
class YesNo:
    """``is_yes`` None: neither could be read. ``rest`` is the text after the word, with its case kept."""

    is_yes: bool | None
    rest: str


def read_yes_no(text: str) -> YesNo:
    """Strict reading: "Eyes on the pan" and "I would say yes" are neither."""
    match = _ANSWER.match(_THINKING.sub("", text))
    if match is None:
        return YesNo(None, "")
    rest = _LEAD.sub("", match.group(2)).strip()
    return YesNo(match.group(1).lower() == "yes", rest)


def polling_instants(start_s: float, end_s: float, interval_s: float = 5.0, *, final_partial: bool = False) -> list[float]:
    """``start + n * interval`` up to the end; the first after a full interval; ``final_partial`` adds the end itself."""
    count = int((end_s - start_s) / interval_s + 1e-9)
    instants = [start_s + (index + 1) * interval_s for index in range(count)]
    if final_partial and end_s > (instants[-1] if instants else start_s) + 1e-9:
        instants.append(end_s)
    return instants


@dataclass
class RecentFeedback:
    """What was said in the last ``span_s`` seconds, to be given back so that it is not repeated."""

    span_s: float = 60.0
    _said: list[tuple[float, str]] = field(default_factory=list, init=False)

    def add(self, t_s: float, text: str) -> None:
        self._said.append((t_s, text))

    def at(self, now_s: float) -> list[str]:
        """Texts said within the span before ``now_s``, oldest first; the edge is inside."""
        return [text for t_s, text in self._said if now_s - self.span_s - 1e-9 <= t_s <= now_s + 1e-9]


Ask = Callable[[float], YesNo]


def decide(now_s: float, is_complete: Ask, is_mistaken: Ask) -> tuple[str, str] | None:
    """One poll: completion first, then the mistake. ("success", ""), ("feedback", text) or None; feedback without text is no event."""
    if is_complete(now_s).is_yes:
        return "success", ""
    answer = is_mistaken(now_s)
    return ("feedback", answer.rest) if answer.is_yes and answer.rest else None
