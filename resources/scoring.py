"""Scoring stored runs of any family with the judge and the embeddings that the settings name."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg
import polars as pl
from pydantic import PrivateAttr

from ml.benchmarks.families import Family, parse_protocol
from ml.setting_sections.benchmarks import FLOORS, BertScoreModel
from ml.setting_sections.models import LLMBackend
from ml.tables.store import TableStore
from resources.settings import PlatformSettings

if TYPE_CHECKING:
    from ml.benchmarks.scoring import Run, Scored, Tools
    from ml.benchmarks.similarity import BertScore


def bertscore_of(chosen: BertScoreModel | None) -> "BertScore | None":
    from ml.benchmarks.similarity import BertScore, BertScoreOptions

    return None if chosen is None else BertScore(BertScoreOptions(chosen.model, chosen.layers, rescale=chosen.rescale))


class Scorers(dg.ConfigurableResource):
    """``score`` gives the ``scores`` rows of one stored run, ``scored`` the run with its floors and its report."""

    data: str
    _tools: Any = PrivateAttr(default=None)  # the encoder is loaded once

    def score(self, experiment: str, protocol: str, store: TableStore) -> pl.DataFrame:
        """Rows of the run alone. Raises ``InputError`` where every item of it failed."""
        from ml.benchmarks.running import check_run

        run = self._run(experiment, protocol, store)
        check_run(run.predictions)
        return run.scores()

    def scored(self, experiment: str, protocol: str, store: TableStore) -> "Scored":
        """The run beside its floors, ready to be shown and written as a report."""
        from ml.benchmarks.scoring import scored_run
        from resources.assistants import median_step_s

        return scored_run(self._run(experiment, protocol, store), floors=experiment not in FLOORS, median_step_s=median_step_s(store))

    def spend(self) -> dict[str, float | int | str]:
        """What the judge's calls used so far, as asset metadata; nothing where it is the offline rules or was not needed."""
        from resources.llm import spend_metadata

        judge = PlatformSettings().values.benchmarks.judge
        if self._tools is None or judge.backend is LLMBackend.RULES:
            return {}
        return {name.replace("run ", "run judge ", 1): value for name, value in spend_metadata(self._tools.judge.report()).items()}

    def _run(self, experiment: str, protocol: str, store: TableStore) -> "Run":
        from ml.benchmarks.assistants.floors import TIMER
        from ml.benchmarks.data import benchmark_from_store
        from ml.benchmarks.scoring import Run, default_options
        from resources.assistants import median_step_s

        chosen = parse_protocol(protocol)
        benchmarks = PlatformSettings().values.benchmarks
        profile = benchmarks.guideme_profile.value if chosen.family is Family.GUIDEME else None
        data = benchmark_from_store(store, chosen.benchmark, chosen.family)
        predictions = store.read(chosen.table, f"{experiment}/{protocol}")
        options = default_options(chosen.family, profile, benchmarks.options.get(chosen.family, ()))
        timer_s = median_step_s(store) if experiment == TIMER else None
        return Run(data, predictions, options, self.tools(), timer_s=timer_s)

    def tools(self) -> "Tools":
        """Encoder, judge and BERTScore of the settings; the judge's replies are kept like every other."""
        from ml.benchmarks.rule_judges import JUDGE_RULES
        from ml.benchmarks.scoring import Tools
        from ml.embeddings.encoder import TextEncoder
        from resources.llm import open_client, reply_cache

        if self._tools is None:
            settings = PlatformSettings().values
            judge = open_client(settings.benchmarks.judge, reply_cache(Path(self.data)), settings, JUDGE_RULES)
            self._tools = Tools(TextEncoder(settings.embeddings.model), judge, bertscore_of(settings.benchmarks.bertscore))
        tools: Tools = self._tools
        return tools
