"""Scoring a run of any family: from canonical tables, and from a predictions file with a benchmark, as scores, floors and a report.

    from ml.benchmarks.scoring import score_files
    result = score_files("predictions.json", "annotation.json")
    result.write("report")

The rules stand with the families; this module puts readers, scorers, floors and pages together.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from ml.benchmarks.assistants.floors import TIMER
from ml.benchmarks.cook_mre import pages as cook_pages
from ml.benchmarks.cook_mre.judged import Judgement, judge_answers
from ml.benchmarks.cook_mre.metrics import CookOptions, MistakePrompts
from ml.benchmarks.cook_mre.samples import answers_from_table, samples_from_table
from ml.benchmarks.cook_mre.scores import score_cook, tally_cook
from ml.benchmarks.data import BenchmarkData, find_benchmark
from ml.benchmarks.ego import pages as ego_pages
from ml.benchmarks.ego.options import EgoOptions
from ml.benchmarks.ego.scores import score_ego, tally_ego
from ml.benchmarks.families import Family, Hints, parse_protocol
from ml.benchmarks.floor_scores import TimerKnows, cook_floor_scores, ego_floor_scores, guideme_floor_scores
from ml.benchmarks.guideme import pages as guideme_pages
from ml.benchmarks.guideme.data import guidance_videos, items_from_tables
from ml.benchmarks.guideme.options import PROFILES, GuideMeOptions, Instants
from ml.benchmarks.guideme.scores import GuidanceVideo, score_guideme, tally_guideme
from ml.benchmarks.judging import CRITERIA_HASH, GRADE_HASH, JudgedBy, QualityJudge
from ml.benchmarks.notes import notes_on
from ml.benchmarks.options import flat, with_options
from ml.benchmarks.readers import read_predictions
from ml.benchmarks.report import Chart, ReportPage, SampleTable, html, terminal_table, write_report
from ml.benchmarks.running import check_run
from ml.benchmarks.similarity import BertScore, BertScoreIdentity
from ml.benchmarks.tally import ALL, Tally
from ml.embeddings.encoder import TextEncoder
from ml.errors import InputError
from ml.tables.store import TableStore

if TYPE_CHECKING:
    from rich.table import Table

    from ml.llm.client import Client

Options = EgoOptions | GuideMeOptions | CookOptions


@dataclass(frozen=True)
class EmbeddedBy:
    """What embedded the texts."""

    model: str


@dataclass(frozen=True)
class ScoredInstants:
    """Instants other than those of the protocol's grid."""

    rule: Instants


MadeWith = EmbeddedBy | JudgedBy | BertScoreIdentity | ScoredInstants | TimerKnows


@dataclass(frozen=True)
class Tools:
    """What scorers need from outside: the text encoder (GuideMe), a judge (GuideMe, Cook-MRE), BERTScore (EGO).

    Without ``judge`` neither Score, Score_m nor Cook-MRE's types and observations are scored. ``with_failures`` asks the judge for the kind
    of each failure of Cook-MRE.
    """

    encoder: TextEncoder = field(default_factory=TextEncoder)
    judge: "Client | None" = None
    bertscore: BertScore | None = None
    with_failures: bool = True


def default_options(family: Family, profile: str | None = None, settings: Iterable[str] = ()) -> Options:
    """The reported options of a family, or a named profile of GuideMe, with single ones set by ``name=value``."""
    if profile is not None and family is not Family.GUIDEME:
        raise InputError(f"{family} has no profiles", field="profile", remedy="Leave it out, or set single options")
    chosen: Options
    match family:
        case Family.EGO:
            chosen = EgoOptions()
        case Family.GUIDEME:
            name = profile or "official"
            if name not in PROFILES:
                raise InputError(f"no profile {name!r}", field="profile", remedy=f"Profiles: {', '.join(PROFILES)}")
            chosen = PROFILES[name]()
        case Family.COOK_MRE:
            chosen = CookOptions()
    return with_options(chosen, settings)


