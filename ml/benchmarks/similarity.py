"""BERTScore with its baseline rescaling. The model is loaded from a local path when a scorer is made; word overlap is elsewhere."""

from collections.abc import Sequence
from dataclasses import dataclass

from ml.errors import InputError

BLANK_WARNING = "a blank text has raw F 0, which rescales far below zero; blank feedback is no event and must not be scored"


@dataclass(frozen=True)
class Baseline:
    """What unrelated English texts score: published with bert-score for roberta-large, layer 17."""

    precision: float = 0.83150584
    recall: float = 0.8314941
    f: float = 0.83122575


@dataclass(frozen=True)
class BertScoreOptions:
    """``model`` is a local folder. ``baseline`` None gives raw values, as do models without a published baseline."""

    model: str
    layers: int = 17
    use_idf: bool = False
    baseline: Baseline | None = Baseline()
    batch: int = 64


def rescale(raw: float, baseline: float) -> float:
    """(raw - baseline) / (1 - baseline); 1 stays 1."""
    return (raw - baseline) / (1 - baseline)


def unscale(rescaled: float, baseline: float) -> float:
    """Inverse of ``rescale``."""
    return baseline + rescaled * (1 - baseline)


def harmonic_f(precision: float, recall: float) -> float:
    """F of raw precision and recall. F is rescaled with its own baseline; the harmonic mean of rescaled P and R is another number."""
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def bert_scores(pairs: Sequence[tuple[str, str]], options: BertScoreOptions) -> list[float]:
    """BERTScore F of (prediction, reference) pairs, in order. Raises ``InputError`` for a blank text or when bert-score is absent."""
    for index, pair in enumerate(pairs):
        if not all(text.strip() for text in pair):
            raise InputError(BLANK_WARNING, record=f"pair {index}", field="text")
    if not pairs:
        return []
    try:
        from bert_score import BERTScorer
    except ImportError as error:
        raise InputError("bert-score is not installed", field="bertscore", remedy="pip install bert-score") from error
    scorer = BERTScorer(
        model_type=options.model, num_layers=options.layers, idf=False, batch_size=options.batch, rescale_with_baseline=False, lang="en"
    )
    if options.use_idf:
        scorer.compute_idf([reference for _, reference in pairs])
        scorer.idf = True
    values = scorer.score([prediction for prediction, _ in pairs], [reference for _, reference in pairs])[2].tolist()
    return values if options.baseline is None else [rescale(value, options.baseline.f) for value in values]
