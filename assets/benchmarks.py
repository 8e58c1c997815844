"""Benchmarks of assistants: canonical data, predictions per experiment and protocol, scores, leaderboard."""

from collections import Counter
from functools import partial
from pathlib import Path

import dagster as dg
import polars as pl

from assets.fingerprints import CODE_VERSIONS, Fingerprints
from assets.metadata import number, png_metadata, preview_markdown
from assets.style import BENCHMARKS as GROUP
from assets.style import GPU_TAGS, OWNERS, SINGLE_TAGS
from ml.benchmarks.families import parse_protocol
from ml.setting_sections.sources import SourceKind
from ml.settings import Settings
from ml.tables.store import TableStore
from resources.assistants import Assistants
from resources.partitions import benchmark_runs
from resources.scoring import Scorers
from resources.settings import PlatformSettings
from resources.tables import Tables

HEADLINES = ("ic_acc", "ic_acc_3s", "mistake_f1", "mistake_f1_3s", "soft_f1", "score", "full_pass", "mpc_f1")
KITCHEN_STEPS = {"kitchen_steps": "evaluation", "kitchen_steps_unseen": "unseen"}


def benchmark_assets(settings: Settings) -> list[dg.AssetsDefinition]:
    """The group; the partitions come from the settings."""
    runs = benchmark_runs(settings)

    @dg.asset(
        group_name=GROUP,
        deps=["recordings", *settings.all_sources()],
        kinds={"polars", "parquet"},
        owners=OWNERS,
        tags=SINGLE_TAGS,
        code_version=CODE_VERSIONS["benchmark_steps"],
    )
    def benchmark_steps(context: dg.AssetExecutionContext, tables: Tables, settings: PlatformSettings) -> dg.MaterializeResult:
        """Every benchmark in one form: steps with their instruction, and the reference messages."""
        store, values = tables.store, settings.values
        prints = Fingerprints(store, values)
        made = _benchmarks(store, values)
        for name, (steps, messages) in made.items():
            store.write("benchmark_messages", messages, name, made_from=prints.benchmark_steps(name))
            store.write("benchmark_steps", steps, name, made_from=prints.benchmark_steps(name))
        everything = pl.concat([steps for steps, _ in made.values()])
        return dg.MaterializeResult(
            metadata={
                "dagster/row_count": everything.height,
                "steps": dg.MetadataValue.md(
                    preview_markdown(
                        everything.group_by("benchmark").agg(pl.len(), pl.col("mistake_type").count().alias("mistakes")).sort("benchmark")
                    )
                ),
                "preview": dg.MetadataValue.md(
                    preview_markdown(everything.select("unit_id", "start_s", "end_s", "instruction", "mistake_type"))
                ),
            }
        )

    @dg.asset(
        partitions_def=runs,
        backfill_policy=dg.BackfillPolicy.single_run(),
        group_name=GROUP,
        deps=[
            benchmark_steps,
            "benchmark_dialogues",
            "benchmark_clips",
            dg.AssetDep("checkpoint", partition_mapping=dg.AllPartitionMapping()),
        ],
        kinds={"pytorch", "parquet"},
        owners=OWNERS,
        tags=GPU_TAGS,
        pool="gpu",
        code_version=CODE_VERSIONS["predictions"],
    )
    def predictions(
        context: dg.AssetExecutionContext, tables: Tables, settings: PlatformSettings, assistants: Assistants
    ) -> dg.MaterializeResult:
        """What each assistant said under each protocol; it sees frames in time order and never later ones.

        A partition whose experiment cannot take part in the protocol's benchmark is passed over.
        """
        store, values = tables.store, settings.values
        prints = Fingerprints(store, values)
        runs, passed = _taking_part(context, values)
        made: dict[str, pl.DataFrame] = {}
        usage: dict[str, Counter[str]] = {}
        for experiment, protocol in runs:
            partition = f"{experiment}/{protocol}"
            if not prints.is_current("predictions", partition):
                made_from = partial(_made_from, store, values, partition)
                used = assistants.predict(experiment, protocol, store, tables.progress("predictions"), made_from)
                spent = {key: value for key, value in used.items() if isinstance(value, int | float)}
                usage.setdefault(experiment, Counter()).update(spent)
            made[partition] = store.read(parse_protocol(protocol).table, partition)
            _show_run(context, f"{experiment}|{protocol}", made[partition], _said([made[partition]]))
        statuses = pl.concat([frame.select("experiment", "protocol", "status") for frame in made.values()]) if made else pl.DataFrame()
        counts = statuses.group_by(pl.all()).len("rows").sort(pl.all()) if made else statuses
        return dg.MaterializeResult(
            metadata={
                "runs": len(made),
                "cannot take part": passed,
                "rows": dg.MetadataValue.md(preview_markdown(counts, rows=60)),
                "model calls": dg.MetadataValue.json({name: dict(spent) for name, spent in usage.items()}),
                "preview": dg.MetadataValue.md(preview_markdown(_said(list(made.values())))),
            }
        )

    @dg.asset(
        partitions_def=runs,
        backfill_policy=dg.BackfillPolicy.single_run(),
        group_name=GROUP,
        deps=[predictions],
        kinds={"polars", "parquet"},
        owners=OWNERS,
        tags=SINGLE_TAGS,
        code_version=CODE_VERSIONS["scores"],
    )
    def scores(context: dg.AssetExecutionContext, tables: Tables, settings: PlatformSettings, scorers: Scorers) -> dg.MaterializeResult:
        """Every metric of each run with its interval and the items that failed, by mistake type, category or element."""
        store, values = tables.store, settings.values
        prints = Fingerprints(store, values)
        progress = tables.progress("scores")
        runs, passed = _taking_part(context, values)
        made = []
        for done, (experiment, protocol) in enumerate(runs, start=1):
            partition = f"{experiment}/{protocol}"
            if not prints.is_current("scores", partition):
                store.write("scores", scorers.score(experiment, protocol, store), partition, made_from=prints.scores(partition))
            made.append(store.read("scores", partition))
            _show_run(context, f"{experiment}|{protocol}", made[-1], _headlines(made[-1]))
            progress(done, len(runs))
        everything = pl.concat(made) if made else store.scan("scores", []).collect()
        return dg.MaterializeResult(
            metadata={
                "runs": len(made),
                "cannot take part": passed,
                "scores": dg.MetadataValue.md(preview_markdown(_headlines(everything), rows=40)),
                **scorers.spend(),
            }
        )

    @dg.asset(
        name="leaderboard",
        group_name=GROUP,
        deps=[dg.AssetDep(scores, partition_mapping=dg.AllPartitionMapping())],
        kinds={"polars", "parquet"},
        owners=OWNERS,
        tags=SINGLE_TAGS,
        code_version=CODE_VERSIONS["leaderboard"],
    )
    def leaderboard_asset(context: dg.AssetExecutionContext, tables: Tables, settings: PlatformSettings) -> dg.MaterializeResult:
        """Experiments and floors side by side, with the papers' published rows marked as such."""
        from ml.benchmarks.families import Family
        from ml.benchmarks.leaderboard import GROUPS, HERE, PUBLISHED, RANKED_BY, families_of, leaderboard, wide
        from ml.benchmarks.plots import per_group_plot

        store = tables.store
        every = store.scan("scores").collect()
        board = leaderboard(every)
        store.write("leaderboard", board, made_from=Fingerprints(store, settings.values).leaderboard())
        here = board.filter(pl.col("origin") == HERE)
        first = every.filter(pl.col("protocol") == settings.values.benchmarks.protocols[0])
        best = here.filter((pl.col("place") == 1) & (pl.col("group") == "all"))
        shown: dict[str, dg.MetadataValue | float | str] = {}
        for family in Family:
            leading = best.filter((pl.col("family") == family.value) & (pl.col("metric") == RANKED_BY[family]))
            if leading.height:
                shown[f"best {RANKED_BY[family]}"] = number(leading["value"].max())  # type: ignore[arg-type]
        for protocol in families_of(here):
            shown[protocol] = dg.MetadataValue.md(preview_markdown(wide(here, protocol).drop("origin", "source"), rows=40))
        for protocol in ("ego_mc_bench.per_step", "guideme.anchor", "cook_mre.default"):
            printed = wide(board, protocol, origin=PUBLISHED).drop("origin", "n", "n_missing")
            shown[f"{protocol}: published, not rerun here"] = dg.MetadataValue.md(preview_markdown(printed))
        for category in GROUPS[Family.GUIDEME][1:]:
            printed = wide(board, "guideme.anchor", group=category, origin=PUBLISHED).drop("origin", "n", "n_missing")
            shown[f"guideme.anchor, {category}: published, not rerun here"] = dg.MetadataValue.md(preview_markdown(printed))
        return dg.MaterializeResult(
            metadata={
                "dagster/row_count": board.height,
                **shown,
                "F1 within 3 s by mistake type": png_metadata(per_group_plot(first, "mistake_f1_3s")),
            }
        )

    return [benchmark_steps, predictions, scores, leaderboard_asset]


