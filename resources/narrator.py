"""The narrator as a Dagster resource: opened on first use, kept for the whole run, so that a model is loaded once."""

import dagster as dg
from pydantic import PrivateAttr

from ml.errors import InputError
from ml.narration.narrator import Narrator
from ml.setting_sections.models import LLM, LLMBackend, Narration, NarrationBackend
from ml.settings import Settings
from resources.settings import PlatformSettings


class NarratorModel(dg.ConfigurableResource):
    """``get()`` is the narrator that the settings name."""

    _narrator: Narrator | None = PrivateAttr(default=None)

    def get(self) -> Narrator:
        if self._narrator is None:
            self._narrator = open_narrator(PlatformSettings().values)
        return self._narrator

    def spend(self) -> dict[str, float | int | str]:
        """What its calls used so far, as asset metadata; nothing for a model that runs here."""
        from ml.narration.openai_backend import ClientBackend
        from resources.llm import spend_metadata

        return spend_metadata(self._narrator.report()) if isinstance(self._narrator, ClientBackend) else {}


def open_narrator(settings: Settings) -> Narrator:
    """Open the narrator of the settings. Raises ``InputError`` where its model is not named or not there."""
    from ml.narration.narrator import FramePlan

    chosen = settings.narration
    plan = FramePlan(chosen.frames_per_second, chosen.box, max_frames=chosen.max_frames)
    match chosen.backend:
        case NarrationBackend.EMBEDDED:
            from ml.narration.embedded import EmbeddedBackend
            from ml.streaming.narrate import EmbeddedNarrator

            return EmbeddedBackend(EmbeddedNarrator())
        case NarrationBackend.TRANSFORMERS:
            from ml.narration.transformers_backend import TransformersBackend

            return TransformersBackend(_model(chosen), plan, device=chosen.device)
        case NarrationBackend.OPENAI | NarrationBackend.ANTHROPIC:
            from ml.narration.openai_backend import ClientBackend
            from resources.llm import open_client, reply_cache

            client = open_client(served_model(chosen), reply_cache(settings.data), settings)
            return ClientBackend(client, plan, provider=chosen.backend.value)


def served_model(chosen: Narration) -> LLM:
    """The served model that narrates, as the settings of a language model."""
    return LLM(
        backend=LLMBackend(chosen.backend.value),
        model=_model(chosen),
        base_url=chosen.base_url,
        api_key_variable=chosen.api_key_variable,
        max_in_flight=chosen.max_in_flight,
        budget_usd=chosen.budget_usd,
    )


def _model(chosen: Narration) -> str:
    if not chosen.model:
        raise InputError(
            f"backend {chosen.backend.value!r} needs a model", field="narration.model", remedy="Name a folder or a served model"
        )
    return chosen.model
