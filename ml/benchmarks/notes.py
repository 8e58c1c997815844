"""What a reader of a run's figures must know, in sentences. The figures themselves are made in ``scoring``."""

from typing import TYPE_CHECKING

import polars as pl

from ml.benchmarks.families import Family, parse_protocol
from ml.benchmarks.guideme.options import GuideMeOptions, Instants, SilenceRule
from ml.benchmarks.guideme.timeline import is_silence
from ml.benchmarks.options import flat
from ml.benchmarks.report import failure_line
from ml.embeddings.encoder import EMBEDDED_NAME
from ml.vocabulary import Status

if TYPE_CHECKING:
    from ml.benchmarks.scoring import Options, Run


def _balance(run: "Run") -> list[str]:
    """Whether an anchor run has as many silent instants as references."""
    if parse_protocol(run.protocol).feed != "anchor":
        return []
    counts = [(sum(not is_silence(x.reference) for x in video.instants), len(video.instants)) for video in run.videos]
    short = sum(instants < 2 * references for references, instants in counts)
    references, instants = (sum(column) for column in zip(*counts, strict=True)) if counts else (0, 0)
    if not short:
        return []
    silent = instants - references
    return [f"Instants: {references} with a reference, {silent} silent; {short} videos have fewer silent ones than references."]


def _silence(run: "Run") -> list[str]:
    """What counts as silence here, where that may not be what was meant."""
    rule = run.options.soft.silence if isinstance(run.options, GuideMeOptions) else SilenceRule.OFFICIAL
    said = run.predictions.filter(pl.col("status") == Status.OK)["said"].drop_nulls().to_list()
    nearly = sum(is_silence(text, SilenceRule.LENIENT) and not is_silence(text, rule) for text in said)
    notes = []
    if nearly:
        notes.append(
            f"{nearly} of {len(said)} answers are the word Silent with punctuation: talk, as the released scorer takes them. "
            "`--option soft.silence=lenient` takes them for silence."
        )
    if run.instants is Instants.ROWS_ELSE_SILENCE:
        notes.append("Instants that the file lacks are taken for silence.")
    elif run.instants is Instants.ROWS and said and not nearly and not any(is_silence(text, rule) for text in said):
        notes.append("The file holds no silent instant. If it lists utterances only, say so: --absent-is-silence.")
    return notes


def notes_on(run: "Run", scores: pl.DataFrame, reported: "Options") -> tuple[str, ...]:
    """What a reader of the figures must know."""
    notes = [failure_line(scores, run.data.family)]
    if run.data.family is Family.EGO and (absent := set(run.data.recordings) - set(run.predictions["recording_id"])):
        notes.append(f"Recordings without any prediction: {len(absent)} of {len(run.data.recordings)}.")
    usual = flat(reported)
    other = [f"{name}={value}" for name, value in flat(run.options).items() if value != usual[name]]
    if other:
        notes.append(f"Scorer options other than the reported ones: {', '.join(other)}.")
    if run.data.family is Family.GUIDEME:
        notes += _balance(run)
        if run.tools.encoder.name.startswith(EMBEDDED_NAME):
            notes.append(
                "Texts are embedded by all-MiniLM-L6-v2, the paper's by all-mpnet-base-v2: soft values are not comparable with it."
            )
        notes += _silence(run)
    judged = run.judged_by
    if judged is not None and judged.model == "rules":
        notes.append("Judged by rules on words, which measure less than a language model: not comparable with the paper.")
    if judged is None and run.data.family is not Family.EGO:
        notes.append("Without a judge: values that need one are left out.")
    return tuple(notes)
