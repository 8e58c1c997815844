"""Two runs of one benchmark compared: of prediction files, or of experiments whose predictions are in a data folder's tables."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from ml.benchmarks.compare import compare_tallies, per_cluster
from ml.benchmarks.data import BenchmarkData, benchmark_from_store
from ml.benchmarks.families import PREDICTION_TABLES, parse_protocol
from ml.benchmarks.leaderboard import RANKED_BY, TITLES
from ml.benchmarks.options import options_hash
from ml.benchmarks.readers import read_predictions
from ml.benchmarks.report import figure, write_whole
from ml.benchmarks.running import check_run
from ml.benchmarks.scoring import Options, Run, Tools, default_options, instants_of_file
from ml.errors import InputError
from ml.tables.store import TableStore

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class Comparison:
    """``table`` has one row per measure, ``recordings`` both values of the ranking measure per recording, the largest difference first."""

    a: str
    b: str
    protocol: str
    metric: str
    table: pl.DataFrame
    recordings: pl.DataFrame
    options_hash: str

    def as_json(self) -> str:
        document = {
            "a": self.a,
            "b": self.b,
            "protocol": self.protocol,
            "options_hash": self.options_hash,
            "metrics": self.table.to_dicts(),
            "recordings": {"metric": self.metric, "values": self.recordings.to_dicts()},
        }
        return json.dumps(document, indent=2, ensure_ascii=False) + "\n"

    def write(self, path: str | Path) -> Path:
        """The comparison as a JSON file, whole or not at all."""
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        write_whole(target, self.as_json())
        return target

    def terminal_tables(self, recordings: int = 8) -> list["Table"]:
        """Rich tables: the measures, and the recordings on which the runs differ most."""
        from rich.markup import escape

        a, b = escape(self.a), escape(self.b)
        whole = _plain_table(f"A: {a}   B: {b}   on {escape(self.protocol)}")
        whole.add_column("metric", no_wrap=True)
        for name in ("A", "B", "A - B", "95 % interval", "won", "lost", "tied"):
            whole.add_column(name, justify="right", no_wrap=True)
        for row in self.table.iter_rows(named=True):
            metric = row["metric"]
            span = "" if row["low"] is None else f"{_signed(row['low'], metric)} … {_signed(row['high'], metric)}"
            is_clear = row["low"] is not None and (row["low"] > 0 or row["high"] < 0)
            difference = f"[bold]{_signed(row['difference'], metric)}[/]" if is_clear else _signed(row["difference"], metric)
            counts = (str(row[name]) for name in ("wins", "losses", "ties"))
            base = metric.removesuffix("_pooled")
            title = TITLES.get(base, base.replace("_", " ")) + (" pooled" if base != metric else "")
            whole.add_row(title, figure(row["a"], metric), figure(row["b"], metric), difference, span, *counts)
        apart = _plain_table(f"Largest differences of {TITLES[self.metric]}")
        apart.add_column("recording", overflow="fold")
        for name in ("A", "B", "A - B"):
            apart.add_column(name, justify="right", no_wrap=True)
        for row in self.recordings.head(recordings).iter_rows(named=True):
            values = (figure(row[name], self.metric) for name in ("a", "b"))
            apart.add_row(escape(row["cluster"]), *values, _signed(row["difference"], self.metric))
        return [whole, apart]


def _plain_table(title: str) -> "Table":
    from rich.table import Table

    return Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0), pad_edge=False)


def _signed(value: float | None, metric: str) -> str:
    if value is None:
        return "–"
    text = figure(value, metric)
    if not text.strip("-0.%"):
        return text.removeprefix("-")
    return f"+{text}" if value > 0 else text


def compare_files(
    a: Path, b: Path, data: BenchmarkData, options: Options, tools: Tools, *, protocol: str | None = None, absent_is_silence: bool = False
) -> Comparison:
    """Two prediction files on one benchmark. Raises ``InputError`` with file, record and field."""
    files = [read_predictions(path, data, protocol=protocol, absent_is_silence=absent_is_silence) for path in (a, b)]
    runs = []
    for path, file in zip((a, b), files, strict=True):
        check_run(file.table, path)
        runs.append(Run(data, file.table, options, tools, instants_of_file(data.family, absent_is_silence)))
    names = [run.experiment for run in runs]
    return _compare(runs[0], runs[1], (str(a), str(b)) if names[0] == names[1] else (names[0], names[1]))


def compare_stored(
    store: TableStore, a: str, b: str, protocol: str | None, tools: Tools, profile: str | None = None, settings: tuple[str, ...] = ()
) -> Comparison:
    """Two experiments under a protocol that both were run under; it need not be named where there is one only."""
    chosen = parse_protocol(protocol or shared_protocol(store, a, b))
    options = default_options(chosen.family, profile, settings)
    data = benchmark_from_store(store, chosen.benchmark, chosen.family)
    runs = []
    for experiment in (a, b):
        predictions = store.read(chosen.table, f"{experiment}/{chosen.name}")
        if not predictions.height:
            raise InputError(f"there are no predictions of {experiment!r}", record=chosen.name, remedy=_there_is(store, chosen.table))
        check_run(predictions)
        runs.append(Run(data, predictions, options, tools))
    return _compare(runs[0], runs[1], (a, b))


def shared_protocol(store: TableStore, a: str, b: str) -> str:
    """The one protocol that both experiments were run under. Raises ``InputError`` where there is none or several."""
    found = [_protocols(store, name) for name in (a, b)]
    for name, own in zip((a, b), found, strict=True):
        if not own:
            every = sorted({p.split("/", 1)[0] for table in PREDICTION_TABLES.values() for p in store.partitions(table)})
            raise InputError(
                f"{name!r} is neither a predictions file nor an experiment in the tables",
                field="A, B",
                remedy=f"Experiments: {', '.join(every) or 'none'}",
            )
    shared = sorted(found[0] & found[1])
    if len(shared) != 1:
        raise InputError(
            f"{len(shared)} protocols have predictions of both {a} and {b}",
            field="protocol",
            remedy=f"Name one with --protocol: {', '.join(shared)}" if shared else "Run both under one protocol first",
        )
    return shared[0]


def _protocols(store: TableStore, experiment: str) -> set[str]:
    partitions = (p for table in PREDICTION_TABLES.values() for p in store.partitions(table))
    return {p.split("/", 1)[1] for p in partitions if p.split("/", 1)[0] == experiment}


def _there_is(store: TableStore, table: str) -> str:
    return f"There are: {', '.join(store.partitions(table)) or 'none'}"


def _compare(run_a: Run, run_b: Run, names: tuple[str, str]) -> Comparison:
    a, b = run_a.tally(), run_b.tally()
    metric = RANKED_BY[run_a.data.family]
    if metric not in {measure.name for measure in a.compared}:  # Cook-MRE without a judge
        metric = a.compared[0].name
    table = compare_tallies(a, b, run_a.options.bootstrap)
    return Comparison(
        *names, run_a.protocol, metric, table, per_cluster(a, b, metric), options_hash(run_a.options, *run_a.made_with.values())
    )
