"""Scores as an HTML page, JSON and a terminal table. Takes finished tables and charts; scores and charts are made elsewhere."""

import json
import os
import re
import uuid
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from ml.benchmarks.families import Family, parse_protocol
from ml.benchmarks.leaderboard import METRICS, RANKED_BY, TITLES
from ml.benchmarks.tally import ALL

if TYPE_CHECKING:
    from rich.table import Table

_FIELDS = ("metric", "group", "value", "low", "high", "n", "n_missing", "n_unparsable", "n_judge_failed", "options_hash")
_PERCENT = ("ic_acc", "score", "score_m", "cs", "nr", "fa", "pc")  # 0..100
_COUNTS = ("mistake_tp", "mistake_fp", "mistake_fn", "quiet_units", "instants", "judge_failed")
_VARIANT = re.compile(r"_per_recording|_pooled|_\d+(?:\.\d+)?s$")  # other average, narrow window


@dataclass(frozen=True)
class Chart:
    """A picture with what it shows: PNG bytes, or inline SVG."""

    caption: str
    png: bytes | None = None
    svg: str | None = None


@dataclass(frozen=True)
class SampleTable:
    """A table of single items to read."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class ReportPage:
    """All that a page shows beside its scores. ``options`` are the scorer's, in words; ``notes`` are what a reader must know."""

    title: str
    scores: pl.DataFrame
    options: Mapping[str, object] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    charts: tuple[Chart, ...] = ()
    timelines: tuple[Chart, ...] = ()
    samples: tuple[SampleTable, ...] = ()


def figure(value: float | None, metric: str = "") -> str:
    """A number as the reports show it: counts whole, percentages and what is 10 or more with one decimal, else three; no data: a dash."""
    if value is None:
        return "–"
    kind = _VARIANT.sub("", metric)
    if kind in _COUNTS:
        return f"{value:.0f}"
    return f"{value:.1f}" if kind in _PERCENT or abs(value) >= 10 else f"{value:.3f}"


def span(row: Mapping[str, Any]) -> str:
    """The interval of a ``scores`` row in words; nothing where there is none or it has no width."""
    if row["low"] is None or row["high"] is None or row["low"] == row["high"]:
        return ""
    return f"{figure(row['low'], row['metric'])} … {figure(row['high'], row['metric'])}"


def html(page: ReportPage) -> str:
    """One page that holds everything, pictures too. Texts are escaped."""
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"figure": figure, "span": span}
    environment.filters["data"] = lambda png: b64encode(png).decode()
    environment.filters["markup"] = Markup
    source = files("ml.benchmarks.templates").joinpath("report.html.j2").read_text(encoding="utf-8")
    return environment.from_string(source).render(
        page=page,
        options_hash=page.scores["options_hash"][0],
        protocols=[_protocol(part) for part in page.scores.partition_by("protocol", maintain_order=True)],
    )


def _protocol(scores: pl.DataFrame) -> dict[str, Any]:
    """What the page shows of one protocol: headline cards of the first run, all runs side by side, every row of every run."""
    protocol = str(scores["protocol"][0])
    family = parse_protocol(protocol).family
    runs = run_rows(scores)
    whole = {run["experiment"]: {row["metric"]: row for row in run["rows"] if row["group"] == ALL} for run in runs}
    names = [name for name in METRICS[family] if any(name in rows for rows in whole.values())]
    first = whole[runs[0]["experiment"]]
    cards = [
        {**first[name], "title": TITLES[name], "is_main": name == RANKED_BY[family], "share": _share(name, first[name]["value"])}
        for name in names
        if name in first
    ]
    side = [{"experiment": experiment, "values": [rows.get(name) for name in names]} for experiment, rows in whole.items()]
    return {
        "name": protocol,
        "runs": runs,
        "cards": cards,
        "names": [TITLES[name] for name in names],
        "side": side,
        "rest": [{**run, "groups": _by_group(run["rows"])} for run in runs],
    }


