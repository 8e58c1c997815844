"""Asset metadata that people look at: small previews and plots. Full tables stay on disk."""

import base64
import math

import dagster as dg
import polars as pl

PREVIEW_ROWS = 10
PREVIEW_TEXT = 80


def png_metadata(png: bytes, title: str = "plot") -> dg.MarkdownMetadataValue:
    """A PNG shown inline by the UI."""
    return dg.MetadataValue.md(f"![{title}](data:image/png;base64,{base64.b64encode(png).decode()})")


def jpeg_metadata(jpeg: bytes, title: str) -> dg.MarkdownMetadataValue:
    """A JPEG shown inline by the UI."""
    return dg.MetadataValue.md(f"![{title}](data:image/jpeg;base64,{base64.b64encode(jpeg).decode()})")


def number(value: float | None) -> float | str:
    """A number that the UI can show: NaN and infinities become text (a NaN froze Dagster's UI)."""
    return "undefined" if value is None or not math.isfinite(value) else float(value)


def preview_markdown(frame: pl.DataFrame, rows: int = PREVIEW_ROWS) -> str:
    """First rows as a Markdown table; long texts are cut with an ellipsis, numbers rounded."""
    names = frame.columns
    lines = ["| " + " | ".join(names) + " |", "|" + " --- |" * len(names)]
    lines += ["| " + " | ".join(_cell(value) for value in row) + " |" for row in frame.head(rows).iter_rows()]
    return "\n".join(lines)


def _cell(value: object) -> str:
    match value:
        case None:
            return ""
        case float():
            return f"{value:.3f}".rstrip("0").rstrip(".")
        case list():
            text = "; ".join(f"{v['name']}={v['value']}" if isinstance(v, dict) and "name" in v else str(v) for v in value)
        case _:
            text = str(value)
    text = text.replace("|", "\\|").replace("\n", " ")
    return text if len(text) <= PREVIEW_TEXT else text[: PREVIEW_TEXT - 1] + "…"
