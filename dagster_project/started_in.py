"""Where the command was started: `interject` changes to the project's folder, but paths that a user types are meant from there."""

from pathlib import Path

STARTED_IN = Path.cwd()


def given(path: str | Path) -> Path:
    """A path as the user meant it."""
    return STARTED_IN / Path(path).expanduser()
