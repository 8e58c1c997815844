"""Where a model's files are: a folder, a name for the model hub, or a name pinned to a revision. Loading is done by those who need it."""

import re
from pathlib import Path

from ml.errors import InputError

_PINNED = re.compile(r"(?P<name>[\w.-]+(?:/[\w.-]+)?)@(?P<revision>[\w./-]+)")


def is_folder(model: str | Path) -> bool:
    return Path(model).expanduser().is_dir()


def plain_name(model: str) -> str:
    """The model's name without owner, folders and revision."""
    pinned = None if is_folder(model) else _PINNED.fullmatch(model)
    return Path(pinned["name"] if pinned else model).name


def model_source(model: str | Path, *, owner: str | None = None, field: str = "model") -> str:
    """What the libraries load: a folder, or a hub name that they resolve themselves.

    ``name@revision`` (a commit, tag or branch) is that revision's snapshot: fetched once, then taken from the hub's cache, without a hub
    where the revision is a commit. ``owner`` goes before a pinned name that has none. Raises ``InputError``, ``field`` naming the setting,
    where the snapshot is neither cached nor to be had.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    if is_folder(model):
        return str(Path(model).expanduser())
    pinned = _PINNED.fullmatch(str(model))
    if pinned is None:
        return str(model)
    name = pinned["name"] if owner is None or "/" in pinned["name"] else f"{owner}/{pinned['name']}"
    try:
        return snapshot_download(name, revision=pinned["revision"])
    except (HfHubHTTPError, HFValidationError, OSError, ValueError) as error:
        raise InputError(
            f"revision {pinned['revision']} cannot be had: {' '.join(str(error).split())[:200]}",
            record=name,
            field=field,
            remedy="Name a revision that the hub has, or a local folder",
        ) from error
