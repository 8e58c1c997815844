"""What each table's partition is made from: the one place that says when a partition is current.

A fingerprint is a hash of the code version of the stage, the settings it reads and the fingerprints of the partitions it reads; of those
that a language model made, also their rows, since it does not answer alike twice. Bump a code version when a stage's result changes;
prompts and model weights enter by their own hashes.
"""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import polars as pl

from assets.imported import content_hash, import_partition, narrating_recordings
from ml.benchmarks.families import DATA_TABLES, BenchmarkProtocol, Family, parse_protocol
from ml.llm_stages import llm_stage
from ml.setting_sections.benchmarks import FLOORS, Assistant, AssistantKind
from ml.setting_sections.models import LLM, Narration, NarrationBackend, SchemaBy
from ml.setting_sections.sources import source_of
from ml.settings import Settings
from ml.streaming.checkpoint_files import sealed_with
from ml.tables.store import WHOLE_TABLE, TableStore, fingerprint

CODE_VERSIONS = {
    "sample_kitchen": "1",
    "imported": "2",
    "video_probe": "1",
    "recordings": "1",
    "instructions": "2",
    "proposed_steps": "2",
    "steps": "2",
    "narrations": "1",
    "attributes": "3",
    "counterfactuals": "3",
    "feedback_timestamps": "2",
    "validity_check": "1",
    "validity_answers": "1",
    "validity_sample": "1",
    "validity_review": "1",
    "comist_candidates": "3",
    "ego_comist": "2",
    "training_mix": "2",
    "checkpoint": "2",
    "benchmark_steps": "2",
    "benchmark_dialogues": "1",
    "benchmark_clips": "1",
    "predictions": "2",
    "scores": "2",
    "leaderboard": "1",
}


def file_identity(path: Path | str | None) -> str:
    """Name, size and modification time of a file; ``absent`` where it is not there."""
    try:
        found = Path(path).stat() if path is not None else None
    except OSError:
        found = None
    return "absent" if found is None else f"{path}:{found.st_size}:{found.st_mtime_ns}"


