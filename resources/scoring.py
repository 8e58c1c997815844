"""Scoring stored runs of any family with the judge and the embeddings that the settings name."""

from pathlib import Path
from typing import TYPE_CHECKING

import dagster as dg
import polars as pl

from ml.benchmarks.families import Family, parse_protocol
from ml.tables.store import TableStore
from resources.settings import PlatformSettings

if TYPE_CHECKING:
    from ml.benchmarks.scoring import Tools


class Scorers(dg.ConfigurableResource):
    """``score`` gives the ``scores`` rows of one stored run."""

    data: str

    def score(self, experiment: str, protocol: str, store: TableStore) -> pl.DataFrame:
        from ml.benchmarks.data import benchmark_from_store
        from ml.benchmarks.scoring import default_options, score_tables

        chosen = parse_protocol(protocol)
        profile = PlatformSettings().values.benchmarks.guideme_profile.value if chosen.family is Family.GUIDEME else None
        return score_tables(
            benchmark_from_store(store, chosen.benchmark, chosen.family),
            store.read(chosen.table, f"{experiment}/{protocol}"),
            default_options(chosen.family, profile),
            self.tools(),
        )

    def tools(self) -> "Tools":
        """Encoder and judge of the settings; the judge's replies are kept like every other."""
        from ml.benchmarks.rule_judges import JUDGE_RULES
        from ml.benchmarks.scoring import Tools
        from ml.embeddings.encoder import TextEncoder
        from resources.llm import open_client, reply_cache

        settings = PlatformSettings().values
        judge = open_client(settings.benchmarks.judge, reply_cache(Path(self.data)), settings, JUDGE_RULES)
        return Tools(TextEncoder(settings.embeddings.model), judge)
