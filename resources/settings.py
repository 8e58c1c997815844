"""The settings as a Dagster resource, read where a step runs, so that a child process sees the same file and environment."""

from functools import cached_property

import dagster as dg

from ml.settings import Settings, load_settings


class PlatformSettings(dg.ConfigurableResource):
    """Gives assets the validated settings."""

    @cached_property
    def values(self) -> Settings:
        return load_settings()
