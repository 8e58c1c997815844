"""The leaderboard on the terminal: a table per protocol, runs of this data folder or the papers' rows. Fits 80 columns."""

import polars as pl
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ml.benchmarks.families import parse_protocol
from ml.benchmarks.leaderboard import GROUPS, HERE, PUBLISHED, RANKED_BY, families_of, wide

# Columns of the leaderboard by family: metric, short title, digits. They fit 80 columns.
SHOWN = {
    "ego": (
        ("ic_acc_3s", "IC@3", 1),
        ("ic_acc", "IC@15", 1),
        ("mistake_f1_3s", "F1@3", 2),
        ("mistake_f1", "F1@15", 2),
        ("mistake_precision", "prec.", 2),
        ("mistake_recall", "rec.", 2),
        ("bertscore", "BERT", 2),
        ("rouge_l", "ROUGE", 2),
        ("false_success", "false", 2),
    ),
    "guideme": (
        ("soft_precision", "sP", 2),
        ("soft_recall", "sR", 2),
        ("soft_f1", "sF1", 2),
        ("cs", "CS", 1),
        ("nr", "NR", 1),
        ("fa", "FA", 1),
        ("pc", "PC", 1),
        ("score_m", "Sc_m", 1),
        ("score", "Score", 1),
    ),
    "cook_mre": (
        ("mpc_f1", "MPC F1", 3),
        ("macro_f1", "Macro F1", 3),
        ("type_acc", "TypeAcc", 3),
        ("corr_acc", "CorrAcc", 3),
        ("full_pass", "FullPass", 3),
    ),
}
COUNTED_BY = {"ego": "mistakes", "guideme": "videos", "cook_mre": "samples"}
LEGEND = """
IC: instruction completion accuracy, 0..100. F1: of mistake feedback. @3, @15: half width of the time window in seconds; the papers use 15,
in short steps 3 tells more. prec., rec.: within 15 s. ROUGE: ROUGE-L of true positives. false: success said on an unreported mistake.
sP, sR, sF1: soft precision, recall, F1, 0..1. CS, NR, FA, PC: correct silence, no response, false alarm, partly correct, percent.
Sc_m: quality of matched answers. MPC F1: of the mistake class. TypeAcc, CorrAcc, FullPass: gated accuracies, 0..1.
""".replace("\n", " ").strip()


def show_leaderboard(console: Console, board: pl.DataFrame, *, published: bool = False, protocol: str | None = None) -> None:
    """Print what was run here, or with ``published`` what papers printed and was not rerun here.

    Mistake types, categories and elements are shown for one protocol, and for papers.
    """
    origin = PUBLISHED if published else HERE
    chosen = board.filter(pl.col("origin") == origin)
    if protocol is not None:
        chosen = chosen.filter(pl.col("protocol") == protocol)
    by_group = published or protocol is not None
    for name in families_of(chosen):
        _show_table(console, chosen, name, "all", published=published)
        for group in GROUPS[parse_protocol(name).family] if by_group else ():
            if group != "all" and chosen.filter((pl.col("protocol") == name) & (pl.col("group") == group)).height:
                _show_table(console, chosen, name, group, published=published)
    console.print(LEGEND)


def _show_table(console: Console, chosen: pl.DataFrame, name: str, group: str, *, published: bool) -> None:
    family = parse_protocol(name).family
    frame = wide(chosen, name, group=group)
    cut = "" if group == "all" else f", {group}"
    paper = frame["source"][0].rsplit(", ", 1)[0]
    n = frame.select(pl.col("n").max()).item()
    count = f"published, not rerun here: {paper}" if published else f"n = {n} {COUNTED_BY[family] if group == 'all' else 'references'}"
    shown = Table(title=f"{name}{cut} ({count})", title_justify="left", box=None, padding=(0, 2, 0, 0), pad_edge=False)
    shown.add_column("experiment", no_wrap=not published)
    columns = [(metric, title, digits) for metric, title, digits in SHOWN[family] if metric in frame.columns]
    for metric, title, _ in columns:
        shown.add_column(f"[bold]{title}[/]" if metric == RANKED_BY[family] else title, justify="right", no_wrap=True)
    for row in frame.iter_rows(named=True):
        named = f"{row['experiment']}, {row['source'].rsplit(', ', 1)[-1]}" if published else row["experiment"]
        shown.add_row(escape(named), *(_number(row[metric], digits) for metric, _, digits in columns))
    console.print(shown, "")


def _number(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
