"""`interject run`: an assistant on a benchmark, resumable, then scored."""

import os
from typing import Annotated

import typer

AssistantName = Annotated[
    str, typer.Argument(help="Experiment, floor or assistant of the settings; or openai:MODEL, anthropic:MODEL, transformers:FOLDER.")
]
BenchmarkName = Annotated[
    str, typer.Argument(help="Benchmark, or benchmark and protocol: guideme.dense-own, cook_mre.hint, ego_mc_bench.full_recipe ...")
]


def run(
    assistant: AssistantName,
    benchmark: BenchmarkName,
    base_url: Annotated[str | None, typer.Option(help="Server for openai:MODEL or anthropic:MODEL, e.g. http://localhost:8000/v1.")] = None,
    again: Annotated[
        bool, typer.Option("--again", help="Run once more although it is there; paid replies are not asked for again.")
    ] = False,
) -> None:
    """Run an assistant on a benchmark and score it. Stopped or killed, it goes on where it was and repeats no call."""
    from rich.console import Console

    from dagster_project.benchmark_runs import named_assistant, run_benchmark
    from ml.settings import load_settings

    console, settings = Console(), load_settings()
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")  # its bars and notes would tear the progress display
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    try:
        is_done = run_benchmark(settings, console, named_assistant(settings, assistant, base_url), benchmark, anew=again)
    except KeyboardInterrupt:
        console.print("Stopped. The same command goes on from here.")
        os._exit(130)  # units that are still being asked about would be waited for otherwise
    raise typer.Exit(0 if is_done else 1)
