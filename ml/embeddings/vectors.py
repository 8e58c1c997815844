"""Text vectors by text. Where they come from is the matter of ``encoder`` and ``store``."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ml.errors import InputError

Matrix = NDArray[np.float32]


def text_sha256(text: str) -> str:
    """Key of a text: hex SHA-256 of its UTF-8 bytes."""
    return hashlib.sha256(text.encode()).hexdigest()


def distinct(texts: Iterable[str]) -> list[str]:
    """Each text once, in order of first appearance."""
    return list(dict.fromkeys(texts))


@dataclass(frozen=True)
class TextVectors:
    """Unit vectors of distinct texts: ``matrix[index[text]]``, float32 of shape (texts, dimension)."""

    index: dict[str, int]
    matrix: Matrix

    @classmethod
    def of(cls, texts: Sequence[str], matrix: Matrix) -> "TextVectors":
        """Vectors of ``texts``, one row each. Raises ``InputError`` where the counts differ or a text comes twice."""
        index = {text: row for row, text in enumerate(texts)}
        if len(index) != len(texts) or len(texts) != len(matrix):
            raise InputError(f"{len(texts)} texts ({len(index)} distinct) and {len(matrix)} vectors do not belong together")
        return cls(index, np.ascontiguousarray(matrix, dtype=np.float32))

    def rows(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Row numbers of ``texts``; ``InputError`` names the first text without a vector."""
        try:
            return np.fromiter((self.index[text] for text in texts), dtype=np.int64, count=len(texts))
        except KeyError as error:
            raise InputError(f"no vector for the text {error.args[0]!r}", remedy="Embed it first") from None

    def of_texts(self, texts: Sequence[str]) -> Matrix:
        """Vectors of ``texts`` in their order, shape (len(texts), dimension)."""
        return self.matrix[self.rows(texts)]
