"""`interject export`: a mix in the layouts that other trainers read. The layouts are ``ml.mixes``."""

from pathlib import Path
from typing import Annotated

import typer

from dagster_project.commands.outputs import writable_folder
from dagster_project.started_in import given
from ml.errors import InputError


def export(
    mix: Annotated[str, typer.Argument(help="Mix of the settings.")] = "comist_plus",
    to: Annotated[Path | None, typer.Option(help="Folder; default exports/<mix> in the data folder.")] = None,
    layout: Annotated[list[str] | None, typer.Option("--format", help="Layout to write, may be repeated; default all.")] = None,
    clips: Annotated[bool, typer.Option("--clips", help="Cut each sample's clip, since trainers take whole files.")] = False,
) -> None:
    """Write a mix as JSONL, Parquet, `datasets` folder, QICD layout, and for ms-swift, LLaMA-Factory and Qwen; each is read back."""
    from rich.console import Console
    from rich.progress import track
    from rich.table import Table

    from ml.mixes.export_all import USED_BY, Layout, cut_clips, export_mix, licences_of
    from ml.settings import load_settings
    from ml.tables.store import TableStore

    settings, console = load_settings(), Console()
    if mix not in settings.mixes:
        raise InputError(f"no mix {mix!r}", field="mix", remedy=f"Mixes: {', '.join(settings.mixes)}")
    known = {str(one) for one in Layout}
    if layout and (unknown := [name for name in layout if name not in known]):
        raise InputError(f"no layout {unknown[0]!r}", field="--format", remedy=f"Layouts: {', '.join(Layout)}")
    layouts = [Layout(name) for name in layout] if layout else list(Layout)
    folder = settings.data / "exports" / mix if to is None else writable_folder(given(to), "--to")
    store = TableStore(settings.data / "tables")
    frame, recordings = store.read("training_mix", mix), store.scan("recordings").collect()
    cut: dict[str, Path] = {}
    if clips:
        for row in track(range(frame.height), "Clips", console=console, transient=True):
            cut |= cut_clips(frame[row : row + 1], folder / "clips")
    activities = dict(recordings.select("recording_id", "activity").drop_nulls().iter_rows())
    made = export_mix(frame, folder, layouts, licences=licences_of(frame, recordings), activities=activities, clips=cut or None)
    shown = Table(title=f"Mix {mix} below {folder}", title_justify="left")
    for name in ("folder", "samples", "MB", "loaded by"):
        shown.add_column(name, justify="right" if name in ("samples", "MB") else "left")
    for one in made:
        shown.add_row(one.layout, f"{one.samples:,}", f"{one.size_bytes / 1e6:.2f}", USED_BY[one.layout])
    console.print(shown)
