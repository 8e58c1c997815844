"""The narrator as a Dagster resource: opened on first use, kept for the whole run, so that a model is loaded once."""

import dagster as dg
from ml.narration.narrator import Narrator
from ml.narration.open_narrator import open_narrator
from pydantic import PrivateAttr

from resources.settings import PlatformSettings


class NarratorModel(dg.ConfigurableResource):
    """``get()`` is the narrator that the settings name."""

    _narrator: Narrator | None = PrivateAttr(default=None)

    def get(self) -> Narrator:
        if self._narrator is None:
            self._narrator = open_narrator(PlatformSettings().values.narration)
        return self._narrator
