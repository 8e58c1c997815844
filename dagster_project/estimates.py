"""What LLM stages would ask and cost over recordings, before anything is spent. The estimate of given requests: ``ml.llm.estimate``."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatch

import polars as pl

from assets.fingerprints import Fingerprints
from ml.errors import InputError
from ml.llm.dry_run import Questions, dry_run
from ml.llm.estimate import Estimate, estimate
from ml.llm.stage import Inputs, LLMStage
from ml.llm_stages import LLM_STAGES, llm_stage
from ml.setting_sections.models import LLM, NarrationBackend
from ml.setting_sections.sources import RAW_VIDEOS
from ml.settings import Settings
from ml.tables.catalogue import TABLES
from ml.tables.schema import Partitioning
from ml.tables.store import TableStore
from resources.llm import open_client, reply_cache

ALL, NARRATIONS, INSTRUCTIONS, PROPOSED_STEPS = "all", "narrations", "instructions", "proposed_steps"


@dataclass(frozen=True)
class StageEstimate:
    """One stage over the recordings that are ``due``: not made yet, or made from something else than what is there now.

    ``waits`` counts those of them whose inputs are not made yet, by the table that is missing: what they will ask is in no figure here.
    """

    stage: str
    model: str
    is_batch: bool
    due: int
    found: Estimate
    questions: int
    waits: Mapping[str, int] = field(default_factory=dict)


def stage_names(stage: str) -> list[str]:
    """``all`` or one stage, as names in the graph's order; ``narrations`` is one where a served model tells them."""
    if stage == ALL:
        return [NARRATIONS, *LLM_STAGES]
    return [stage if stage == NARRATIONS else llm_stage(stage).name]


def recordings_by_stage(store: TableStore, settings: Settings, pattern: str | None, names: Sequence[str]) -> dict[str, list[str]]:
    """The recordings that every stage is estimated over: those of ``chosen_recordings``.

    Without a pattern, ``instructions`` has those that any source describes, since it is asked for all of them. Raises ``InputError``
    where none of the stages ``names`` has any.
    """
    described = _described(store) if pattern is None else []
    try:
        ids = chosen_recordings(store, settings, pattern)
    except InputError:
        if not described or INSTRUCTIONS not in names:
            raise
        ids = []
    return dict.fromkeys((NARRATIONS, *LLM_STAGES), ids) | ({INSTRUCTIONS: described} if pattern is None else {})


def _described(store: TableStore) -> list[str]:
    rows = store.scan("imported_steps").filter(~pl.col("is_instruction"))
    return rows.select("recording_id").unique().sort("recording_id").collect()["recording_id"].to_list()


def chosen_recordings(store: TableStore, settings: Settings, pattern: str | None) -> list[str]:
    """Imported recordings that match a shell pattern such as ``captaincook4d/*``.

    Without one, those of the sources whose steps become pairs, and raw videos. Raises ``InputError`` where there are none.
    """
    sources = settings.all_sources()
    ids = store.scan("imported_recordings").select("recording_id").unique().sort("recording_id").collect()["recording_id"].to_list()

    def wanted(identifier: str) -> bool:
        if pattern is not None:
            return fnmatch(identifier, pattern)
        name = identifier.split("/", 1)[0]
        return name == RAW_VIDEOS or (name in sources and sources[name].counterfactuals)

    found = [identifier for identifier in ids if wanted(identifier)]
    if not found:
        problem = "no recording is imported yet" if not ids else f"none of {len(ids)} imported recordings is chosen"
        known = sorted({one.split("/", 1)[0] for one in ids})
        remedy = (
            f"Sources that are imported: {', '.join(known)}; --recordings takes a pattern such as '{known[0]}/*'"
            if known
            else "Run sources_job"
        )
        raise InputError(problem, field="recordings", remedy=remedy)
    return found


