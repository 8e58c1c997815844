"""The command line, `interject`. Each command reads its arguments and calls one function; errors a user can mend are one line."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from dagster_project.commands.export import export
from dagster_project.commands.llm import estimate, prompt, retry_failed
from dagster_project.commands.review import review
from dagster_project.commands.run import run
from dagster_project.commands.score import compare, leaderboard, score, score_options
from ml.disk_errors import disk_error
from ml.errors import InputError

app = typer.Typer(
    add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False, help="Video assistants that speak up: data, tuning, scores."
)
console = Console()
PROJECT = Path(__file__).resolve().parent.parent


@app.command()
def demo() -> None:
    """Run the whole graph on the sample kitchen and show the leaderboard. Run again, it repeats nothing."""
    from dagster_project.demo import run_demo

    raise typer.Exit(0 if run_demo(console) else 1)


@app.command()
def ui(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the Dagster UI.")] = 3000,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
) -> None:
    """Open the Dagster UI with its daemon on the same data; Ctrl-C stops every process."""
    from dagster_project.instance import prepare_instance
    from dagster_project.listening import free_port
    from dagster_project.ui import serve
    from ml.settings import load_settings

    port = free_port(host, port)
    prepare_instance(load_settings())
    console.print(f"Dagster UI: [bold]http://{host}:{port}[/]   Ctrl-C stops it.")
    raise typer.Exit(serve(PROJECT / "workspace.yaml", host, port))


app.command()(export)
app.command()(review)
app.command()(score)
app.command()(compare)
app.command(name="score-options")(score_options)
app.command()(leaderboard)
app.command()(run)
app.command()(estimate)
app.command()(prompt)
app.command(name="retry-failed")(retry_failed)


@app.command()
def settings() -> None:
    """Print the settings in force as JSON."""
    from ml.settings import load_settings

    console.print_json(load_settings().model_dump_json())


def main() -> None:
    """Entry point: `InputError`, and what a full or read-only disk raises, become one line on standard error and exit status 2."""
    os.chdir(PROJECT) if (PROJECT / "workspace.yaml").exists() and not Path("workspace.yaml").exists() else None
    try:
        app()
    except InputError as error:
        print(f"interject: {error}", file=sys.stderr)
        sys.exit(2)
    except Exception as error:
        told = disk_error(error)
        if told is None:
            raise
        print(f"interject: {told}", file=sys.stderr)
        sys.exit(2)
