"""Text vectors in LanceDB, queried by text. Encoding is the matter of ``encoder``; what vectors are compared for, of the callers.

One table holds (text_sha256, text, model, vector) with the key (text_sha256, model). LanceDB lets two writers insert the same new key
without an error, so every write goes through one file lock beside the table. Each write makes a version and a fragment, so
writes are batched, and after every ``optimise_every`` versions the fragments are merged and versions above an age removed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from ml.embeddings.encoder import TextEncoder
from ml.embeddings.vectors import Matrix, TextVectors, distinct, text_sha256
from ml.errors import InputError

if TYPE_CHECKING:
    from lancedb.table import Table

KEY = ("text_sha256", "model")
MIN_INDEX_ROWS = 256  # LanceDB cannot train an index on fewer
WRITE_ROWS = 4096
HITS_SCHEMA = pl.Schema({"text": pl.String(), "similarity": pl.Float64(), "text_sha256": pl.String(), "model": pl.String()})


@dataclass(frozen=True)
class IndexOutcome:
    """What ``build_index`` did; without an index a search scans every row, with the same result."""

    built: bool
    rows: int
    note: str


@dataclass(frozen=True)
class TextVectorStore:
    """Vectors of texts below ``root``, one table per vector dimension.

    ``keep_versions_for``: age above which old versions are removed when optimising; a reader holds a version no longer than a query.
    """

    root: Path
    encoder: TextEncoder = field(default_factory=TextEncoder)
    optimise_every: int = 32
    keep_versions_for: timedelta = timedelta(minutes=10)
    lock_timeout_s: float = 600.0

    @cached_property
    def _name(self) -> str:
        return f"texts_{self.encoder.dimension}"

    @cached_property
    def _schema(self) -> pa.Schema:
        vector = pa.list_(pa.float32(), self.encoder.dimension)
        return pa.schema(
            [
                pa.field("text_sha256", pa.string(), nullable=False),
                pa.field("text", pa.string(), nullable=False),
                pa.field("model", pa.string(), nullable=False),
                pa.field("vector", vector, nullable=False),
            ]
        )

    def _open(self) -> "Table | None":
        import lancedb

        if not (self.root / f"{self._name}.lance").exists():
            return None
        return lancedb.connect(self.root).open_table(self._name)

    def _write(self, action: Callable[["Table"], Any]) -> Any:
        """``action`` on the table as the only writer; the table is made where it is absent."""
        import lancedb
        from filelock import FileLock, Timeout

        self.root.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.root / f"{self._name}.lock", timeout=self.lock_timeout_s)
        try:
            with lock:
                table = lancedb.connect(self.root).create_table(self._name, schema=self._schema, exist_ok=True)
                return action(table)
        except Timeout:
            raise InputError(
                f"another process has held the lock of the vector table for {self.lock_timeout_s:.0f} s",
                file=lock.lock_file,
                remedy="Wait for it to end; the lock is freed when its process ends",
            ) from None

    def upsert(self, texts: Sequence[str], vectors: Matrix) -> int:
        """Write ``vectors`` (shape (len(texts), dimension)) of ``texts`` in one version; the number of rows that are new.

        A key that is there already gets the given vector; a text that comes twice is written once (the last one).
        """
        if vectors.shape != (len(texts), self.encoder.dimension):
            raise InputError(f"vectors of shape {vectors.shape} do not fit {len(texts)} texts of dimension {self.encoder.dimension}")
        last = {text: row for row, text in enumerate(texts)}
        if not last:
            return 0
        data = self._arrow(list(last), vectors[list(last.values())])

        def merge(table: "Table") -> int:
            before = table.count_rows()
            table.merge_insert(list(KEY)).when_matched_update_all().when_not_matched_insert_all().execute(data)
            added = table.count_rows() - before
            if table.version % self.optimise_every == 0:
                table.optimize(cleanup_older_than=self.keep_versions_for)
            return added

        return int(self._write(merge))

    def _arrow(self, texts: list[str], vectors: Matrix) -> pa.Table:
        flat = pa.array(np.ascontiguousarray(vectors, dtype=np.float32).reshape(-1), type=pa.float32())
        columns = [
            pa.array([text_sha256(text) for text in texts]),
            pa.array(texts),
            pa.array([self.encoder.name] * len(texts)),
            pa.FixedSizeListArray.from_arrays(flat, self.encoder.dimension),
        ]
        return pa.Table.from_arrays(columns, schema=self._schema)

    def embed(self, texts: Sequence[str], progress: Callable[[int, int], None] | None = None) -> TextVectors:
        """Vectors of the distinct texts: read where the table has them, else encoded and written in batches of 4,096.

        A kill loses one batch at most. ``progress(done, total)`` counts the texts that had to be encoded.
        """
        once = distinct(texts)
        known = self.read(once)
        # Longest first: batches of near-equal length, and the largest memory need shows at once.
        missing = sorted((text for text in once if text not in known.index), key=len, reverse=True)
        parts = [known.matrix]
        for start in range(0, len(missing), WRITE_ROWS):
            batch = missing[start : start + WRITE_ROWS]
            parts.append(self.encoder.encode(batch))
            self.upsert(batch, parts[-1])
            if progress:
                progress(start + len(batch), len(missing))
        return TextVectors.of([*known.index, *missing], np.concatenate(parts))

    def read(self, texts: Sequence[str]) -> TextVectors:
        """Vectors of those among ``texts`` that the table holds for this model. One scan in batches, whatever the number of texts."""
        empty = TextVectors({}, np.zeros((0, self.encoder.dimension), dtype=np.float32))
        table = self._open()
        wanted = {text_sha256(text): text for text in texts}
        if table is None or not wanted:
            return empty
        keys = pa.array(list(wanted))
        query = table.search().where(f"model = {_quoted(self.encoder.name)}").select(["text_sha256", "vector"])
        found: dict[str, Matrix] = {}
        for batch in query.to_batches(batch_size=WRITE_ROWS):
            hit = batch.filter(pc.is_in(batch.column("text_sha256"), value_set=keys))
            if hit.num_rows:
                block = hit.column("vector").flatten().to_numpy(zero_copy_only=False).reshape(hit.num_rows, -1)
                found.update(zip(hit.column("text_sha256").to_pylist(), block, strict=True))
        if not found:
            return empty
        ordered = [key for key in wanted if key in found]
        return TextVectors.of([wanted[key] for key in ordered], np.stack([found[key] for key in ordered]))

    def search(self, text: str, k: int = 10) -> pl.DataFrame:
        """The ``k`` texts nearest to ``text`` by cosine, best first: columns text, similarity, text_sha256, model."""
        table = self._open()
        if k < 1:
            raise InputError(f"k is {k}", field="k", remedy="Ask for at least one text")
        if table is None or table.count_rows() == 0:
            return pl.DataFrame(schema=HITS_SCHEMA)
        query: Any = table.search(self.encoder.encode([text])[0], vector_column_name="vector")
        of_model = query.distance_type("cosine").where(f"model = {_quoted(self.encoder.name)}", prefilter=True)
        hits = of_model.limit(k).select(["text", "text_sha256", "model", "_distance"]).to_arrow()
        frame = pl.DataFrame(hits)
        return frame.select("text", (1.0 - pl.col("_distance").cast(pl.Float64)).alias("similarity"), "text_sha256", "model")

    def count(self) -> int:
        table = self._open()
        return 0 if table is None else int(table.count_rows())

    def build_index(self) -> IndexOutcome:
        """IVF_FLAT index for cosine, from 256 rows on (measured: exact search 17 ms at 20,000 rows, 185 ms at 200,000; indexed 10 ms)."""
        rows = self.count()
        if rows < MIN_INDEX_ROWS:
            return IndexOutcome(False, rows, f"{rows} rows are fewer than {MIN_INDEX_ROWS}: search scans them")

        def index(table: "Table") -> None:
            from lancedb.index import IvfFlat

            table.create_index("vector", config=IvfFlat(distance_type="cosine"), replace=True)

        self._write(index)
        return IndexOutcome(True, rows, f"IVF_FLAT over {rows} rows")

    def optimise(self, keep_versions_for: timedelta | None = None) -> None:
        """Merge fragments, add new rows to the index, remove versions older than ``keep_versions_for`` (default: the store's)."""
        age = self.keep_versions_for if keep_versions_for is None else keep_versions_for
        if self._open() is not None:
            self._write(lambda table: table.optimize(cleanup_older_than=age))


def _quoted(value: str) -> str:
    escaped = value.replace("'", "''")
    return f"'{escaped}'"
