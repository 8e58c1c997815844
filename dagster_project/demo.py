"""The whole graph on the sample kitchen, stretch by stretch, through the jobs that the UI runs. Shows progress, then what came out."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import dagster as dg
import polars as pl
from rich.console import Console
from rich.markup import escape
from rich.table import Table as RichTable

from assets.fingerprints import Fingerprints
from dagster_project import jobs
from dagster_project.instance import prepare_instance
from dagster_project.leaderboard_tables import show_leaderboard
from dagster_project.progress_display import progress_display
from dagster_project.runs import ProgressWatch, end_dead_runs, quiet_dagster, run_job
from ml.benchmarks.families import DATA_TABLES, parse_protocol
from ml.locks import only_one
from ml.progress import format_seconds
from ml.setting_sections.sources import source_of
from ml.settings import Settings, load_settings
from ml.tables.store import TableStore, encode_key
from resources.partitions import partition_tags, recording_ranges

COUNTED = (
    ("imported_recordings", "recordings imported"),
    ("video_probe", "videos probed"),
    ("instructions", "descriptions read"),
    ("steps", "steps placed"),
    ("narrations", "narration windows"),
    ("attributes", "attributes"),
    ("counterfactuals", "counterfactuals"),
    ("feedback_timestamps", "feedback timestamps"),
    ("validity_check", "pairs checked"),
    ("comist_candidates", "candidate pairs"),
    ("ego_comist", "EGO-CoMist pairs"),
    ("training_mix", "training samples"),
    ("benchmark_steps", "benchmark steps"),
    ("benchmark_turns", "benchmark turns"),
    ("benchmark_clips", "benchmark clips"),
    ("predictions", "predicted messages"),
    ("guidance_predictions", "answers by the second"),
    ("clip_predictions", "answers on clips"),
)
COMIST_TABLES = ("comist_candidates", "validity_answers", "ego_comist", "validity_sample", "validity_review")


@dataclass(frozen=True)
class Stretch:
    """One job of the demo: its partitions that are not current (``None``: unpartitioned), and the stages whose progress it shows."""

    title: str
    job: str
    stages: tuple[str, ...]
    pending: Callable[[], Sequence[str] | None]


def run_demo(console: Console) -> bool:
    """Run what is not current, in order; True when everything succeeded. Raises ``InputError`` where another process does already."""
    settings = load_settings()
    with only_one(settings.data / "locks" / "demo", "running the demo on this data folder"):
        return _run_demo(console, settings)


def _run_demo(console: Console, settings: Settings) -> bool:
    instance = prepare_instance(settings)
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")  # its bars and notes would tear the progress display
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    quiet_dagster(settings.data / "logs" / "demo.log")
    end_dead_runs(instance)
    started = time.monotonic()
    store = TableStore(settings.data / "tables")
    for stretch in stretches(settings, store, instance):
        if not run_stretch(console, settings, instance, stretch):
            log = escape(str(settings.data / "logs" / "demo.log"))
            console.print(f"[red]Stopped.[/] Details: {log}, or `make ui`. `make demo` goes on from here.")
            return False
    _show_counts(console, store)
    show_leaderboard(console, store.read("leaderboard"))
    console.print("The papers' published rows: [bold]interject leaderboard --published[/]")
    console.print(f"Done in {format_seconds(time.monotonic() - started)}. Open the graph, runs and plots with [bold]make ui[/].")
    return True


def run_stretch(console: Console, settings: Settings, instance: dg.DagsterInstance, stretch: Stretch) -> bool:
    pending = stretch.pending()
    if pending is not None and not pending:
        console.print(f"[green]✓[/] {stretch.title}: current")
        return True
    with progress_display(console, stretch.title) as show:
        started = time.monotonic()
        with ProgressWatch(instance, settings.data / "progress", stretch.stages, show):
            for tags in [{}] if pending is None else _ranges(instance, pending, settings):
                outcome = run_job(instance, stretch.job, tags=tags)
                if not outcome.success:
                    console.print(f"[red]✗[/] {stretch.title}: {escape(outcome.message or '')}", highlight=False)
                    return False
    console.print(f"[green]✓[/] {stretch.title}: {format_seconds(time.monotonic() - started)}")
    return True


def _ranges(instance: dg.DagsterInstance, pending: Sequence[str], settings: Settings) -> list[dict[str, str]]:
    """Run tags for the pending keys: one run per contiguous range of the dynamic partitions, one for a grid, or one per other key."""
    if pending and "|" in pending[0]:
        return _multi_ranges(pending, settings)
    return recording_ranges(instance, pending)


def _multi_ranges(pending: Sequence[str], settings: Settings) -> list[dict[str, str]]:
    """One run over the rectangle of experiments and protocols around what is pending, so that a model is loaded once.

    What of it is current, or cannot be run, is passed over.
    """
    corners = []
    for place, names in enumerate((settings.benchmarks.experiments, settings.benchmarks.protocols)):
        wanted = [names.index(key.split("|")[place]) for key in pending]
        corners.append((names[min(wanted)], names[max(wanted)]))
    (first, last), (low, high) = corners
    return [partition_tags(list(dict.fromkeys((f"{first}|{low}", f"{last}|{high}"))))]


def stretches(settings: Settings, store: TableStore, instance: dg.DagsterInstance) -> list[Stretch]:
    def stale(tables: Sequence[str], only_counterfactual_sources: bool = False) -> Callable[[], Sequence[str]]:
        def find() -> Sequence[str]:
            prints = Fingerprints(store, settings)
            sources = settings.all_sources()
            ids = store.scan("imported_recordings", list(sources)).select("recording_id").collect().to_series().to_list()
            wanted = [i for i in ids if not only_counterfactual_sources or sources[source_of(i)].counterfactuals]
            return [encode_key(i) for i in wanted if any(store.made_from(t, i) != getattr(prints, t)(i) for t in tables)]

        return find

    def stale_single(*tables: str) -> Callable[[], Sequence[str] | None]:
        def find() -> Sequence[str] | None:
            prints = Fingerprints(store, settings)
            return [] if all(prints.is_current(table) for table in tables) else None

        return find

    def stale_keys(table: str, keys: Sequence[str], separator: str = "/") -> Callable[[], Sequence[str]]:
        def find() -> Sequence[str]:
            prints = Fingerprints(store, settings)
            return [key for key in keys if not prints.is_current(table, key.replace("|", separator))]

        return find

    def stale_sources() -> Sequence[str] | None:
        return [] if Fingerprints(store, settings).sources_are_current() else None

    def stale_benchmarks() -> Sequence[str] | None:
        prints = Fingerprints(store, settings)
        chosen = [parse_protocol(protocol) for protocol in settings.benchmarks.protocols]
        return [] if all(prints.is_current(DATA_TABLES[one.family][0], one.benchmark) for one in chosen) else None

    runs = [f"{experiment}|{protocol}" for experiment, protocol in settings.benchmark_runs()]
    return [
        Stretch("Sample kitchen and imports", f"{jobs.SOURCES}_job", ("sample_kitchen",), stale_sources),
        Stretch(
            "Recordings and steps",
            f"{jobs.RECORDINGS}_job",
            ("video_probe", "recordings", "instructions", "steps"),
            stale(("video_probe", "recordings", "instructions", "steps")),
        ),
        Stretch("Narrations", f"{jobs.NARRATIONS}_job", ("narrations",), stale(("narrations",), True)),
        Stretch(
            "Counterfactuals",
            f"{jobs.COUNTERFACTUALS}_job",
            ("attributes", "counterfactuals", "feedback_timestamps", "validity_check"),
            stale(("attributes", "counterfactuals", "feedback_timestamps", "validity_check"), True),
        ),
        Stretch("Benchmark data", f"{jobs.BENCHMARKS}_job", (), stale_benchmarks),
        Stretch("EGO-CoMist", f"{jobs.COMIST}_job", ("embeddings",), stale_single(*COMIST_TABLES)),
        Stretch("Training mix", f"{jobs.TRAINING_MIX}_job", (), stale_keys("training_mix", sorted(settings.mixes))),
        Stretch(
            "Tuning", f"{jobs.CHECKPOINT}_job", ("video_features", "checkpoint"), stale_keys("tuning_log", sorted(settings.experiments))
        ),
        Stretch("Predictions", f"{jobs.PREDICTIONS}_job", ("predictions",), stale_keys("predictions", runs)),
        Stretch("Scores", f"{jobs.SCORES}_job", ("scores",), stale_keys("scores", runs)),
        Stretch("Leaderboard", f"{jobs.LEADERBOARD}_job", (), stale_single("leaderboard")),
    ]


def _show_counts(console: Console, store: TableStore) -> None:
    shown = RichTable(title="What every stage made", title_justify="left")
    shown.add_column("stage")
    shown.add_column("rows", justify="right")
    shown.add_column("not ok, by status")
    for table, title in COUNTED:
        scan = store.scan(table)
        rows = scan.select(pl.len()).collect().item()
        statuses = ""
        if "status" in scan.collect_schema().names():
            counts = scan.filter(pl.col("status") != "ok").group_by("status").len().sort("len", descending=True).collect()
            statuses = ", ".join(f"{status} {count}" for status, count in counts.iter_rows())
        shown.add_row(title, f"{rows:,}", statuses)
    console.print(shown)
