"""The closed word lists of the domain. Anything whose values are few and fixed belongs here; open vocabularies do not."""

from enum import StrEnum
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING

if TYPE_CHECKING:

    class MistakeType(StrEnum):
        """Every module of ``ml.counterfactuals.types`` by its file name. The type checker knows the five of EGO-CoMist (section 4.1), after
        CaptainCook4D's error categories; a further module needs no entry here."""

        MEASUREMENT = "measurement"
        PREPARATION = "preparation"
        TECHNIQUE = "technique"
        TEMPERATURE = "temperature"
        TIMING = "timing"

else:
    _TYPES = sorted(module.name for module in iter_modules([str(Path(__file__).parent / "counterfactuals" / "types")]))
    MistakeType = StrEnum("MistakeType", {name.upper(): name for name in _TYPES}, module=__name__, qualname="MistakeType")


class Direction(StrEnum):
    """How a counterfactual attribute differs from the original: counterfactual relative to original."""

    SMALLER = "smaller"
    GREATER = "greater"
    LOWER = "lower"
    HIGHER = "higher"
    ALTERNATIVE = "alternative"


class MessageKind(StrEnum):
    """Kinds of message in a dialogue."""

    INSTRUCTION = "instruction"
    FEEDBACK = "feedback"
    SUCCESS = "success"
    CLARIFICATION = "clarification"
    COMMENT = "comment"
    FINISH = "finish"


class Split(StrEnum):
    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


class Status(StrEnum):
    """Outcome of one row. Only rows with ``OK`` feed the next stage; every other value travels with a reason."""

    OK = "ok"
    SKIPPED = "skipped"
    WAITING = "waiting"  # an input that a person must supply is absent
    OMITTED = "omitted"  # a recipe step that was not performed
    CONTRADICTION = "contradiction"  # the annotation disagrees with itself
    NOT_APPLICABLE = "not_applicable"  # the step has no such attribute
    NO_VIDEO = "no_video"
    BAD_VIDEO = "bad_video"
    TRUNCATED = "truncated"
    REFUSED = "refused"
    EMPTY = "empty"
    UNPARSABLE = "unparsable"
    OFF_LIST = "off_list"
    OUT_OF_CLIP = "out_of_clip"
    INCONSISTENT = "inconsistent"
    NEVER_APPARENT = "never_apparent"  # the answer None: the mistake does not become visible
    OVER_BUDGET = "over_budget"
    IN_BATCH = "in_batch"  # sent to the provider's batch interface: the reply is to come
    ERROR = "error"


# Replies of no use, as against answers that were read and judged (off_list, inconsistent, not_applicable ...). They count towards a stage's
# allowed share of failures and are what is asked again on request.
FAILED = (Status.TRUNCATED, Status.REFUSED, Status.EMPTY, Status.UNPARSABLE, Status.ERROR)
# Rows that are not made yet: a table never holds them.
UNMADE = (Status.OVER_BUDGET, Status.IN_BATCH)