class DryRuns:
    """Dry runs of stages one after another: a stage that is due reads what the stages before it would make.

    ``recordings`` are those of every stage, by its name. ``chosen`` are language models to suppose, by stage: what another one made is due.
    """

    def __init__(
        self, store: TableStore, settings: Settings, recordings: Mapping[str, Sequence[str]], chosen: Mapping[str, LLM] | None = None
    ) -> None:
        stages = settings.stages.model_copy(update=dict(chosen or {}))
        self._settings = settings.model_copy(update={"stages": stages})
        self._store, self._recordings = store, recordings
        self._made: dict[str, pl.DataFrame] = {}
        self._due: dict[str, set[str]] = {}

    def due(self, name: str) -> set[str]:
        """Recordings that a run of the stage would make."""
        if name not in self._due:
            stage, prints = LLM_STAGES[name], Fingerprints(self._store, self._settings)
            before: set[str] = set().union(*(self.due(table) for table in stage.reads if table in LLM_STAGES))
            made_from = getattr(prints, name)
            stale = {one for one in self._recordings[name] if self._store.made_from(name, one) != made_from(one)} - before
            self._due[name] = before | stale
        return self._due[name]

    def run(self, name: str, only: Collection[str] | None = None) -> tuple[pl.DataFrame, Questions]:
        """The stage over what is due, or over ``only`` whether due or not."""
        stage = LLM_STAGES[name]
        ids = [one for one in self._recordings[name] if one in (self.due(name) if only is None else only)]
        chosen = stage.settings(self._settings)
        cache = reply_cache(self._settings.data)
        client = open_client(chosen, cache if cache.path.exists() else None, self._settings, stage.rules(), needs_key=False)
        made, questions = dry_run(stage, self.inputs(stage, ids), client)
        self._made[name] = made
        return made, questions

    def inputs(self, stage: LLMStage, ids: Sequence[str]) -> Inputs:
        """The stage's inputs: from disk where they are current, else as the stages before would make them."""
        read = stage.read(self._store, self._settings, ids)
        tables = dict(read.tables)
        for table in stage.reads:
            if table in LLM_STAGES and (stale := self.due(table) & set(ids)):
                if table not in self._made:
                    self.run(table)
                kept = tables[table].filter(~pl.col("recording_id").is_in(list(stale)))
                dry = self._made[table].filter(pl.col("recording_id").is_in(list(stale)))
                tables[table] = pl.concat([kept, dry])
        return Inputs(tables, self._settings)

    def estimate(self, name: str) -> StageEstimate:
        chosen = LLM_STAGES[name].settings(self._settings)
        _, questions = self.run(name)
        found = estimate(questions.asked, questions.client, is_batch=chosen.batch, guesses=questions.stood_in)
        asks = len({one.key for one in questions.asked})
        return StageEstimate(name, questions.model, chosen.batch, len(self.due(name)), found, asks, self.waits(name))

    def waits(self, name: str) -> dict[str, int]:
        """How many due recordings lack a table that is no LLM stage's, by that table, through all stages before this one."""
        missing: dict[str, set[str]] = {}
        prints = Fingerprints(self._store, self._settings)
        due = {one for one in self.due(name) if name != PROPOSED_STEPS or prints.waits_for_proposals(one)}
        todo = [name]
        while todo:
            for table in LLM_STAGES[todo.pop()].reads:
                if table in LLM_STAGES:
                    todo.append(table)
                elif TABLES[table].partitioning is Partitioning.RECORDING:
                    missing.setdefault(table, set()).update(one for one in due if not self._store.has(table, one))
        return {table: len(ids) for table, ids in sorted(missing.items()) if ids}


def estimate_narrations(store: TableStore, settings: Settings, recordings: Sequence[str]) -> StageEstimate:
    """What a served video model would be asked about the windows that are due; a model that runs here costs nothing."""
    from ml.narration.estimating import blank_requests
    from ml.narration.narrator import FramePlan
    from resources.narrator import served_model

    chosen, prints = settings.narration, Fingerprints(store, settings)
    sizes = store.scan("video_probe", recordings).select("recording_id", "width", "height")
    usable = store.scan("recordings", recordings).filter((pl.col("video_status") == "ok") & pl.col("video_path").is_not_null())
    told = set(store.scan("imported_narrations").select("recording_id").unique().collect()["recording_id"])
    found = usable.join(sizes, on="recording_id").select("recording_id", "duration_s", "width", "height").collect().iter_rows()
    due = [row for row in found if row[0] not in told and store.made_from(NARRATIONS, row[0]) != prints.narrations(row[0])]
    if chosen.backend not in (NarrationBackend.OPENAI, NarrationBackend.ANTHROPIC):
        return StageEstimate(NARRATIONS, chosen.backend.value, False, len(due), Estimate(0, 0, 0, 0, 0.0, 0.0, 0.0), 0)
    plan = FramePlan(chosen.frames_per_second, chosen.box, max_frames=chosen.max_frames)
    cache = reply_cache(settings.data)
    client = open_client(served_model(chosen), cache if cache.path.exists() else None, settings, needs_key=False)
    sizes_px = ((name, seconds, (width, height)) for name, seconds, width, height in due)
    requests = blank_requests(sizes_px, plan, client.image_limits)
    unseen = sum(not store.has("recordings", one) and not store.has(NARRATIONS, one) for one in recordings)
    waits = {"recordings": unseen} if unseen else {}
    return StageEstimate(NARRATIONS, client.model, False, len(due), estimate(requests, client), len(requests), waits)