def _taking_part(context: dg.AssetExecutionContext, settings: Settings) -> tuple[list[tuple[str, str]], int]:
    """(experiment, protocol) of the run's partitions, and how many of them are of an experiment that cannot take part."""
    pairs = [(str(key).split("|")[0], str(key).split("|")[1]) for key in context.partition_keys]
    runs = [pair for pair in pairs if settings.takes_part(*pair)]
    return runs, len(pairs) - len(runs)


def _made_from(store: TableStore, settings: Settings, partition: str) -> str:
    """What predictions would be made from now; the files of videos are looked at anew."""
    return Fingerprints(store, settings).predictions(partition)


def _show_run(context: dg.AssetExecutionContext, key: str, rows: pl.DataFrame, preview: pl.DataFrame) -> None:
    shown = {"dagster/partition_row_count": rows.height, "preview": dg.MetadataValue.md(preview_markdown(preview))}
    context.add_asset_metadata(shown, partition_key=key)


def _headlines(scores: pl.DataFrame) -> pl.DataFrame:
    chosen = scores.filter((pl.col("group") == "all") & pl.col("metric").is_in(HEADLINES))
    return chosen.select("protocol", "experiment", "metric", "value", "low", "high", "n")


def _said(frames: list[pl.DataFrame]) -> pl.DataFrame:
    """First things said, of all families in one form."""
    texts = []
    for frame in frames:
        column = next(name for name in ("text", "said", "answer") if name in frame.columns)
        unit = "recording_id" if "recording_id" in frame.columns else "sample_id"
        spoken = frame.filter(pl.col(column).is_not_null()).head(2)
        texts.append(spoken.select("experiment", "protocol", pl.col(unit).alias("unit"), pl.col(column).alias("text")))
    return pl.concat(texts) if texts else pl.DataFrame()


