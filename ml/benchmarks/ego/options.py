"""Options of the EGO-MC-Bench scorer, one per reading that the papers leave open. The default is what is reported."""

from dataclasses import dataclass, field
from enum import StrEnum

from ml.benchmarks.bootstrap import BootstrapOptions
from ml.benchmarks.text_overlap import RougeOptions

TOLERANCE_S = 1e-9


class Matching(StrEnum):
    """How predictions are paired with references inside the window."""

    OPTIMAL = "optimal"  # most pairs, then least sum of |dt|, then lexicographically earliest
    CLOSEST_FIRST = "closest_first"
    PREDICTION_ORDER = "pred_order"
    ANY_IN_WINDOW = "any_in_window"  # QICD's wording: a reference only asks for any prediction near it
    TWO_DIRECTIONS = "two_directions"  # FitCoach: recall from the references, precision from the predictions


class Duplicates(StrEnum):
    """What an unpaired prediction inside the window of a reference is."""

    FALSE_POSITIVE = "fp"
    IGNORE = "ignore"


class Scope(StrEnum):
    """Where a prediction may find its reference."""

    STEP = "step"
    RECORDING = "recording"


class Counting(StrEnum):
    """``events``: every message counts. ``segments``: one outcome per step (QICD's definition of TN read literally)."""

    EVENTS = "events"
    SEGMENTS = "segments"


class GateFailure(StrEnum):
    """What happens to a message given while the assistant followed a wrong instruction."""

    COUNT = "fp_and_fn"
    EXCLUDE = "exclude"


class Average(StrEnum):
    POOLED = "pooled"
    PER_RECORDING = "per_recording"


class WhichSuccess(StrEnum):
    FIRST = "first"
    ANY = "any"


class Denominator(StrEnum):
    """Which steps IC-Acc divides by."""

    WITH_COMPLETION = "all_steps_with_completion"
    ALL = "all_steps"


class Pointer(StrEnum):
    """Whose success a success message is in a full recipe: of the step the assistant is at, or of any step near it (gameable)."""

    ACTIVE = "active"
    ANY_STEP = "any_step"


class CompletionFallback(StrEnum):
    """When a step without a reference success was completed, unless the benchmark says that it never was."""

    END = "end"
    END_UNLESS_MISTAKE = "end_unless_mistake"  # a mistake that is never put right is never completed
    NEVER = "never"


@dataclass(frozen=True)
class EgoOptions:
    """Defaults: centred window of 30 s, inclusive, one-to-one, same step, pooled; a second, narrow window of 3 s beside it.

    ``instruction_gate`` is the least ROUGE-L between the assistant's active instruction and the reference's, or None for no gate.
    ``delay_s`` is added to prediction times (generation latency). ``zero_division`` is the value of 0/0, or None.
    """

    half_window_s: float = 15.0
    narrow_half_windows_s: tuple[float, ...] = (3.0,)
    inclusive: bool = True
    matching: Matching = Matching.OPTIMAL
    duplicates: Duplicates = Duplicates.FALSE_POSITIVE
    scope: Scope = Scope.STEP
    counting: Counting = Counting.EVENTS
    instruction_gate: float | None = 0.8
    gate_failure: GateFailure = GateFailure.COUNT
    average: Average = Average.POOLED
    zero_division: float | None = 0.0
    which_success: WhichSuccess = WhichSuccess.FIRST
    denominator: Denominator = Denominator.WITH_COMPLETION
    pointer: Pointer = Pointer.ACTIVE
    completion_fallback: CompletionFallback = CompletionFallback.END
    delay_s: float = 0.0
    clarifications: bool = False
    rouge: RougeOptions = field(default_factory=RougeOptions)
    bootstrap: BootstrapOptions = field(default_factory=BootstrapOptions)

    def near(self, difference_s: float) -> bool:
        """Whether two times this far apart are inside the window."""
        distance = abs(difference_s)
        return distance <= self.half_window_s + TOLERANCE_S if self.inclusive else distance < self.half_window_s - TOLERANCE_S
