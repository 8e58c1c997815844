"""Scoring a predictions file without Dagster: run `python examples/score_predictions.py`, then open score_report/report.html."""

from pathlib import Path

from rich.console import Console

from ml.benchmarks.scoring import score_files

FILES = Path(__file__).parent / "score"  # two recordings in the published shapes: a message timeline, and QICD's predictions

result = score_files(FILES / "predictions.json", FILES / "timeline.json")
result.write("score_report")
Console().print(result.table())
