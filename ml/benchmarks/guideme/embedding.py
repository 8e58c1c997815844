"""Cosines between texts from unit vectors, each distinct text embedded once within a bounded store. The encoder is given from outside."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

Encode = Callable[[Sequence[str]], NDArray[np.float32]]
"""Texts to unit vectors, float32 [n, dimension]."""


class BoundedCosines:
    """Vectors of the texts used last, at most ``capacity`` of them, so that memory does not grow with the number of videos."""

    def __init__(self, encode: Encode, capacity: int = 20_000) -> None:
        self._encode, self._capacity = encode, capacity
        self._vectors: OrderedDict[str, NDArray[np.float32]] = OrderedDict()
        self.embedded = 0

    def prepare(self, texts: Iterable[str]) -> None:
        """Embed those of ``texts`` that have no vector yet, in one batch; must hold all texts of the next ``__call__``s."""
        wanted = list(dict.fromkeys(text.strip() for text in texts))
        for text in wanted:
            if text in self._vectors:
                self._vectors.move_to_end(text)
        new = [text for text in wanted if text not in self._vectors]
        if new:
            self.embedded += len(new)
            for text, vector in zip(new, self._encode(new), strict=True):
                self._vectors[text] = vector
        while len(self._vectors) > max(self._capacity, len(wanted)):
            self._vectors.popitem(last=False)

    def __call__(self, said: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
        """Cosines [said, references]; texts that were not prepared are embedded now."""
        absent = [text for text in (*said, *references) if text not in self._vectors]
        if absent:
            self.prepare([*said, *references])
        a, b = (np.stack([self._vectors[text] for text in texts]) for texts in (said, references))
        return (a @ b.T).astype(np.float64)
