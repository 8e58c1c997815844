"""Names of benchmark protocols: which family a run belongs to, which table its predictions are in, who can take part. Runs nothing.

A protocol is called ``<benchmark>.<feed>``:

* EGO: ``per_step`` or ``full_recipe``. Per step, an assistant that says no success is asked to the end of the recording, as the published
  baseline does; under ``per_step.grace`` until 15 s after the step's true end, under ``per_step.true_end`` until that end;
* GuideMe: ``dense`` or ``anchor``, then, joined by ``-``, what differs from the defaults: ``own`` or ``none`` (the history; else the true
  one), ``window30`` (seconds of video, 1 to 3600, else 60), ``every0.5`` (seconds between instants, 0.1 to 60, else 1), ``knowledge`` (the
  annotation's task knowledge is shown too), ``seed7`` (of the anchor sampling and the dense tail, else 0);
* Cook-MRE: ``default``, ``hint`` (a mistake sample is asked with its own element only) or ``hint-all`` (with every element it has).
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from ml.errors import InputError


class Family(StrEnum):
    EGO = "ego"
    GUIDEME = "guideme"
    COOK_MRE = "cook_mre"


class RunEnd(StrEnum):
    """Where a per-step stream ends when the assistant does not say success."""

    END_OF_VIDEO = "end_of_video"  # what the published baseline does
    GRACE = "grace"  # some seconds after the true end
    TRUE_END = "true_end"  # the next instruction


class History(StrEnum):
    """Whose answers the dialogue of a GuideMe instant holds."""

    TRUE = "true"
    OWN = "own"
    NONE = "none"


class Hints(StrEnum):
    """Which elements the prompts of a Cook-MRE sample name. A correct sample has no own element: it is asked with every one."""

    NONE = "none"
    OWN = "own"
    ALL = "all"


EGO_FEEDS = ("per_step", "full_recipe")
GUIDEME_FEEDS = ("dense", "anchor")
COOK_FEEDS = {"default": Hints.NONE, "hint": Hints.OWN, "hint-all": Hints.ALL}
PREDICTION_TABLES = {Family.EGO: "predictions", Family.GUIDEME: "guidance_predictions", Family.COOK_MRE: "clip_predictions"}
DATA_TABLES = {
    Family.EGO: ("benchmark_steps", "benchmark_messages"),
    Family.GUIDEME: ("benchmark_dialogues", "benchmark_turns"),
    Family.COOK_MRE: ("benchmark_clips",),
}
_ALLOWED = """<benchmark>.<per_step|full_recipe>, <benchmark>.per_step.<grace|true_end>, \
<benchmark>.<dense|anchor>[-own|-none][-window30][-every0.5][-knowledge][-seed7], or <benchmark>.<default|hint|hint-all>"""
_NUMBERED = re.compile(r"(window|every|seed)(\d+(?:\.\d+)?)")
_LEAST = {"window": 1.0, "every": 0.1, "seed": 0.0}
_MOST = {"window": 3600.0, "every": 60.0, "seed": 2.0**32 - 1}


@dataclass(frozen=True)
class GuideMeVariant:
    """What a GuideMe protocol's name says. The window is the same for every history."""

    is_dense: bool
    history: History = History.TRUE
    window_s: float = 60.0
    interval_s: float = 1.0
    seed: int = 0
    shows_knowledge: bool = False


@dataclass(frozen=True)
class BenchmarkProtocol:
    """A protocol's name taken apart.

    ``guideme`` is there for that family alone; ``run_end`` means something for EGO's per_step alone, ``hints`` for Cook-MRE alone.
    """

    name: str
    benchmark: str
    family: Family
    feed: str
    guideme: GuideMeVariant | None = None
    run_end: RunEnd = RunEnd.END_OF_VIDEO
    hints: Hints = Hints.NONE

    @property
    def table(self) -> str:
        """Table that predictions under this protocol are in."""
        return PREDICTION_TABLES[self.family]


def parse_protocol(name: str) -> BenchmarkProtocol:
    """Take a protocol's name apart. Raises ``InputError`` with the allowed forms."""
    benchmark, dot, rest = name.partition(".")
    feed, *parts = rest.split("-")
    if benchmark and dot:
        if feed in EGO_FEEDS and not parts:
            return BenchmarkProtocol(name, benchmark, Family.EGO, feed)
        if rest in (f"per_step.{end}" for end in (RunEnd.GRACE, RunEnd.TRUE_END)):
            return BenchmarkProtocol(name, benchmark, Family.EGO, "per_step", run_end=RunEnd(rest.partition(".")[2]))
        if rest in COOK_FEEDS:
            return BenchmarkProtocol(name, benchmark, Family.COOK_MRE, rest, hints=COOK_FEEDS[rest])
        if feed in GUIDEME_FEEDS:
            return BenchmarkProtocol(name, benchmark, Family.GUIDEME, feed, _variant(name, feed == "dense", parts))
    raise InputError(f"{name!r} names no protocol", field="protocol", remedy=f"Use {_ALLOWED}")


def _variant(name: str, is_dense: bool, parts: list[str]) -> GuideMeVariant:
    history, numbers, shows_knowledge = History.TRUE, {"window": 60.0, "every": 1.0, "seed": 0.0}, False
    for part in parts:
        numbered = _NUMBERED.fullmatch(part)
        if part in (History.OWN, History.NONE):
            history = History(part)
        elif part == "knowledge":
            shows_knowledge = True
        elif numbered is not None:
            numbers[numbered[1]] = _number(name, part, numbered[1], float(numbered[2]))
        else:
            raise InputError(f"{part!r} is no variant of GuideMe", record=name, field="protocol", remedy=f"Use {_ALLOWED}")
    return GuideMeVariant(is_dense, history, numbers["window"], numbers["every"], int(numbers["seed"]), shows_knowledge)


def _number(protocol: str, part: str, kind: str, value: float) -> float:
    if not _LEAST[kind] <= value <= _MOST[kind] or (kind == "seed" and value != int(value)):
        allowed = f"{'a whole number' if kind == 'seed' else 'seconds'} from {_LEAST[kind]:g} to {_MOST[kind]:.0f}"
        raise InputError(f"{part!r} is out of range", record=protocol, field="protocol", remedy=f"After {kind}, give {allowed}")
    return value


def family_of(protocol: str) -> Family:
    return parse_protocol(protocol).family