class Fingerprints:
    """Fingerprints of the partitions of one data folder under one settings file."""

    def __init__(self, store: TableStore, settings: Settings) -> None:
        self.store, self.settings = store, settings
        self._imported: dict[tuple[str, str], dict[str, str]] = {}
        self._describing: dict[str, frozenset[str]] = {}
        self._videos: dict[tuple[str, str], str] = {}

    def imported(self, table: str, recording_id: str) -> str:
        """Hash of the imported rows of one recording, so that a re-import that changes nothing makes nothing stale."""
        partition = import_partition(recording_id)
        if (table, partition) not in self._imported:
            rows = self.store.scan(table, [partition]).collect()
            self._imported[table, partition] = {
                str(key[0]): content_hash(frame) for key, frame in rows.partition_by("recording_id", as_dict=True).items()
            }
        return self._imported[table, partition].get(recording_id, "none")

    @cached_property
    def _video_paths(self) -> dict[str, str | None]:
        rows = self.store.scan("imported_recordings").select("recording_id", "video_path").collect()
        return dict(rows.iter_rows())

    def video_probe(self, recording_id: str) -> str:
        return fingerprint(CODE_VERSIONS["video_probe"], file_identity(self._video_paths.get(recording_id)))

    def recordings(self, recording_id: str) -> str:
        made = self.store.made_from("video_probe", recording_id)
        return fingerprint(CODE_VERSIONS["recordings"], made, self.imported("imported_recordings", recording_id))

    def steps(self, recording_id: str) -> str:
        made = [self.store.made_from("recordings", recording_id), self.imported("imported_steps", recording_id)]
        if recording_id in self._described(import_partition(recording_id)):
            made.append(self.store.version("instructions", recording_id))
        if self.waits_for_proposals(recording_id):
            made.append(self.store.version("proposed_steps", recording_id))
        return fingerprint(CODE_VERSIONS["steps"], made)

    def instructions(self, recording_id: str) -> str:
        """A recording whose source instructs asks nothing, and no change of prompts or models makes it stale."""
        made = [self.imported("imported_recordings", recording_id), self.imported("imported_steps", recording_id)]
        asks = recording_id in self._described(import_partition(recording_id))
        return fingerprint(CODE_VERSIONS["instructions"], made, self.llm_stage("instructions") if asks else "")

    def proposed_steps(self, recording_id: str) -> str:
        waits = self.waits_for_proposals(recording_id)
        made = [self.store.made_from("narrations", recording_id), self.llm_stage("proposed_steps")] if waits else []
        return fingerprint(CODE_VERSIONS["proposed_steps"], made)

    def waits_for_proposals(self, recording_id: str) -> bool:
        """Whether its steps are proposed: there is no recipe, and the settings want it."""
        proposes = self.settings.proposes_steps(source_of(recording_id))
        return proposes and self.imported("imported_steps", recording_id) == "none"

    def _described(self, partition: str) -> frozenset[str]:
        """Recordings of an import whose source describes some of their steps."""
        if partition not in self._describing:
            rows = self.store.scan("imported_steps", [partition]).filter(~pl.col("is_instruction")).select("recording_id")
            self._describing[partition] = frozenset(rows.collect().to_series().to_list())
        return self._describing[partition]

    def narrations(self, recording_id: str) -> str:
        own = self.imported("imported_narrations", recording_id)
        narrated = [own] if own != "none" else [own, *(self.imported("imported_narrations", i) for i in self._shared.get(recording_id, ()))]
        made = [self.store.made_from("video_probe", recording_id), self.video_probe(recording_id), *narrated]
        shaping = self.settings.narration.model_dump(exclude={"max_in_flight", "budget_usd", "api_key_variable", "device"})
        return fingerprint(CODE_VERSIONS["narrations"], made, shaping, narrator_hash(self.settings.narration))

    @cached_property
    def _shared(self) -> dict[str, list[str]]:
        return narrating_recordings(self.store, self.settings)

    def attributes(self, recording_id: str) -> str:
        types = [str(one) for one in self.settings.mistake_types(source_of(recording_id))]
        return fingerprint(CODE_VERSIONS["attributes"], self.store.made_from("steps", recording_id), self.llm_stage("attributes"), types)

    def counterfactuals(self, recording_id: str) -> str:
        made = self.store.version("attributes", recording_id)
        minimum_s = self.settings.minimum_timing_change_s(source_of(recording_id))
        return fingerprint(CODE_VERSIONS["counterfactuals"], made, self.llm_stage("counterfactuals"), minimum_s)

    def feedback_timestamps(self, recording_id: str) -> str:
        made = [self.store.version(name, recording_id) for name in ("counterfactuals", "steps", "narrations")]
        return fingerprint(CODE_VERSIONS["feedback_timestamps"], made, self.llm_stage("feedback_timestamps"))

    def validity_check(self, recording_id: str) -> str:
        made = [self.store.version(name, recording_id) for name in ("feedback_timestamps", "narrations")]
        return fingerprint(CODE_VERSIONS["validity_check"], made, self.llm_stage("validity_check"))

    def llm_stage(self, stage: str) -> str:
        """Hash of what shapes an LLM stage's replies: backend, model, their options, prompts and readers."""
        declared = llm_stage(stage)
        chosen = declared.settings(self.settings)
        rules = declared.rules_hash() if chosen.backend == "rules" else ""
        return fingerprint(self._llm(chosen), declared.version(), rules)

    def all_of(self, table: str) -> str:
        """Hash over the fingerprints and rows of every partition of a table on disk."""
        return fingerprint(*((name, self.store.version(table, name)) for name in self.store.partitions(table)))

    def sources_are_current(self) -> bool:
        made = fingerprint_of_import(self.settings)
        return all(self.store.made_from("imported_recordings", name) == made(name) for name in self.settings.all_sources())

    def comist_candidates(self) -> str:
        tables = ("counterfactuals", "feedback_timestamps", "validity_check", "recordings", "benchmark_steps")
        return fingerprint(
            CODE_VERSIONS["comist_candidates"],
            [self.all_of(name) for name in tables],
            self.settings.embeddings,
            self.settings.source_kinds(),
        )

    def ego_comist(self) -> str:
        inputs = [self.store.made_from(name) for name in ("comist_candidates", "validity_answers")]
        return fingerprint(CODE_VERSIONS["ego_comist"], inputs, self.settings.selection, self.settings.sources_of_few_texts())

    def validity_answers(self) -> str:
        from ml.validity.answers import identity

        return fingerprint(CODE_VERSIONS["validity_answers"], identity(self.settings.review_log))

    def validity_sample(self) -> str:
        return fingerprint(CODE_VERSIONS["validity_sample"], self.store.made_from("ego_comist"), self.settings.review)

    def validity_review(self) -> str:
        inputs = [self.store.made_from(name) for name in ("validity_sample", "validity_answers")]
        return fingerprint(CODE_VERSIONS["validity_review"], inputs, self.all_of("validity_check"))

    def training_mix(self, mix: str) -> str:
        inputs = [self.store.made_from("ego_comist"), self.all_of("imported_messages"), self.all_of("recordings"), self.all_of("steps")]
        return fingerprint(CODE_VERSIONS["training_mix"], inputs, self.settings.mixes[mix])

    def tuning_log(self, experiment: str) -> str:
        chosen = self.settings.experiments[experiment]
        tuned = chosen.model_dump(exclude={"device", "save_every"})
        return fingerprint(CODE_VERSIONS["checkpoint"], self.store.made_from("training_mix", chosen.mix), tuned, self._base(chosen.base))

    def benchmark_steps(self, benchmark: str) -> str:
        inputs = [self.all_of("imported_messages"), self.all_of("recordings")]
        return fingerprint(CODE_VERSIONS["benchmark_steps"], benchmark, inputs)

    def benchmark_dialogues(self, benchmark: str) -> str:
        return fingerprint(CODE_VERSIONS["benchmark_dialogues"], benchmark, self._benchmark_source(benchmark))

    def benchmark_clips(self, benchmark: str) -> str:
        return fingerprint(CODE_VERSIONS["benchmark_clips"], benchmark, self._benchmark_source(benchmark))

    def _benchmark_source(self, benchmark: str) -> str:
        source = self.settings.all_sources().get(benchmark)
        ids = self.store.scan("imported_recordings", [benchmark]).select("recording_id").collect().to_series().sort().to_list()
        recordings = [self.store.made_from("recordings", identifier) for identifier in ids]
        return fingerprint(source, folder_identity(source.annotations) if source is not None else "", ids, recordings)

    def predictions(self, run: str, assistant: Assistant | None = None) -> str:
        """``assistant`` is one that the settings do not hold."""
        experiment, name = run.split("/")
        protocol = parse_protocol(name)
        asked = assistant or self.settings.assistants.get(experiment)
        if asked is not None:
            model = self._asked(asked)
        elif experiment in self.settings.experiments:
            model = self.store.made_from("tuning_log", experiment) or ""
        else:
            model = self._base("embedded")
        data = self.store.made_from(DATA_TABLES[protocol.family][0], protocol.benchmark)
        videos = "" if experiment in FLOORS else self._videos_of(protocol)
        return fingerprint(CODE_VERSIONS["predictions"], run, model, data, videos)

    def _videos_of(self, protocol: BenchmarkProtocol) -> str:
        """Files of a benchmark's videos as they are now: a run without one of them is another when the file is there again."""
        key = (DATA_TABLES[protocol.family][0], protocol.benchmark)
        if key not in self._videos:
            rows = self.store.scan(key[0], [key[1]]).select(pl.col("video_path").unique().sort()).collect()
            self._videos[key] = fingerprint([file_identity(path) for path in rows["video_path"]])
        return self._videos[key]

    def _asked(self, assistant: Assistant) -> str:
        """What shapes the answers of a general model: not how fast it is asked, nor what it may cost."""
        from ml.benchmarks.assistants.prompts import prompts_hash
        from ml.narration.prompts import prompts_hash as narration_prompts_hash

        wording = prompts_hash()
        if assistant.kind is AssistantKind.NARRATION:
            wording = fingerprint(wording, narration_prompts_hash())
        shaping = assistant.model_dump(exclude={"device", "units_at_once", "llm", "helper"})
        models = [self._llm(assistant.llm), self._llm(assistant.helper)]
        return fingerprint(shaping, models, wording, self._base("embedded") if assistant.backend == "embedded" else "")

    def scores(self, run: str) -> str:
        from ml.benchmarks.judging import CRITERIA_HASH, GRADE_HASH
        from ml.benchmarks.options import SCORER_VERSION
        from ml.benchmarks.rule_judges import JUDGE_RULES_VERSION

        protocol = parse_protocol(run.split("/")[1])
        made = self.store.made_from(protocol.table, run)
        chosen = self.settings.benchmarks
        judge = fingerprint(self._llm(chosen.judge), GRADE_HASH, CRITERIA_HASH, JUDGE_RULES_VERSION)
        readings = {
            Family.EGO: fingerprint(chosen.bertscore),
            Family.GUIDEME: fingerprint(judge, chosen.guideme_profile, self.settings.embeddings),
            Family.COOK_MRE: judge,
        }
        options = chosen.options.get(protocol.family, ())
        return fingerprint(CODE_VERSIONS["scores"], SCORER_VERSION, made, readings[protocol.family], options)

    def _llm(self, chosen: LLM) -> str:
        """What shapes a language model's replies: not how fast it is asked, nor what it may cost."""
        shaping = {"backend", "model", "base_url", "max_tokens", "truncated_cap", "effort", "send_temperature", "extra"}
        if chosen.schema_by is not SchemaBy.FORMAT:  # the default came later and must make nothing stale
            shaping.add("schema_by")
        return fingerprint(chosen.model_dump(include=shaping))

    def leaderboard(self) -> str:
        return fingerprint(CODE_VERSIONS["leaderboard"], self.all_of("scores"))

    def _base(self, base: str) -> str:
        from ml.streaming.weights_location import embedded_weights_hash

        return embedded_weights_hash() if base == "embedded" else base

    def is_current(self, table: str, partition: str = WHOLE_TABLE) -> bool:
        """Whether a partition on disk was made from what is there now. ``predictions`` stands for the table of the run's family.

        A ``tuning_log`` is that of a whole checkpoint: one whose files a later, killed tuning has touched is not current.
        """
        wanted = getattr(self, table)() if partition == WHOLE_TABLE else getattr(self, table)(partition)
        stored = parse_protocol(partition.split("/")[1]).table if table == "predictions" else table
        if table == "tuning_log" and sealed_with(self.settings.checkpoint_folder(partition)) != wanted:
            return False
        return self.store.made_from(stored, partition) == wanted


