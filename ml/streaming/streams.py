"""What the cached runtime and the batched evaluator share: utterances, the decision state of a stream, and reply bookkeeping."""

from dataclasses import dataclass, field

from ml.streaming.head import Decision, decide, gap_over
from ml.streaming.settings import RuntimeSettings, Thresholds
from ml.vocabulary import MessageKind


@dataclass(frozen=True)
class Utterance:
    """A message: time of the last frame seen when it was decided, kind, text, and p(speak) x p(kind)."""

    t_s: float
    kind: MessageKind
    text: str
    score: float


@dataclass
class StreamVoice:
    """Decides for one instruction of one stream: thresholds, refractory gap, repeats. ``suppressed`` counts repeats left unsaid.

    After success the voice is silent: the step is over until the next instruction.
    """

    thresholds: Thresholds
    settings: RuntimeSettings
    finished: bool = False
    suppressed: int = 0
    _last_s: float | None = None
    _said: dict[tuple[MessageKind, str], float] = field(default_factory=dict)

    def consider(self, t_s: float, speak: float, feedback: float) -> Decision | None:
        """The decision at the block that ends at ``t_s``; None is silence."""
        if self.finished or not gap_over(t_s, self._last_s, self.settings.min_gap_s):
            return None
        return decide(speak, feedback, self.thresholds)

    def say(self, t_s: float, decision: Decision, text: str) -> Utterance | None:
        """Record what was said; None when it is a repeat within ``repeat_s``."""
        self._last_s = t_s
        self.finished = decision.kind is MessageKind.SUCCESS
        before = self._said.get((decision.kind, text))
        if before is not None and t_s - before < self.settings.repeat_s:
            self.suppressed += 1
            return None
        self._said[decision.kind, text] = t_s
        return Utterance(t_s, decision.kind, text, decision.score)