@dataclass(frozen=True)
class Run:
    """One run of a benchmark with what its scores and its pages are made of. ``predictions`` hold one experiment and one protocol.

    ``instants``: a GuideMe run made elsewhere is scored at the instants of its rows. ``timer_s`` is what the duration timer knew, where it
    is the run.
    """

    data: BenchmarkData
    predictions: pl.DataFrame
    options: Options
    tools: Tools
    instants: Instants = Instants.GRID
    timer_s: float | None = None

    @property
    def experiment(self) -> str:
        return str(self.predictions["experiment"][0])

    @property
    def protocol(self) -> str:
        return str(self.predictions["protocol"][0])

    @cached_property
    def videos(self) -> list[GuidanceVideo]:
        """GuideMe: the run laid beside the references."""
        items = items_from_tables(self.data["benchmark_dialogues"], self.data["benchmark_turns"])
        rule = self.options.soft.same_second if isinstance(self.options, GuideMeOptions) else None
        return guidance_videos(items, self.predictions, self.protocol, rule, of_rows=self.instants is not Instants.GRID)

    @cached_property
    def judgement(self) -> Judgement:
        """Cook-MRE: the run's answers as judged samples."""
        samples = samples_from_table(self.data["benchmark_clips"])
        is_hinted = parse_protocol(self.protocol).hints is not Hints.NONE
        answers = answers_from_table(self.predictions)
        options = self.options if isinstance(self.options, CookOptions) else CookOptions()
        if options.mistake_prompts is MistakePrompts.ALL and parse_protocol(self.protocol).hints is Hints.OWN:
            raise InputError(
                "a mistake sample was asked with its own element's hint only",
                record=self.protocol,
                field="mistake_prompts",
                remedy="Run or read the predictions under the protocol hint-all, or leave the option out",
            )
        return judge_answers(self.tools.judge, samples, answers, options, is_hinted=is_hinted, with_failures=self.tools.with_failures)

    @property
    def judged_by(self) -> JudgedBy | None:
        judge = self.tools.judge
        if judge is None or self.data.family is Family.EGO:
            return None
        return JudgedBy(judge.model, GRADE_HASH if self.data.family is Family.GUIDEME else CRITERIA_HASH)

    @property
    def _quality(self) -> QualityJudge | None:
        return None if self.tools.judge is None else QualityJudge(self.tools.judge)

    @property
    def made_with(self) -> dict[str, MadeWith]:
        """What the run's values depend on beside the options, by name: it enters the options hash."""
        found: dict[str, MadeWith] = {}
        if self.data.family is Family.GUIDEME:
            found["encoder"] = EmbeddedBy(self.tools.encoder.name)
        if self.data.family is Family.EGO and self.tools.bertscore is not None:
            found["bertscore"] = self.tools.bertscore.identity
        if self.judged_by is not None:
            found["judge"] = self.judged_by
        if self.instants is not Instants.GRID:
            found["instants"] = ScoredInstants(self.instants)
        if self.timer_s is not None:
            found["timer"] = TimerKnows(round(self.timer_s, 6))
        return found

    @property
    def _ego_tables(self) -> tuple[pl.DataFrame, pl.DataFrame]:
        return self.data["benchmark_steps"], self.data["benchmark_messages"]

    def scores(self) -> pl.DataFrame:
        """``scores`` rows of the run. Raises ``InputError`` where the judge gave no readable verdict at all."""
        scores = self._scores()
        self._check_judged(scores)
        return scores

    def _check_judged(self, scores: pl.DataFrame) -> None:
        judge = self.tools.judge
        if judge is None or self.judged_by is None:
            return
        if self.data.family is Family.COOK_MRE:
            answered = len(self.judgement.samples) - len(self.judgement.missing)
            is_void = 0 < answered == len(self.judgement.judge_failed)
        else:
            failed = scores.filter((pl.col("metric") == "judge_failed") & (pl.col("group") == ALL))
            is_void = bool(failed.height) and failed["n"][0] > 0 and failed["value"][0] == failed["n"][0]
        if is_void:
            outcomes = ", ".join(f"{name.removeprefix('outcome_')} {count}" for name, count in judge.report().items() if "outcome_" in name)
            raise InputError(
                f"every judgement by {judge.model} failed (replies: {outcomes})",
                record=self.experiment,
                field="judge",
                remedy="Check the judge's model and server, or leave it out: --judge none",
            )

    def _scores(self) -> pl.DataFrame:
        names = {"experiment": self.experiment, "protocol": self.protocol}
        made_with = tuple(self.made_with.values())
        match self.options:
            case EgoOptions() as ego:
                return score_ego(*self._ego_tables, self.predictions, ego, self.tools.bertscore, made_with)
            case GuideMeOptions() as guideme:
                encode = self.tools.encoder.encode
                return score_guideme(self.videos, encode, guideme, judge=self._quality, made_with=made_with, **names)
            case CookOptions() as cook:
                samples = samples_from_table(self.data["benchmark_clips"])
                return score_cook(samples, self.judgement, cook, made_with=made_with, **names)

    def floor_scores(self, median_step_s: float | None = None) -> pl.DataFrame:
        """``scores`` rows of the floors under the same protocol and options."""
        made_with = tuple(self.made_with.values())
        match self.options:
            case EgoOptions() as ego:
                return ego_floor_scores(self.data, self.protocol, ego, median_step_s, self.tools.bertscore, made_with)
            case GuideMeOptions() as guideme:
                return guideme_floor_scores(self.videos, self.protocol, guideme, self.tools.encoder, self._quality, made_with)
            case CookOptions() as cook:
                return cook_floor_scores(self.data, self.protocol, cook, made_with)

    def tally(self) -> Tally:
        """Sums per recording, for comparing the run with another."""
        match self.options:
            case EgoOptions() as ego:
                return tally_ego(*self._ego_tables, self.predictions, ego, self.tools.bertscore)
            case GuideMeOptions() as guideme:
                return tally_guideme(self.videos, self.tools.encoder.encode, guideme, self._quality)
            case CookOptions() as cook:
                return tally_cook(samples_from_table(self.data["benchmark_clips"]), self.judgement, cook)

    def pages(self, scores: pl.DataFrame, timelines: int) -> tuple[list[Chart], list[Chart], list[SampleTable]]:
        """Charts, timelines of the first recordings, and single items to read."""
        match self.options:
            case EgoOptions() as ego:
                return ego_pages.pages(self.data, self.predictions, scores, ego, timelines)
            case GuideMeOptions() as guideme:
                return guideme_pages.pages(self.videos, self.tools.encoder.encode, scores, guideme, self.experiment, timelines)
            case CookOptions():
                answers = answers_from_table(self.predictions)
                return cook_pages.pages(samples_from_table(self.data["benchmark_clips"]), answers, self.judgement, scores)