def _share(metric: str, value: float | None) -> float:
    """How far a card's bar reaches, percent."""
    return 0.0 if value is None else max(0.0, min(100.0, value if _VARIANT.sub("", metric) in _PERCENT else 100.0 * value))


def _by_group(rows: Sequence[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["group"], []).append(row)
    return list(groups.items())


def as_json(page: ReportPage) -> str:
    """Runs with all their rows, options, notes: what the page shows, to be read by programs."""
    document = {"title": page.title, "options": page.options, "notes": list(page.notes), "runs": run_rows(page.scores)}
    return json.dumps(document, indent=2, ensure_ascii=False, default=str) + "\n"


def write_report(folder: Path, page: ReportPage, name: str = "report") -> tuple[Path, Path]:
    """``<name>.json`` and ``<name>.html``. Both are made before either is written, and put in place by a rename."""
    folder.mkdir(parents=True, exist_ok=True)
    made = {folder / f"{name}.json": as_json(page), folder / f"{name}.html": html(page)}
    for path, text in made.items():
        write_whole(path, text)
    first, second = made
    return first, second


def write_whole(path: Path, text: str) -> None:
    """Write a file by a temporary name and a rename, so that a reader never finds half of it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{uuid.uuid4().hex[:8]}.tmp")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def terminal_table(scores: pl.DataFrame) -> "Table":
    """A rich table of one protocol for 80 columns: headline metrics in rows, the first run with interval and counts, then the others."""
    from rich.markup import escape
    from rich.table import Table

    family = parse_protocol(str(scores["protocol"][0])).family
    runs = run_rows(scores.filter(pl.col("group") == ALL))
    present = [name for name in METRICS[family] if any(row["metric"] == name for run in runs for row in run["rows"])]
    others = [str(run["experiment"]).removeprefix("floor_").replace("_", " ") for run in runs[1:]]
    floors = [name for name, run in zip(others, runs[1:], strict=True) if str(run["experiment"]).startswith("floor_")]
    table = Table(
        title=escape(f"{runs[0]['experiment']} on {scores['protocol'][0]}"),
        title_justify="left",
        caption=f"{', '.join(floors)}: floors, which see nothing" if floors else None,
        caption_justify="left",
        box=None,
        padding=(0, 2, 0, 0),
        pad_edge=False,
    )
    table.add_column("metric", no_wrap=True)
    table.add_column("value", justify="right", style="bold", no_wrap=True)
    for name in ("95 % interval", "n"):
        table.add_column(name, justify="right", no_wrap=True)
    for name in others:
        table.add_column(escape(name), justify="right", style="dim")
    rows = [{row["metric"]: row for row in run["rows"]} for run in runs]
    for name in present:
        own = rows[0].get(name)
        title = f"[bold]{TITLES[name]}[/]" if name == RANKED_BY[family] else TITLES[name]
        beside = [figure(other[name]["value"], name) if name in other else "" for other in rows[1:]]
        table.add_row(title, figure(own["value"] if own else None, name), span(own) if own else "", str(own["n"]) if own else "", *beside)
    return table


def failure_line(scores: pl.DataFrame, family: Family) -> str:
    """Items without answer, unreadable answers and failed judgements of the first run, in words."""
    first = scores.filter((pl.col("experiment") == scores["experiment"][0]) & (pl.col("group") == ALL))
    counts = first.select(pl.col("n_missing").max(), pl.col("n_unparsable").max(), pl.col("n_judge_failed").max()).row(0)
    unit = {Family.EGO: "steps", Family.GUIDEME: "instants", Family.COOK_MRE: "samples"}[family]
    return f"{unit} without an answer: {counts[0]}, with an unreadable one: {counts[1]}; judgements that failed: {counts[2]}"


def run_rows(scores: pl.DataFrame) -> list[dict[str, Any]]:
    """A list of runs, each with its metrics."""
    runs = []
    for (experiment, protocol), part in scores.partition_by("experiment", "protocol", as_dict=True, maintain_order=True).items():
        runs.append({"experiment": experiment, "protocol": protocol, "rows": part.select(_FIELDS).to_dicts()})
    return runs
