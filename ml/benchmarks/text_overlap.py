"""ROUGE-L between two texts, with the tokenizers and variants that papers use. Model-based similarity is elsewhere."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from rouge_score import rouge_scorer, tokenizers

_ASCII_TOKEN = re.compile(r"[a-z0-9]+")
# Scripts written without spaces: every character is a token, as a run of them would be one all-or-nothing word.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f\U00020000-\U0003ffff]"
)


class Tokenizer(StrEnum):
    """``unicode`` keeps every script and number sign ("½"); ``original`` is rouge-score's own [a-z0-9]+."""

    UNICODE = "unicode"
    ORIGINAL = "original"


class RougeVariant(StrEnum):
    """``google``: rouge-score, F1. ``coco``: pycocoevalcap's measure, beta 1.2, words as they stand, case kept."""

    GOOGLE = "google"
    COCO = "coco"


@dataclass(frozen=True)
class RougeOptions:
    """Defaults are the reported ones; ``beta`` is used by the COCO variant only, the stemmer by the original tokenizer only."""

    variant: RougeVariant = RougeVariant.GOOGLE
    tokenizer: Tokenizer = Tokenizer.UNICODE
    use_stemmer: bool = False
    coco_beta: float = 1.2


def unicode_tokens(text: str) -> list[str]:
    """Lower-cased words of any script; unspaced scripts by character; number signs such as "½" and "²" are tokens of their own.

    Equal to rouge-score's own tokens on ASCII. Canonical composition only: compatibility folding would make "½" into "1⁄2".
    """
    lowered = text.lower()
    if lowered.isascii():
        return _ASCII_TOKEN.findall(lowered)
    tokens: list[str] = []
    is_open = False  # whether the next character may go on with the last token
    for character in unicodedata.normalize("NFC", lowered):
        category = unicodedata.category(character)
        if category[0] == "M" and tokens:
            tokens[-1] += character
        elif category == "No" or (category[0] == "L" and _UNSPACED.match(character)):
            tokens.append(character)
            is_open = False
        elif category[0] in "LN":
            if is_open:
                tokens[-1] += character
            else:
                tokens.append(character)
            is_open = True
        else:
            is_open = False
    return tokens


class _UnicodeTokenizer(tokenizers.Tokenizer):
    def __init__(self, stem: bool) -> None:
        self._stemmer = tokenizers.porter.PorterStemmer() if stem else None

    def tokenize(self, text: str) -> list[str]:
        tokens = unicode_tokens(text)
        if self._stemmer is None:
            return tokens
        return [self._stemmer.stem(token) if len(token) > 3 else token for token in tokens]


@lru_cache(maxsize=8)
def _scorer(tokenizer: Tokenizer, use_stemmer: bool) -> rouge_scorer.RougeScorer:
    own = _UnicodeTokenizer(use_stemmer) if tokenizer is Tokenizer.UNICODE else None
    return rouge_scorer.RougeScorer(["rougeL"], use_stemmer=use_stemmer, tokenizer=own)


@lru_cache(maxsize=1 << 16)
def rouge_l(prediction: str, reference: str, options: RougeOptions = RougeOptions()) -> float:
    """ROUGE-L F of two texts, 0..1; 0 when either has no token.

    Source: Lin 2004; pycocoevalcap for the COCO variant, F = (1+b^2)PR / (R + b^2 P).
    """
    if options.variant is RougeVariant.COCO:
        return _coco(prediction.split(), reference.split(), options.coco_beta)
    return float(_scorer(options.tokenizer, options.use_stemmer).score(reference, prediction)["rougeL"].fmeasure)


def _coco(prediction: Sequence[str], reference: Sequence[str], beta: float) -> float:
    if not prediction or not reference:
        return 0.0
    common = _common_length(prediction, reference)
    if common == 0:
        return 0.0
    precision, recall = common / len(prediction), common / len(reference)
    return (1 + beta**2) * precision * recall / (recall + beta**2 * precision)


def _common_length(a: Sequence[str], b: Sequence[str]) -> int:
    row = [0] * (len(b) + 1)
    for word in a:
        diagonal = 0
        for j, other in enumerate(b, 1):
            diagonal, row[j] = row[j], diagonal + 1 if word == other else max(row[j], row[j - 1])
    return row[-1]


def mean_rouge_l(
    pairs: Sequence[tuple[str, str]],
    options: RougeOptions = RougeOptions(),
    empty: float | None = 0.0,
) -> float | None:
    """Mean over (prediction, reference) pairs; ``empty`` when there is no pair (the papers' tables print 0)."""
    if not pairs:
        return empty
    return sum(rouge_l(prediction, reference, options) for prediction, reference in pairs) / len(pairs)
