"""BERTScore with its baseline rescaling, from a local model folder or a model name. Word overlap is elsewhere.

Raw values of unrelated texts lie high and differ by model and layer; rescaled ones are about 0 for unrelated and 1 for equal texts.
"""

import csv
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from ml.benchmarks.unrelated_sentences import UNRELATED, unrelated_pairs
from ml.errors import InputError
from ml.hub import model_source, plain_name

if TYPE_CHECKING:
    from bert_score import BERTScorer

REPORTED_MODEL, REPORTED_LAYERS = "roberta-large", 17
BLANK_WARNING = "a blank text has raw F 0, which rescales far below zero; blank feedback is no event and must not be scored"


@dataclass(frozen=True)
class Baseline:
    """What unrelated English texts score: published with bert-score for roberta-large, layer 17."""

    precision: float = 0.83150584
    recall: float = 0.8314941
    f: float = 0.83122575


@dataclass(frozen=True)
class BertScoreOptions:
    """``model`` is a local folder or a name; ``layers`` None takes bert-score's layer for a known name, else the last.

    F is rescaled with the model's own baseline: the one that bert-score publishes for a model and layer, found by the name of the folder,
    else one measured on unrelated sentences. ``baseline`` gives another one; ``rescale`` off gives raw values.
    """

    model: str = REPORTED_MODEL
    layers: int | None = None
    use_idf: bool = False
    rescale: bool = True
    baseline: Baseline | None = None
    batch: int = 64


@dataclass(frozen=True)
class BertScoreIdentity:
    """What a BERTScore was made with: part of its result's options hash."""

    model: str
    layers: int
    use_idf: bool
    baseline: float | None
    version: str


def rescale(raw: float, baseline: float) -> float:
    """(raw - baseline) / (1 - baseline); 1 stays 1."""
    return (raw - baseline) / (1 - baseline)


def unscale(rescaled: float, baseline: float) -> float:
    """Inverse of ``rescale``."""
    return baseline + rescaled * (1 - baseline)


def harmonic_f(precision: float, recall: float) -> float:
    """F of raw precision and recall. F is rescaled with its own baseline; the harmonic mean of rescaled P and R is another number."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


@dataclass(frozen=True)
class BertScore:
    """Scores (prediction, reference) pairs; the model is loaded at the first pair. Usable as ``ml.benchmarks.ego.scores.FluencyScorer``."""

    options: BertScoreOptions = field(default_factory=BertScoreOptions)

    def __call__(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """F per pair, in order. Raises ``InputError`` for a blank text, an absent model, or when bert-score is absent."""
        for index, pair in enumerate(pairs):
            if not all(text.strip() for text in pair):
                raise InputError(BLANK_WARNING, record=f"pair {index}", field="text")
        values = self._raw(pairs)
        return values if self.baseline is None else [rescale(value, self.baseline) for value in values]

    @cached_property
    def baseline(self) -> float | None:
        """F of unrelated texts that is taken as 0; None for raw values."""
        if not self.options.rescale:
            return None
        if self.options.baseline is not None:
            return self.options.baseline.f
        published = published_baseline(plain_name(self.options.model), self.layers)
        if published is not None:
            return published.f
        values = self._raw(unrelated_pairs(UNRELATED))
        return sum(values) / len(values)

    @cached_property
    def layers(self) -> int:
        """Layer whose vectors are compared."""
        if self.options.layers is not None:
            return self.options.layers
        from bert_score.utils import model2layers

        known = model2layers.get(plain_name(self.options.model))
        if known is not None:
            return int(known)
        from transformers import AutoConfig

        return int(AutoConfig.from_pretrained(self._source).num_hidden_layers)

    @cached_property
    def identity(self) -> BertScoreIdentity:
        baseline = None if self.baseline is None else round(self.baseline, 6)
        return BertScoreIdentity(_model_identity(self._source), self.layers, self.options.use_idf, baseline, version("bert-score"))

    @cached_property
    def _source(self) -> str:
        path = Path(self.options.model).expanduser()
        if path.is_dir():
            return str(path)
        if path.is_absolute() or self.options.model.startswith("."):
            raise InputError("the BERTScore model folder does not exist", file=path, remedy="Give a folder with config.json and weights")
        return model_source(self.options.model, field="benchmarks.bertscore")

    @cached_property
    def _scorer(self) -> "BERTScorer":
        try:
            from bert_score import BERTScorer
        except ImportError as error:
            raise InputError("bert-score is not installed", field="bertscore", remedy="pip install bert-score") from error
        try:
            return BERTScorer(
                model_type=self._source,
                num_layers=self.layers,
                idf=False,
                batch_size=self.options.batch,
                lang="en",
            )
        except (OSError, AssertionError) as error:
            raise InputError(
                f"the model cannot be loaded: {str(error).splitlines()[0]}",
                record=self.options.model,
                field="bertscore",
                remedy="Give a local model folder; its number of layers bounds the layer",
            ) from error

    def _raw(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        if not pairs:
            return []
        scorer = self._scorer
        if self.options.use_idf:
            scorer.compute_idf([reference for _, reference in pairs])
            scorer.idf = True
        values = scorer.score([prediction for prediction, _ in pairs], [reference for _, reference in pairs])[2]
        return [float(value) for value in values.tolist()]


def published_baseline(model: str, layers: int) -> Baseline | None:
    """The English baseline that bert-score ships for a model name and layer; None where it ships none."""
    table = files("bert_score").joinpath("rescale_baseline", "en", f"{model}.tsv")
    if not table.is_file():
        return None
    rows = {int(row["LAYER"]): row for row in csv.DictReader(table.read_text(encoding="utf-8").splitlines())}
    row = rows.get(layers)
    return None if row is None else Baseline(float(row["P"]), float(row["R"]), float(row["F"]))


def _model_identity(source: str) -> str:
    """Name, and for a folder (a pinned revision's snapshot too) the first 12 digits of its weights' SHA-256."""
    folder = Path(source)
    if not folder.is_dir():
        return source
    digest = hashlib.sha256()
    for weights in sorted(path for path in folder.iterdir() if path.suffix in {".safetensors", ".bin"}):
        with weights.open("rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    return f"{folder.name}@{digest.hexdigest()[:12]}"
