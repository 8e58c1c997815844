"""Made described steps and recordings."""

import polars as pl

from ml.sources.imported import StepDraft, number_steps
from ml.tables.declarations.sources import IMPORTED_RECORDINGS, IMPORTED_STEPS


def described(
    *texts: str, recording_id: str = "gs/v", category: str | None = "Peel and cut ingredients: Cut", **changes: object
) -> pl.DataFrame:
    """Described steps of 10 s, one after another."""
    drafts = [
        StepDraft(f"s{index}", text, index * 10.0, index * 10.0 + 10, is_instruction=False, category=category)
        for index, text in enumerate(texts)
    ]
    for draft in drafts:
        for name, value in changes.items():
            setattr(draft, name, value)
    return IMPORTED_STEPS.rows(number_steps(recording_id, drafts))


def recording(recording_id: str = "gs/v", activity: str | None = "COOKING:MAKE_SOUP") -> pl.DataFrame:
    source, native_id = recording_id.split("/")
    row = {"recording_id": recording_id, "source": source, "native_id": native_id, "activity": activity}
    return IMPORTED_RECORDINGS.rows([row | {"licence": "MIT", "members": [], "status": "ok"}])