def score_tables(
    data: BenchmarkData, predictions: pl.DataFrame, options: Options | None = None, tools: Tools | None = None
) -> pl.DataFrame:
    """``scores`` of every (experiment, protocol) in canonical ``predictions`` of the benchmark's family.

    Raises ``InputError`` for a run whose items all failed.
    """
    tools = tools or Tools()
    parts = []
    for part in predictions.partition_by("experiment", "protocol", maintain_order=True):
        check_run(part)
        parts.append(Run(data, part, options or default_options(data.family), tools).scores())
    if not parts:
        raise InputError("there are no predictions to score", record=data.name)
    return pl.concat(parts)


@dataclass(frozen=True)
class Scored:
    """A scored run. ``scores`` hold its rows first, then those of the floors. A notebook shows the report's page."""

    run: Run
    scores: pl.DataFrame
    notes: tuple[str, ...]
    timelines: int

    @property
    def own_scores(self) -> pl.DataFrame:
        return self.scores.filter(pl.col("experiment") == self.run.experiment)

    def table(self) -> "Table":
        """A rich table for the terminal."""
        return terminal_table(self.scores)

    @cached_property
    def page(self) -> ReportPage:
        charts, timelines, samples = self.run.pages(self.scores, self.timelines)
        options: Mapping[str, Any] = flat(self.run.options)
        for name, used in self.run.made_with.items():
            options = {**options, **{f"{name}.{key}": value for key, value in asdict(used).items()}}
        title = f"{self.run.experiment} on {self.run.data.name}"
        return ReportPage(title, self.scores, options, self.notes, tuple(charts), tuple(timelines), tuple(samples))

    def write(self, folder: str | Path, name: str = "report") -> tuple[Path, Path]:
        """JSON and HTML in ``folder``. Nothing is written unless both can be."""
        return write_report(Path(folder), self.page, name)

    def _repr_html_(self) -> str:
        return html(self.page)


def score_files(
    predictions: str | Path,
    benchmark: str | Path | BenchmarkData,
    *,
    experiment: str | None = None,
    protocol: str | None = None,
    settings: Sequence[str] = (),
    profile: str | None = None,
    tools: Tools | None = None,
    store: TableStore | None = None,
    floors: bool = True,
    median_step_s: float | None = None,
    timelines: int = 8,
    absent_is_silence: bool = False,
    progress: Callable[[str], None] | None = None,
) -> Scored:
    """Score a predictions file on a benchmark: a file or folder in a published format, or a name in ``store``'s tables.

    ``settings`` are options as ``name=value``; ``median_step_s`` is what the duration timer knows, by default the benchmark's own median.
    Raises ``InputError`` with file, record, field and remedy, also for a run whose items all failed.
    """
    say = progress or (lambda stage: None)
    say("reading")
    data = benchmark if isinstance(benchmark, BenchmarkData) else find_benchmark(benchmark, store)
    file = read_predictions(Path(predictions), data, experiment=experiment, protocol=protocol, absent_is_silence=absent_is_silence)
    check_run(file.table, Path(predictions))
    options = default_options(data.family, profile, settings)
    run = Run(data, file.table, options, tools or Tools(), instants_of_file(data.family, absent_is_silence))
    say("scoring")
    parts = [run.scores()]
    if floors:
        say("floors")
        parts.append(run.floor_scores(median_step_s))
    notes = notes_on(run, parts[0], default_options(data.family))
    if floors and data.family is Family.EGO and median_step_s is None:
        notes = (*notes, f"{TIMER} knows the median step of this very benchmark.")
    return Scored(run, pl.concat(parts), notes, timelines)


def instants_of_file(family: Family, absent_is_silence: bool) -> Instants:
    """Which instants of a predictions file are scored."""
    if family is not Family.GUIDEME:
        return Instants.GRID
    return Instants.ROWS_ELSE_SILENCE if absent_is_silence else Instants.ROWS


def scored_run(run: Run, *, floors: bool = True, median_step_s: float | None = None, timelines: int = 8) -> Scored:
    """A run that is in canonical tables, with its floors."""
    own = run.scores()
    parts = [own, run.floor_scores(median_step_s)] if floors else [own]
    return Scored(run, pl.concat(parts), notes_on(run, own, default_options(run.data.family)), timelines)
