"""`interject score`, `compare`, `score-options` and `leaderboard`: predictions made anywhere, and what is known of them."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dagster_project.commands.outputs import writable_file, writable_folder
from dagster_project.started_in import given
from ml.errors import InputError

if TYPE_CHECKING:
    from ml.benchmarks.families import Family
    from ml.benchmarks.scoring import Tools
    from ml.settings import Settings

Setting = Annotated[
    list[str] | None,
    typer.Option("--option", "-o", help="A scorer option as name=value, e.g. matching=closest_first; see `interject score-options`."),
]
Profile = Annotated[str | None, typer.Option(help="GuideMe: official, development or paper_literal.")]
Judge = Annotated[str, typer.Option(help="settings (the section benchmarks.judge), none, rules, anthropic or openai.")]
JudgeModel = Annotated[str | None, typer.Option(help="Model of the judge.")]
JudgeUrl = Annotated[str | None, typer.Option(help="Base URL of an OpenAI-compatible server.")]
Embedder = Annotated[str | None, typer.Option(help="GuideMe: sentence-transformers folder or name; default that of the settings.")]
Protocol = Annotated[str | None, typer.Option(help="per_step, full_recipe, dense, anchor, default or hint; default the file's own.")]
AbsentIsSilence = Annotated[bool, typer.Option("--absent-is-silence", help="GuideMe: the file lists utterances only.")]


def score(
    predictions: Annotated[Path, typer.Argument(help="Parquet, JSONL, JSON or CSV: canonical, QICD's or GuideMe's merged JSON.")],
    benchmark: Annotated[str, typer.Argument(help="A file or folder in a published format, or a benchmark's name in the tables.")],
    out: Annotated[Path | None, typer.Option(help="Folder for report.json and report.html; default <predictions>_scores.")] = None,
    experiment: Annotated[str | None, typer.Option(help="Name of the run; default the file's own.")] = None,
    protocol: Protocol = None,
    option: Setting = None,
    profile: Profile = None,
    judge: Judge = "settings",
    judge_model: JudgeModel = None,
    judge_url: JudgeUrl = None,
    embedder: Embedder = None,
    bertscore: Annotated[
        str | None, typer.Option(help="EGO: model folder of BERTScore, e.g. roberta-large; default the settings'.")
    ] = None,
    bertscore_layers: Annotated[int | None, typer.Option(help="Layer; default bert-score's own, else the last.")] = None,
    bertscore_raw: Annotated[bool, typer.Option("--bertscore-raw", help="Do not rescale with the baseline.")] = False,
    floors: Annotated[
        bool, typer.Option("--floors/--no-floors", help="Assistants that see nothing, beside the run; a judge judges GuideMe's too.")
    ] = True,
    timelines: Annotated[int, typer.Option(min=0, help="Recordings whose timeline the report shows.")] = 8,
    absent_is_silence: AbsentIsSilence = False,
) -> None:
    """Score a predictions file on a benchmark: a table here, JSON and an HTML page in a folder."""
    from rich.console import Console

    from ml.benchmarks.data import find_benchmark
    from ml.benchmarks.floor_scores import training_median_step_s
    from ml.benchmarks.scoring import score_files
    from ml.settings import load_settings
    from ml.tables.store import TableStore

    console, settings = Console(), load_settings()
    store = TableStore(settings.data / "tables")
    folder = writable_folder(given(out) if out is not None else given(f"{predictions.stem}_scores"), "--out")
    _quiet_models()
    with console.status("reading") as status:
        named = _named(benchmark)
        data = find_benchmark(named, store)
        tools = _tools(settings, data.family, judge, judge_model, judge_url, embedder, (bertscore, bertscore_layers, bertscore_raw))
        result = score_files(
            given(predictions),
            data,
            experiment=experiment,
            protocol=protocol,
            settings=option or (),
            profile=profile,
            tools=tools,
            floors=floors,
            median_step_s=None if isinstance(named, Path) else training_median_step_s(store),
            timelines=timelines,
            absent_is_silence=absent_is_silence,
            progress=status.update,
        )
        status.update("report")
        written = result.write(folder)
    console.print(result.table(), "")
    for note in result.notes:
        console.print(note, style="dim", markup=False, highlight=False)
    _show_spend(console, tools)
    for path in written:
        console.print(str(path), markup=False, highlight=False, soft_wrap=True)


def compare(
    a: Annotated[str, typer.Argument(help="Predictions file, or an experiment in the tables.")],
    b: Annotated[str, typer.Argument(help="The other one.")],
    benchmark: Annotated[str | None, typer.Option(help="For files: the benchmark, as in `interject score`.")] = None,
    protocol: Protocol = None,
    out: Annotated[Path | None, typer.Option(help="JSON file; default compare_A_B.json.")] = None,
    option: Setting = None,
    profile: Profile = None,
    judge: Judge = "settings",
    judge_model: JudgeModel = None,
    judge_url: JudgeUrl = None,
    embedder: Embedder = None,
    absent_is_silence: AbsentIsSilence = False,
) -> None:
    """Compare two runs on one benchmark: paired bootstrap of each difference, recordings won and lost."""
    from rich.console import Console

    from ml.benchmarks.comparison import compare_files, compare_stored, shared_protocol
    from ml.benchmarks.data import find_benchmark
    from ml.benchmarks.families import parse_protocol
    from ml.benchmarks.scoring import default_options
    from ml.settings import load_settings
    from ml.tables.store import TableStore

    console, settings = Console(), load_settings()
    store = TableStore(settings.data / "tables")
    _quiet_models()
    target = writable_file(given(out) if out is not None else given(f"compare_{Path(a).stem}_{Path(b).stem}.json"), "--out")
    are_files = [_is_file(name) for name in (a, b)]
    if any(are_files) and not all(are_files):
        raise InputError("one of the two is a file, the other is not", field="A, B", remedy="Give two files, or two experiments")
    if all(are_files) and benchmark is None:
        raise InputError("files say nothing of their benchmark", field="benchmark", remedy="Name it with --benchmark")
    with console.status("comparing"):
        if benchmark is not None and all(are_files):
            data = find_benchmark(_named(benchmark), store)
            tools = _tools(settings, data.family, judge, judge_model, judge_url, embedder)
            options = default_options(data.family, profile, option or ())
            found = compare_files(given(a), given(b), data, options, tools, protocol=protocol, absent_is_silence=absent_is_silence)
        else:
            name = protocol or shared_protocol(store, a, b)
            tools = _tools(settings, parse_protocol(name).family, judge, judge_model, judge_url, embedder)
            found = compare_stored(store, a, b, name, tools, profile, tuple(option or ()))
        written = found.write(target)
    for table in found.terminal_tables():
        console.print(table, "")
    console.print(
        f"Difference: {found.a} - {found.b}. Bold: the interval leaves out 0. Scorer options {found.options_hash}.",
        style="dim",
        markup=False,
    )
    _show_spend(console, tools)
    console.print(str(written), markup=False, highlight=False, soft_wrap=True)


def leaderboard(
    published: Annotated[bool, typer.Option("--published", help="The papers' rows, which were not rerun here.")] = False,
    protocol: Annotated[str | None, typer.Option(help="One protocol only, e.g. guideme.anchor.")] = None,
) -> None:
    """Show the leaderboard: what was run in this data folder, or what the three papers published."""
    from rich.console import Console

    from dagster_project.leaderboard_tables import show_leaderboard
    from ml.benchmarks import leaderboard as boards
    from ml.settings import load_settings
    from ml.tables.store import TableStore

    store = TableStore(load_settings().data / "tables")
    board = boards.leaderboard(store.scan("scores").collect())
    origin = boards.PUBLISHED if published else boards.HERE
    known = board.filter(board["origin"] == origin)["protocol"].unique().sort().to_list()
    if not known:
        raise InputError("nothing was scored in this data folder yet", file=store.root, remedy="Run `make demo`, or see --published")
    if protocol is not None and protocol not in known:
        raise InputError(f"no rows of {protocol!r}", field="protocol", remedy=f"Protocols: {', '.join(known)}")
    show_leaderboard(Console(), board, published=published, protocol=protocol)


def score_options(
    family: Annotated[str, typer.Argument(help="ego, guideme or cook_mre.")],
    profile: Profile = None,
) -> None:
    """List a family's scorer options with their values and what each takes."""
    from rich.console import Console
    from rich.table import Table

    from ml.benchmarks.families import Family
    from ml.benchmarks.options import allowed_values, flat, options_hash
    from ml.benchmarks.scoring import default_options

    if family not in set(Family):
        raise InputError(f"no family {family!r}", field="FAMILY", remedy=f"Families: {', '.join(Family)}")
    options = default_options(Family(family), profile)
    table = Table(title=f"{family}, options {options_hash(options)}", title_justify="left", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    for name in ("option", "value", "takes"):
        table.add_column(name)
    for name, value in flat(options).items():
        shown = ", ".join(map(str, value)) if isinstance(value, tuple) else "none" if value is None else str(value)
        table.add_row(name, shown, allowed_values(options, name))
    Console().print(table)


def _named(benchmark: str) -> str | Path:
    """A benchmark that a user typed: a path where there is one, else a name."""
    path = given(benchmark)
    try:
        return path if benchmark and path.exists() else benchmark  # an empty path would be the folder that the command was started in
    except OSError:  # a name that no file can have
        return benchmark


def _is_file(named: str) -> bool:
    try:
        return given(named).is_file()
    except OSError:
        return False


def _tools(
    settings: "Settings",
    family: "Family",
    judge: str,
    judge_model: str | None,
    judge_url: str | None,
    embedder: str | None,
    bertscore: tuple[str | None, int | None, bool] = (None, None, False),
) -> "Tools":
    """Encoder, judge and BERTScore for a family. Raises ``InputError`` for a judge that cannot be used."""
    from ml.benchmarks.families import Family
    from ml.benchmarks.rule_judges import JUDGE_RULES
    from ml.benchmarks.scoring import Tools
    from ml.benchmarks.similarity import BertScore, BertScoreOptions
    from ml.embeddings.encoder import TextEncoder
    from ml.setting_sections.models import LLMBackend, given_llm
    from resources.llm import open_client, reply_cache
    from resources.scoring import bertscore_of

    encoder = TextEncoder(embedder if embedder is not None else settings.embeddings.model)
    model, layers, is_raw = bertscore
    local = None if model is None else str(given(model)) if given(model).is_dir() else model
    chosen_measure = bertscore_of(settings.benchmarks.bertscore)
    measure = chosen_measure if local is None else BertScore(BertScoreOptions(local, layers, rescale=not is_raw))
    if judge not in ("settings", "none", *LLMBackend):
        raise InputError(f"no judge {judge!r}", field="judge", remedy=f"Use settings, none, {', '.join(LLMBackend)}")
    if family is Family.EGO or judge == "none":
        return Tools(encoder, None, measure)
    given_values = {"backend": None if judge == "settings" else judge, "model": judge_model, "base_url": judge_url}
    values = settings.benchmarks.judge.model_dump() | {name: value for name, value in given_values.items() if value is not None}
    chosen = given_llm(values, field="judge", remedy="Use --judge-model and --judge-url")
    return Tools(encoder, open_client(chosen, reply_cache(settings.data), settings, JUDGE_RULES), measure)


def _quiet_models() -> None:
    """Loading bars of model libraries would tear the display."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("TQDM_DISABLE", "1")


def _show_spend(console: object, tools: "Tools") -> None:
    from rich.console import Console

    if tools.judge is None or not isinstance(console, Console):
        return
    usage = tools.judge.usage
    if usage.calls:
        money = f", {usage.money_usd:.4f} USD" if usage.money_usd else ""
        tokens = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        console.print(
            f"judge {tools.judge.model}: {usage.calls} calls, {tokens} tokens in, {usage.output_tokens} out{money}",
            style="dim",
            markup=False,
        )
