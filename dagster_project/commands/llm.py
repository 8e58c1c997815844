"""`interject estimate`, `prompt` and `retry-failed`: model calls before, under and after a run. What they show is made elsewhere."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ml.setting_sections.models import LLM, LLMBackend, given_llm
from ml.settings import Settings

if TYPE_CHECKING:
    from rich.table import Table

    from dagster_project.estimates import StageEstimate

Stage = Annotated[str, typer.Argument(help="LLM stage, e.g. attributes; `interject estimate all` lists every one.")]
Recordings = Annotated[str | None, typer.Option(help="Shell pattern of recording ids, e.g. 'captaincook4d/*'.")]


def estimate(
    stage: Stage = "all",
    recordings: Recordings = None,
    backend: Annotated[LLMBackend | None, typer.Option(help="As if the stages used this backend; with --model.")] = None,
    model: Annotated[str | None, typer.Option(help="As if the stages used this model.")] = None,
    batch: Annotated[bool | None, typer.Option("--batch/--no-batch", help="As if through the provider's batch interface, or not.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what a run would ask and cost: calls, tokens, money, time by stage. Sends nothing; the asset keeps it as an observation."""
    from dataclasses import asdict

    from rich.console import Console

    from dagster_project.estimates import NARRATIONS, DryRuns, estimate_narrations, recordings_by_stage, stage_names
    from ml.llm_stages import llm_stage
    from ml.settings import load_settings
    from ml.tables.store import TableStore

    settings = load_settings()
    store = TableStore(settings.data / "tables")
    names = stage_names(stage)
    given = {"backend": backend, "model": model, "batch": batch}
    wanted = {key: value for key, value in given.items() if value is not None}
    chosen = {name: _changed(llm_stage(name).settings(settings), wanted) for name in names if name != NARRATIONS}
    ids = recordings_by_stage(store, settings, recordings, names)
    runs = DryRuns(store, settings, ids, chosen)
    found = [estimate_narrations(store, settings, ids[name]) if name == NARRATIONS else runs.estimate(name) for name in names]
    if not wanted:
        _observe(settings, found)
    if as_json:
        print(json.dumps([{**asdict(one)} for one in found], indent=2))
        return
    console = Console()
    console.print(_estimate_table(found))
    for line in _waiting_lines(found):
        console.print(line)
    console.print(
        f"Models: {_models_line(found)}\nPaid: replies that are stored or in a batch. USD: by the length of like replies.", style="dim"
    )


