"""The example runs as a user would run it, and says what its files hold."""

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "score_predictions.py"


def test_the_example_scores_its_files(tmp_path):
    done = subprocess.run([sys.executable, SCRIPT], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert "IC-Acc" in done.stdout
    document = json.loads((tmp_path / "score_report" / "report.json").read_text())
    values = {row["metric"]: row["value"] for row in document["runs"][0]["rows"] if row["group"] == "all"}
    assert values["mistake_tp"] == 2
    assert values["mistake_fp"] == 1
    assert values["mistake_fn"] == 1
    assert values["ic_acc"] == 80.0  # a mistake that is never put right is completed when its step ends
    assert "<svg" in (tmp_path / "score_report" / "report.html").read_text()
