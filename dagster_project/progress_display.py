"""The progress display of the command line: a bar with the time left on a terminal, a line every 10 s in a log or a pipe."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column

from ml.progress import Snapshot

LINE_EVERY_S = 10.0


@contextmanager
def progress_display(console: Console, title: str) -> Iterator[Callable[[Snapshot], None]]:
    """Yields what shows a snapshot; the bar goes when the work ends."""
    columns = (
        TextColumn("{task.description}", table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis")),
        BarColumn(16, table_column=Column(no_wrap=True)),
        MofNCompleteColumn(table_column=Column(no_wrap=True)),
        TimeElapsedColumn(table_column=Column(no_wrap=True)),
        TextColumn("left", table_column=Column(no_wrap=True)),
        TimeRemainingColumn(table_column=Column(no_wrap=True)),
    )
    told = -LINE_EVERY_S
    with Progress(*columns, console=console, transient=True, expand=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=None)

        def show(snapshot: Snapshot) -> None:
            nonlocal told
            if console.is_terminal:
                bar.update(task, description=f"{title}: {snapshot.stage}", completed=snapshot.done, total=max(snapshot.total, 1))
            elif (now := time.monotonic()) - told >= LINE_EVERY_S:
                told = now
                console.print(f"  {title}: {snapshot.text()}", soft_wrap=True)

        yield show
