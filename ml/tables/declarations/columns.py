"""Dtypes and columns that tables of several families share. No table is declared here."""

import polars as pl

from ml.tables.schema import Column
from ml.vocabulary import Direction, MistakeType, Split, Status

TEXT, REAL, WHOLE, FLAG = pl.String(), pl.Float64(), pl.Int64(), pl.Boolean()
TEXTS = pl.List(pl.String())
FIELDS = pl.List(pl.Struct({"name": pl.String(), "value": pl.String()}))
MESSAGES = pl.List(pl.Struct({"t_s": pl.Float64(), "kind": pl.String(), "text": pl.String()}))

RECORDING_ID = Column("recording_id", TEXT, "`<source>/<native id>`")
STEP_UID = Column("step_uid", TEXT, "step within its recording: `<native step id>#<occurrence>`; stable over re-imports")
PAIR_ID = Column("pair_id", TEXT, "hash of recording, step, mistake type, attribute index and direction")
MISTAKE_TYPE = Column("mistake_type", TEXT, "mistake type", allowed=tuple(MistakeType))
DIRECTION = Column("direction", TEXT, "counterfactual attribute relative to the original", allowed=tuple(Direction))
STATUS = Column("status", TEXT, "outcome of the row", allowed=tuple(Status))
REASON = Column("reason", TEXT, "why the status is not ok", nullable=True)
SPLIT = Column("split", TEXT, "split of the recording", nullable=True, allowed=tuple(Split))
INSTRUCTION = Column("instruction", TEXT, "what the person is asked to do")
EXPERIMENT = Column("experiment", TEXT, "what was tuned or scored: an experiment of the settings, or a floor")
PROTOCOL = Column("protocol", TEXT, "benchmark and how it feeds the model: `<benchmark>.<feed>`, see `ml.benchmarks.families`")


def null(name: str, dtype: pl.DataType, doc: str, allowed: tuple[str, ...] | None = None) -> Column:
    return Column(name, dtype, doc, nullable=True, allowed=allowed)