def prompt(
    stage: Stage,
    step: Annotated[str | None, typer.Option(help="step_uid of a step, as in the table `steps`; without it, of a whole recording.")] = None,
    recording: Annotated[str | None, typer.Option(help="recording_id; needed where several recordings have such a step.")] = None,
    kind: Annotated[str | None, typer.Option("--type", help="Only questions of this mistake type.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print what an LLM stage asks about a step or a recording: system text, prompt, schema. Sends nothing."""
    from dagster_project.prompts import as_text, rendered
    from ml.settings import load_settings

    questions = rendered(load_settings(), stage, step, recording, kind)
    print(json.dumps([question.as_dict() for question in questions], indent=2, ensure_ascii=False) if as_json else as_text(questions))


def retry_failed(stage: Stage, recordings: Recordings = None) -> None:
    """Ask again for the failed rows of a stage (truncated, refused, empty, unparsable, error), and run what depends on them."""
    from rich.console import Console
    from rich.markup import escape

    from assets.llm_stages import failed_recordings
    from dagster_project.estimates import chosen_recordings
    from dagster_project.instance import prepare_instance
    from dagster_project.jobs import LLM_JOBS
    from dagster_project.runs import end_dead_runs, quiet_dagster, run_job
    from ml.llm_stages import llm_stage
    from ml.settings import load_settings
    from ml.tables.store import TableStore, encode_key
    from resources.partitions import recording_ranges

    name, settings, console = llm_stage(stage).name, load_settings(), Console()
    store = TableStore(settings.data / "tables")
    failed = failed_recordings(store, name, chosen_recordings(store, settings, recordings or "*"))
    if not failed:
        console.print(f"No row of {name} failed.")
        return
    console.print(f"{len(failed)} recordings have failed rows in {name}.")
    instance = prepare_instance(settings)
    quiet_dagster(settings.data / "logs" / "retry_failed.log")
    end_dead_runs(instance)
    for tags in recording_ranges(instance, [encode_key(one) for one in sorted(failed)]):
        outcome = run_job(instance, LLM_JOBS[name], tags=tags, op_config={name: {"retry_failed": True}})
        if not outcome.success:
            console.print(f"[red]✗[/] {escape(outcome.message or '')}", highlight=False)
            raise typer.Exit(1)
    if llm_stage(name).settings(settings).batch:
        console.print("[green]✓[/] sent again in a batch; the sensor llm_batches requests the run that writes its replies.")
        return
    left = failed_recordings(store, name, sorted(failed))
    console.print(f"[green]✓[/] asked again; {len(left)} recordings still have failed rows.")


def _changed(chosen: LLM, wanted: dict[str, Any]) -> LLM:
    return given_llm({**chosen.model_dump(), **wanted}, field="backend", remedy="Name a model with --model") if wanted else chosen


def _observe(settings: Settings, found: "Sequence[StageEstimate]") -> None:
    """Leaves the estimate with the asset, where the UI shows it."""
    import dagster as dg

    from assets.llm_stages import estimate_metadata
    from dagster_project.instance import prepare_instance

    instance = prepare_instance(settings)
    for one in found:
        waits = {f"recordings that wait for {table}": count for table, count in one.waits.items()}
        metadata = {"recordings due": one.due, "model": one.model, **waits, **estimate_metadata(one.found)}
        instance.report_runless_asset_event(dg.AssetObservation(one.stage, metadata=metadata))


def _estimate_table(found: "Sequence[StageEstimate]") -> "Table":
    from rich.table import Table

    from ml.progress import format_seconds

    shown = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    shown.add_column("stage", no_wrap=True)
    for name in ("asks", "paid", "calls", "tokens in", "out", "USD", "at most", "time"):
        shown.add_column(name, justify="right", no_wrap=True)

    def money(value: float | None) -> str:
        return "?" if value is None else f"{value:,.2f}"

    for one in found:
        e = one.found
        takes = "0 s" if not e.calls else "a day" if one.is_batch else format_seconds(e.seconds)
        more = "+" if one.waits else ""
        counts = [f"{n:,}{more}" for n in (one.questions, e.cached + e.in_batch, e.calls, e.input_tokens, e.output_tokens)]
        shown.add_row(one.stage, *counts, money(e.money_usd), money(e.money_worst_usd), takes)
    if len(found) > 1:
        sums = [sum(getattr(one.found, name) for one in found) for name in ("calls", "input_tokens", "output_tokens")]
        spend = [
            None if any(getattr(one.found, name) is None for one in found) else sum(getattr(one.found, name) for one in found)
            for name in ("money_usd", "money_worst_usd")
        ]
        shown.add_row("all", "", "", *(f"{n:,}" for n in sums), *(money(value) for value in spend), "", style="bold")
    return shown


def _waiting_lines(found: "Sequence[StageEstimate]") -> list[str]:
    """Which stages will ask more than is counted, once their inputs are there."""
    by_wait: dict[str, list[str]] = {}
    for one in found:
        for table, count in one.waits.items():
            by_wait.setdefault(f"waits for {table} of {count} recordings", []).append(one.stage)
    return [f"+ {wait}: {', '.join(stages)}" for wait, stages in by_wait.items()]


def _models_line(found: "Sequence[StageEstimate]") -> str:
    """Which model answers which stages."""
    by_model: dict[str, list[str]] = {}
    for one in found:
        by_model.setdefault(f"{one.model}{', batch' if one.is_batch else ''}", []).append(one.stage)
    return "\n".join(f"{model}: {', '.join(stages)}" for model, stages in by_model.items())
