"""Narrations that a dataset ships, brought into the windows that all later stages read. Nothing is described here."""

import polars as pl

from ml.narration.narrator import Narration
from ml.video.windows import Window
from ml.vocabulary import Status

# A narration is told in a window when at least this share of the shorter of the two lies in both. With windows of 10 s every 5 s
# every narration is then told at least once, and one that merely touches a window is not.
MIN_SHARE = 0.5


def choose_annotator(imported: pl.DataFrame) -> str:
    """The annotator (or pass) with most narrations, the first by name where several have as many: two are never mixed."""
    counts = imported.group_by("annotator").len().sort(["len", "annotator"], descending=[True, False])
    return str(counts["annotator"][0])


def narrations_in_windows(imported: pl.DataFrame, windows: list[Window], annotator: str) -> list[Narration]:
    """One ``Narration`` per window: the annotator's texts that belong to it, in time order, each once, as sentences.

    A narration belongs to a window when the part in both is at least half of the shorter of the two; one without length belongs to
    the windows that its time lies in. A window without any is ``empty``.
    """
    rows = imported.filter(pl.col("annotator") == annotator).sort(["start_s", "narration_index"]).select("start_s", "end_s", "text").rows()
    made = []
    for window in windows:
        texts = [_sentence(text) for start_s, end_s, text in rows if text.strip() and _belongs(start_s, end_s, window)]
        if texts:
            made.append(Narration(" ".join(dict.fromkeys(texts))))
        else:
            made.append(Narration(None, Status.EMPTY, "the dataset has no narration in this window"))
    return made


def _belongs(start_s: float, end_s: float, window: Window) -> bool:
    length_s = end_s - start_s
    if length_s <= 0:
        return window.start_s <= start_s < window.end_s
    common_s = min(end_s, window.end_s) - max(start_s, window.start_s)
    return common_s > 0 and common_s >= MIN_SHARE * min(length_s, window.end_s - window.start_s) - 1e-9


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    return text if text.endswith((".", "!", "?")) else f"{text}."
