"""The closed word lists of the domain. Anything whose values are few and fixed belongs here; open vocabularies do not."""

from enum import StrEnum


class MistakeType(StrEnum):
    """The five mistake types of EGO-CoMist (section 4.1), after CaptainCook4D's error categories."""

    MEASUREMENT = "measurement"
    PREPARATION = "preparation"
    TECHNIQUE = "technique"
    TEMPERATURE = "temperature"
    TIMING = "timing"


class Direction(StrEnum):
    """How a counterfactual attribute differs from the original: counterfactual relative to original."""

    SMALLER = "smaller"
    GREATER = "greater"
    LOWER = "lower"
    HIGHER = "higher"
    ALTERNATIVE = "alternative"


DIRECTIONS: dict[MistakeType, tuple[Direction, ...]] = {
    MistakeType.MEASUREMENT: (Direction.SMALLER, Direction.GREATER),
    MistakeType.PREPARATION: (Direction.ALTERNATIVE,),
    MistakeType.TECHNIQUE: (Direction.ALTERNATIVE,),
    MistakeType.TEMPERATURE: (Direction.LOWER, Direction.HIGHER),
    MistakeType.TIMING: (Direction.SMALLER, Direction.GREATER),
}


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