def narrator_hash(chosen: Narration) -> str:
    """What a narrator is asked; for the embedded model, which is asked nothing, its weights."""
    from ml.narration.prompts import prompts_hash
    from ml.streaming.weights_location import embedded_weights_hash

    return embedded_weights_hash() if chosen.backend is NarrationBackend.EMBEDDED else prompts_hash()


def fingerprint_of_import(settings: Settings) -> Callable[[str], str]:
    """Fingerprint of the imported tables of a source: its settings, and the sample kitchen's where it belongs to it."""
    sources = settings.all_sources()
    kitchen = (settings.sample_kitchen_share, CODE_VERSIONS["sample_kitchen"])

    def made_from(name: str) -> str:
        source = sources[name]
        return fingerprint(
            CODE_VERSIONS["imported"], source, kitchen if name.startswith("kitchen_") else "", folder_identity(source.annotations)
        )

    return made_from


def folder_identity(folder: Path) -> str:
    """Hash over name, size and modification time of the files of an annotation folder, videos aside."""
    if not folder.is_dir():
        return "absent"
    files = sorted(p for p in folder.rglob("*") if p.suffix.lower() in {".json", ".csv", ".tsv", ".parquet", ".jsonl"})
    return fingerprint(*(file_identity(path) for path in files))


def rows_by_recording(frame: pl.DataFrame) -> dict[str, pl.DataFrame]:
    return {str(key[0]): group for key, group in frame.partition_by("recording_id", as_dict=True).items()}