def _benchmarks(store: TableStore, settings: Settings) -> dict[str, tuple[pl.DataFrame, pl.DataFrame]]:
    """Benchmarks that the sources give, under their names (`_unseen` and the like for further configurations), and the kitchen's steps."""
    from ml.benchmarks.canonical import benchmark_from_messages
    from ml.benchmarks.kitchen_steps import kitchen_steps

    recordings = store.scan("recordings").collect()
    found: dict[str, tuple[pl.DataFrame, pl.DataFrame]] = {}
    for name, source in settings.all_sources().items():
        mine = recordings.filter((pl.col("source") == name) & (pl.col("split") == "test"))
        if source.kind is not SourceKind.EGO_MC_BENCH or not mine.height:
            continue
        for (file,), group in mine.partition_by("split_file", as_dict=True, maintain_order=True).items():
            benchmark = f"{name}{_suffix(file)}"
            messages = store.read("imported_messages", name).join(group.select("recording_id"), on="recording_id", how="semi")
            found[benchmark] = benchmark_from_messages(group, store.read("imported_steps", name), messages, benchmark)
    if settings.sample_kitchen:
        paths = dict(recordings.select("recording_id", "video_path").iter_rows())
        truth = settings.path(Path("sample_kitchen") / "truth")
        for benchmark, split in KITCHEN_STEPS.items():
            found[benchmark] = kitchen_steps(truth, benchmark, split, "kitchen_captaincook4d", paths)
    return found


def _suffix(split_file: object) -> str:
    """`_unseen` for `unseen/test-....parquet`; nothing for the main configuration and for files without one."""
    folder = str(split_file).rpartition("/")[0].rpartition("/")[2]
    return f"_{folder}" if folder not in ("", "main") else ""
