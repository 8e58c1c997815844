"""Training: the weighted mix of samples, and the checkpoint tuned on it."""

import dagster as dg
import polars as pl

from assets.fingerprints import CODE_VERSIONS, Fingerprints
from assets.metadata import number, png_metadata, preview_markdown
from assets.style import GPU_TAGS, OWNERS, SINGLE_TAGS
from assets.style import TRAINING as GROUP
from ml.setting_sections.sources import SourceKind
from ml.setting_sections.training import EGO_COMIST
from ml.settings import Settings
from ml.tables.store import TableStore
from resources.checkpoints import Checkpoints
from resources.partitions import every_recording, experiments, mixes
from resources.settings import PlatformSettings
from resources.tables import Tables


def training_assets(settings: Settings) -> list[dg.AssetsDefinition]:
    @dg.asset(
        partitions_def=mixes(settings),
        group_name=GROUP,
        deps=["ego_comist", *(every_recording(name) for name in ("recordings", "steps")), *settings.all_sources()],
        kinds={"polars", "parquet"},
        owners=OWNERS,
        tags=SINGLE_TAGS,
        code_version=CODE_VERSIONS["training_mix"],
    )
    def training_mix(context: dg.AssetExecutionContext, tables: Tables, settings: PlatformSettings) -> dg.MaterializeResult:
        """Samples of EGO-CoMist, message timelines and steps, with weights and source tags, split by recording."""
        from ml.mixes.mix import MixSettings, build_mix, refusal_counts

        name, values, store = context.partition_key, settings.values, tables.store
        chosen = values.mixes[name]
        mix = build_mix(name, MixSettings(weights=chosen.weights), _samples(store, values, set(chosen.weights)))
        store.write("training_mix", mix.frame, name, made_from=Fingerprints(store, values).training_mix(name))
        return dg.MaterializeResult(
            metadata={
                "dagster/partition_row_count": mix.frame.height,
                "refused": dg.MetadataValue.json(refusal_counts(mix)),
                "speak share": dg.MetadataValue.md(preview_markdown(mix.speak_share, rows=20)),
                "preview": dg.MetadataValue.md(
                    preview_markdown(mix.frame.select("dataset", "recording_id", "split", "instruction", "mistake_type", "weight"))
                ),
            }
        )

    @dg.asset(
        partitions_def=experiments(settings),
        group_name=GROUP,
        deps=[dg.AssetDep(training_mix, partition_mapping=_mix_of_experiment(settings))],
        kinds={"pytorch", "huggingface"},
        owners=OWNERS,
        tags=GPU_TAGS,
        pool="gpu",
        code_version=CODE_VERSIONS["checkpoint"],
    )
    def checkpoint(
        context: dg.AssetExecutionContext, tables: Tables, settings: PlatformSettings, checkpoints: Checkpoints
    ) -> dg.MaterializeResult:
        """LoRA on the language model plus a speak/silent head, tuned on the mix; a killed run goes on from its last saved state."""
        from ml.streaming.curve import loss_curve_png

        name, values, store = context.partition_key, settings.values, tables.store
        made = Fingerprints(store, values).tuning_log(name)
        tuned = checkpoints.tune(name, store.read("training_mix", values.experiments[name].mix), made, tables.progress)
        store.write("tuning_log", tuned.log, name, made_from=made)
        checkpoints.forget_state(name)
        last = tuned.log.filter(pl.col("step") == pl.col("step").max())
        return dg.MaterializeResult(
            metadata={
                **{metric: number(value) for metric, value in last.select("metric", "value").iter_rows()},
                "steps": tuned.steps,
                "samples": tuned.samples,
                "refused samples": tuned.refused,
                "thresholds": dg.MetadataValue.json(tuned.thresholds),
                "validation": dg.MetadataValue.json({key: number(value) for key, value in tuned.validation.items()}),
                "loss curve": png_metadata(loss_curve_png(tuned.log.iter_rows(named=True)), "loss curve"),
                "folder": dg.MetadataValue.path(str(tuned.folder)),
            }
        )

    return [training_mix, checkpoint]


def _mix_of_experiment(settings: Settings) -> dg.PartitionMapping:
    users: dict[str, list[str]] = {}
    for name, experiment in settings.experiments.items():
        users.setdefault(experiment.mix, []).append(name)
    return dg.StaticPartitionMapping({mix: set(names) for mix, names in users.items()})


def _samples(store: TableStore, settings: Settings, wanted: set[str]) -> list[pl.DataFrame]:
    """Samples of every dataset that the mix weighs; a source's samples carry its kind as dataset."""
    from ml.mixes.samples import comist_samples, message_samples, step_samples

    recordings = store.scan("recordings").collect()
    frames = [comist_samples(store.read("ego_comist"), recordings).frame] if EGO_COMIST in wanted else []
    for name, source in settings.all_sources().items():
        if source.kind not in wanted:
            continue
        mine = recordings.filter(pl.col("source") == name)
        if source.kind in (SourceKind.QICD, SourceKind.EGO_MC_BENCH):
            frames.append(message_samples(store.read("imported_messages", name), mine, source.kind).frame)
        else:
            steps = store.scan("steps").join(mine.lazy().select("recording_id"), on="recording_id", how="semi").collect()
            frames.append(step_samples(steps, mine, source.kind).frame)
    return frames
