"""What a fine-tuning run leaves on disk while it runs: a log of metrics and a state to continue from, each whole or absent."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

STATE_FILE = "state.pt"
LOG_FILE = "log.jsonl"


@dataclass(frozen=True)
class LogRow:
    """One metric at one optimizer step; ``elapsed_s``: seconds of tuning over all sittings."""

    step: int
    metric: str
    value: float
    elapsed_s: float


class RunFolder:
    """State and log of one run, identified by ``fingerprint``; another run's leftovers in the same folder are discarded."""

    def __init__(self, folder: Path, fingerprint: str) -> None:
        self.folder, self._fingerprint = folder, fingerprint
        folder.mkdir(parents=True, exist_ok=True)

    def load(self) -> dict[str, Any] | None:
        """The last saved state, or None to start afresh. Log rows after it are dropped: those steps will be done again."""
        path = self.folder / STATE_FILE
        state = torch.load(path, weights_only=True, map_location="cpu") if path.exists() else None
        if state is None or state["fingerprint"] != self._fingerprint:
            path.unlink(missing_ok=True)
            self._write_log([])
            return None
        self._write_log([row for row in self.log() if row.step <= state["step"]])
        return state

    def save(self, state: dict[str, Any]) -> None:
        temporary = self.folder / f".{STATE_FILE}.{os.getpid()}"
        torch.save({**state, "fingerprint": self._fingerprint}, temporary)
        os.replace(temporary, self.folder / STATE_FILE)

    def append(self, rows: list[LogRow]) -> None:
        with (self.folder / LOG_FILE).open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(asdict(row)) + "\n" for row in rows)

    def log(self) -> list[LogRow]:
        """Rows so far; a last line cut by a kill is left out."""
        path = self.folder / LOG_FILE
        rows = []
        for line in path.read_text(encoding="utf-8").splitlines(keepends=True) if path.exists() else []:
            if line.endswith("\n"):
                rows.append(LogRow(**json.loads(line)))
        return rows

    def _write_log(self, rows: list[LogRow]) -> None:
        temporary = self.folder / f".{LOG_FILE}.{os.getpid()}"
        temporary.write_text("".join(json.dumps(asdict(row)) + "\n" for row in rows), encoding="utf-8")
        os.replace(temporary, self.folder / LOG_FILE)


def forget_state(folder: Path) -> None:
    """Remove the state of a run that is finished and whose results are stored."""
    (folder / STATE_FILE).unlink(missing_ok=True)
