"""`interject review`: the page on which people judge pairs. The page itself is ``ml.validity.page``."""

from typing import Annotated

import typer

from ml.errors import InputError


def review(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page.")] = 8642,
    host: Annotated[str, typer.Option(help="Address to listen on; others than this machine need 0.0.0.0.")] = "127.0.0.1",
    open_browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
) -> None:
    """Open the page on which people judge a sample of pairs: clip, instructions, feedback, time line. Ctrl-C stops it, nothing is lost."""
    import contextlib
    import threading
    import webbrowser

    import uvicorn
    from rich.console import Console
    from rich.markup import escape

    from dagster_project.listening import listen
    from ml.settings import load_settings
    from ml.tables.store import TableStore
    from ml.validity.answers import AnswerLog
    from ml.validity.page.app import ReviewPage
    from ml.validity.page.shown import ClipStore, shown_pairs

    settings = load_settings()
    store = TableStore(settings.data / "tables")
    sample = store.read("validity_sample")
    if not sample.height:
        raise InputError(
            "there is no pair to review yet", file=store.path("validity_sample"), remedy="Materialize validity_sample (comist_job) first"
        )
    ids = sample["recording_id"].unique().to_list()
    pairs = shown_pairs(sample, store.scan("narrations", ids).collect())
    log = AnswerLog(settings.review_log)
    page = ReviewPage(pairs, log, ClipStore(settings.data / "review" / "clips"), sample, store.scan("validity_check", ids).collect())
    is_local = host in ("127.0.0.1", "localhost", "::1")
    app = page.app(("127.0.0.1", "localhost", "[::1]") if is_local else ("*",))
    taken = listen(host, port)
    address = f"http://{'localhost' if is_local else host}:{taken.getsockname()[1]}"
    console = Console()
    console.print(f"{len(pairs)} pairs to review: [bold]{address}[/]   Ctrl-C stops it; answers are in {escape(str(log.path))}")
    if open_browser:
        threading.Timer(1.0, webbrowser.open, (address,)).start()
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[taken])
    console.print("Materialize [bold]validity_answers[/] and [bold]validity_review[/] (comist_job) to use the answers.")
