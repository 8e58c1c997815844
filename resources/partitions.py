"""Partition definitions that assets and sensors share. A recording id is a partition key through ``ml.tables.store.encode_key``."""

from collections.abc import Sequence

import dagster as dg
from dagster._core.storage.tags import ASSET_PARTITION_RANGE_END_TAG, ASSET_PARTITION_RANGE_START_TAG

from ml.settings import Settings
from ml.tables.store import decode_key, encode_key

RECORDINGS = dg.DynamicPartitionsDefinition(name="recordings")


def recording_key(recording_id: str) -> str:
    return encode_key(recording_id)


def recording_id(partition_key: str) -> str:
    return decode_key(partition_key)


def partition_tags(keys: Sequence[str]) -> dict[str, str]:
    """Run tags for one partition or a contiguous range of partitions."""
    if not keys:
        return {}
    if len(keys) == 1:
        return {"dagster/partition": keys[0]}
    return {ASSET_PARTITION_RANGE_START_TAG: keys[0], ASSET_PARTITION_RANGE_END_TAG: keys[-1]}


def recording_ranges(instance: dg.DagsterInstance, keys: Sequence[str]) -> list[dict[str, str]]:
    """Run tags for recordings: one run per contiguous range of the dynamic partitions, or one per key where one is not known yet.

    Gaps of up to 50 partitions are bridged: passing over a current one costs 20 ms, a run 3 s.
    """
    ordered = instance.get_dynamic_partitions(RECORDINGS.name or "")
    order = {key: place for place, key in enumerate(ordered)}
    if any(key not in order for key in keys):
        return [partition_tags([key]) for key in keys]
    ranges: list[list[int]] = []
    for place in sorted(order[key] for key in keys):
        if ranges and place - ranges[-1][-1] <= 50:
            ranges[-1].append(place)
        else:
            ranges.append([place])
    return [partition_tags([ordered[one[0]], ordered[one[-1]]] if len(one) > 1 else [ordered[one[0]]]) for one in ranges]


def every_recording(asset: str) -> dg.AssetDep:
    """Dependency of a partition that is no recording on all recordings of an asset."""
    return dg.AssetDep(asset, partition_mapping=dg.AllPartitionMapping())


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
