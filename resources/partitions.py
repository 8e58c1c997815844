"""Partition definitions that assets and sensors share. A recording id is a partition key through ``ml.tables.store.encode_key``."""

import dagster as dg

from ml.settings import Settings
from ml.tables.store import decode_key, encode_key

RECORDINGS = dg.DynamicPartitionsDefinition(name="recordings")


def recording_key(recording_id: str) -> str:
    return encode_key(recording_id)


def recording_id(partition_key: str) -> str:
    return decode_key(partition_key)


def mixes(settings: Settings) -> dg.StaticPartitionsDefinition:
    return dg.StaticPartitionsDefinition(sorted(settings.mixes))


def experiments(settings: Settings) -> dg.StaticPartitionsDefinition:
    """Experiments that are tuned here."""
    return dg.StaticPartitionsDefinition(sorted(settings.experiments))


def benchmark_runs(settings: Settings) -> dg.MultiPartitionsDefinition:
    """Whatever is scored (floors, untuned base, tuned experiments) x protocol."""
    return dg.MultiPartitionsDefinition(
        {
            "experiment": dg.StaticPartitionsDefinition(list(settings.benchmarks.experiments)),
            "protocol": dg.StaticPartitionsDefinition(list(settings.benchmarks.protocols)),
        }
    )
