"""The whole graph: assets, jobs, sensors and resources under the settings of this process. Loading it imports no model library."""

import warnings

import dagster as dg

from assets.accuracy import accuracy_assets
from assets.benchmark_data import benchmark_data_assets
from assets.benchmarks import benchmark_assets
from assets.checks import asset_checks
from assets.columns import with_columns
from assets.comist import comist_assets
from assets.comist_report import comist_report_assets
from assets.counterfactuals import counterfactual_assets
from assets.exports import export_assets
from assets.narrations import narration_assets
from assets.recordings import recording_assets
from assets.sources import source_assets
from assets.training import training_assets
from assets.validity import validity_assets
from dagster_project.event_log import quicken_event_log
from dagster_project.jobs import LLM_JOBS, RAW_VIDEO, jobs
from ml.setting_sections.sources import RAW_VIDEOS
from ml.settings import Settings, load_settings
from resources.assistants import Assistants
from resources.checkpoints import Checkpoints
from resources.embeddings import TextEmbeddings
from resources.llm import LanguageModels
from resources.narrator import NarratorModel
from resources.scoring import Scorers
from resources.settings import PlatformSettings
from resources.tables import Tables
from sensors.llm_batches import llm_batches_sensor
from sensors.raw_videos import raw_videos_sensor


def build_definitions(settings: Settings) -> dg.Definitions:
    """Definitions for the given settings."""
    data = str(settings.data.absolute())
    source_keys = list(settings.all_sources())
    assets = [
        *source_assets(settings),
        *recording_assets(source_keys),
        *narration_assets(settings),
        *counterfactual_assets(),
        *comist_assets(),
        *validity_assets(),
        *comist_report_assets(),
        *accuracy_assets(settings),
        *training_assets(settings),
        *export_assets(settings),
        *benchmark_data_assets(settings),
        *benchmark_assets(settings),
    ]
    built = jobs(settings)
    return dg.Definitions(
        assets=dg.map_asset_specs(with_columns, assets),
        asset_checks=asset_checks([*source_keys, RAW_VIDEOS]),
        jobs=built,
        sensors=[
            raw_videos_sensor(settings, f"{RAW_VIDEO}_job"),
            llm_batches_sensor(settings, [job for job in built if job.name in LLM_JOBS.values()], LLM_JOBS),
        ],
        resources={
            "tables": Tables(data=data),
            "settings": PlatformSettings(),
            "llm": LanguageModels(data=data),
            "narrator": NarratorModel(),
            "text_vectors": TextEmbeddings(data=data),
            "checkpoints": Checkpoints(data=data),
            "assistants": Assistants(data=data),
            "scorers": Scorers(data=data),
        },
        executor=dg.in_process_executor,
    )


quicken_event_log()  # workers that the daemon starts load this module and nothing else of this package
with warnings.catch_warnings():
    warnings.simplefilter("ignore", dg.BetaWarning)  # backfill_policy: the only way to run many partitions in one run
    defs = build_definitions(load_settings())
