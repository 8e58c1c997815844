"""What turn-based assistants share: when they are asked, how YES or NO is read, what they said in the last minute. Holds no prompt."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from ml.llm import replies
from ml.llm.parsed import Said, text_of
from ml.vocabulary import Status

_OPENING = re.compile(r"\A[\s*_#>`\"'“”‘(\[]*(?:yes|no)(?![\w'’-])[\s*_`\"'“”’)\]]*(.*)\Z", re.DOTALL | re.IGNORECASE)
_LEAD = re.compile(r"\A[\s.,:;!*_`–—-]+")


@dataclass(frozen=True)
class YesNo:
    """``is_yes`` None: the reply could not be read, for the reason given. ``rest`` is the text after the word, with its case kept."""

    is_yes: bool | None
    rest: str = ""
    status: Status = Status.OK
    reason: str | None = None


def read_yes_no(said: Said) -> YesNo:
    """Strict reading by ``ml.llm.replies``: "Eyes on the pan" and "I would say yes" are neither."""
    parsed = replies.read_yes_no(said)
    if parsed.value is None:
        return YesNo(None, "", parsed.status, parsed.reason)
    text = text_of(said)
    opened = _OPENING.match(text) if isinstance(text, str) else None
    rest = parsed.ignored if opened is None else _LEAD.sub("", opened.group(1)).strip()
    return YesNo(parsed.value, rest)


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
