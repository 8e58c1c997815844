"""One assistant on one benchmark from the command line: what is named, its data, the run with its progress, the scores.

The run itself is the resources' (``resources.assistants``), and it leaves the same tables as the assets ``predictions`` and ``scores``.
"""

import re
import time
from dataclasses import dataclass

from rich.console import Console

from assets.fingerprints import Fingerprints
from dagster_project.progress_display import progress_display
from ml.benchmarks.families import DATA_TABLES, BenchmarkProtocol, Family, parse_protocol
from ml.errors import InputError
from ml.progress import Snapshot, format_seconds
from ml.setting_sections.benchmarks import FLOORS, UNTUNED, Assistant, AssistantBackend
from ml.setting_sections.models import given_llm
from ml.setting_sections.sources import SourceKind
from ml.settings import Settings
from ml.tables.store import TableStore
from resources.assistants import Assistants
from resources.scoring import Scorers

DEFAULT_FEEDS = {Family.EGO: "per_step", Family.GUIDEME: "anchor", Family.COOK_MRE: "default"}
_KINDS = {SourceKind.EGO_MC_BENCH: Family.EGO, SourceKind.GUIDEME: Family.GUIDEME, SourceKind.COOK_MRE: Family.COOK_MRE}
_BACKENDS = ("openai", "anthropic", "transformers")
PREPARING = ("Sample kitchen and imports", "Recordings and steps", "Benchmark data")


@dataclass(frozen=True)
class NamedAssistant:
    """An experiment of the settings, or one that the command line describes (``assistant``)."""

    experiment: str
    assistant: Assistant | None = None


def named_assistant(settings: Settings, name: str, base_url: str | None = None) -> NamedAssistant:
    """A name of the settings, or ``openai:MODEL``, ``anthropic:MODEL``, ``transformers:FOLDER``. Raises ``InputError``."""
    backend, colon, model = name.partition(":")
    if colon and backend in _BACKENDS and model:
        slug = re.sub(r"[^A-Za-z0-9_.-]+", "_", name).strip("_")
        given = {"backend": backend, "model": model, "base_url": base_url}
        if backend == "transformers":
            return NamedAssistant(slug, Assistant(backend=AssistantBackend.TRANSFORMERS, model=model))
        return NamedAssistant(slug, Assistant(llm=given_llm(given, field="ASSISTANT")))
    known = [*FLOORS, UNTUNED, *settings.experiments, *settings.assistants]
    if name not in known:
        raise InputError(
            f"no assistant {name!r}",
            field="ASSISTANT",
            remedy=f"In the settings: {', '.join(known)}. Or {', '.join(f'{one}:MODEL' for one in _BACKENDS)}",
        )
    return NamedAssistant(name)


def named_protocol(settings: Settings, store: TableStore, name: str) -> BenchmarkProtocol:
    """A protocol, or a benchmark under the default protocol of its family. Raises ``InputError`` with the benchmarks that there are."""
    if "." in name:
        return parse_protocol(name)
    families = {source: _KINDS[chosen.kind] for source, chosen in settings.all_sources().items() if chosen.kind in _KINDS}
    families |= {parse_protocol(protocol).benchmark: parse_protocol(protocol).family for protocol in settings.benchmarks.protocols}
    families |= {stored: family for family, tables in DATA_TABLES.items() for stored in store.partitions(tables[0])}
    if name not in families:
        remedy = f"Benchmarks: {', '.join(sorted(families)) or 'none'}. Declare a source of kind ego_mc_bench, guideme or cook_mre"
        raise InputError(f"no benchmark {name!r}", field="BENCHMARK", remedy=remedy)
    return parse_protocol(f"{name}.{DEFAULT_FEEDS[families[name]]}")


def run_benchmark(settings: Settings, console: Console, named: NamedAssistant, wanted: str, *, anew: bool = False) -> bool:
    """Prepare the benchmark where it is absent, run what is not there, score and show it. False where preparing failed."""
    store = TableStore(settings.data / "tables")
    protocol = named_protocol(settings, store, wanted)
    if not store.read(DATA_TABLES[protocol.family][0], protocol.benchmark).height and not _prepare(settings, console, store):
        return False
    prints, run = Fingerprints(store, settings), f"{named.experiment}/{protocol.name}"
    made_from = prints.predictions(run, named.assistant)
    if anew or store.made_from(protocol.table, run) != made_from:
        _predict(settings, console, store, named, protocol)
    else:
        console.print(f"[green]✓[/] {named.experiment} under {protocol.name}: current")
    scorers = Scorers(data=str(settings.data.absolute()))
    with console.status("Scoring"):
        scored = scorers.scored(named.experiment, protocol.name, store)
        store.write("scores", scored.own_scores, run, made_from=prints.scores(run))
    console.print(scored.table())
    for note in scored.notes:
        console.print(note, style="dim", markup=False, highlight=False)
    written = scored.write(settings.data / "reports" / named.experiment, protocol.name)
    console.print(f"Report: {' and '.join(str(path) for path in written)}", markup=False, highlight=False, soft_wrap=True)
    return True


def _predict(settings: Settings, console: Console, store: TableStore, named: NamedAssistant, protocol: BenchmarkProtocol) -> None:
    assistants = Assistants(data=str(settings.data.absolute()))
    started = time.monotonic()
    before: list[int] = []  # what an earlier run had finished is told first
    with progress_display(console, f"{named.experiment} under {protocol.name}") as show:

        def tell(done: int, total: int) -> None:
            before.append(done)
            show(Snapshot.since(started, "predictions", done, total, before=before[0]))

        usage = assistants.predict(
            named.experiment,
            protocol.name,
            store,
            tell,
            lambda: Fingerprints(store, settings).predictions(f"{named.experiment}/{protocol.name}", named.assistant),
            assistant=named.assistant,
        )
    spent = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in usage.items() if value)
    console.print(f"[green]✓[/] {named.experiment} under {protocol.name}: {format_seconds(time.monotonic() - started)}")
    if spent:
        console.print(f"  {spent}", style="dim", markup=False)
    statuses = store.read(protocol.table, f"{named.experiment}/{protocol.name}")["status"].value_counts(sort=True)
    failed = ", ".join(f"{status} {count}" for status, count in statuses.iter_rows() if status != "ok")
    if failed:
        console.print(f"  [yellow]failed rows:[/] {failed}; `--again` runs what failed once more")


def _prepare(settings: Settings, console: Console, store: TableStore) -> bool:
    """The stretches of the graph that a benchmark's tables come from."""
    from dagster_project.demo import run_stretch, stretches
    from dagster_project.instance import prepare_instance
    from dagster_project.runs import end_dead_runs, quiet_dagster

    instance = prepare_instance(settings)
    quiet_dagster(settings.data / "logs" / "run.log")
    end_dead_runs(instance)
    for stretch in stretches(settings, store, instance):
        if stretch.title in PREPARING and not run_stretch(console, settings, instance, stretch):
            return False
    return True
