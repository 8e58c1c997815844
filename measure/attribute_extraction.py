"""Quality of attribute extraction: any backend on any labelled file, precision, recall and F1 per group.

usage: python measure/attribute_extraction.py --gold LABELS.json --predictions OUT.json [--backend rules|anthropic|openai --model M]

LABELS is a list of steps with "step_id", "text" and the attribute groups; OUT is written as {step_id: {group: ...}}.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ml.counterfactuals.asking import Question, ask
from ml.counterfactuals.registry import MISTAKE_RULES, Stage
from ml.counterfactuals.scoring import GROUPS, labelled_groups, prediction, score_attributes
from ml.errors import InputError
from ml.llm.stage import Asks
from ml.vocabulary import MistakeType, Status

sys.path.insert(0, str(Path(__file__).resolve().parent))
from llm_backends import add_backend_options, client_of


def read_labels(path: Path) -> list[dict[str, Any]]:
    """The labelled steps, or an ``InputError`` that says which step lacks what."""
    try:
        labels = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(str(error), file=path, remedy="Give a JSON list of labelled steps") from error
    if not isinstance(labels, list):
        raise InputError("not a list of steps", file=path, remedy="Give a JSON list of labelled steps")
    groups = labelled_groups([step for step in labels if isinstance(step, Mapping)]) or GROUPS
    for index, step in enumerate(labels):
        for name in ("step_id", "text", *groups):
            if not isinstance(step, Mapping) or name not in step:
                raise InputError(
                    "missing",
                    file=path,
                    record=f"step {index}",
                    field=name,
                    remedy="Label a group in every step or in none, with null where absent",
                )
    return labels


def predict(labels: Sequence[Mapping[str, Any]], client: Asks) -> tuple[dict[str, dict[str, Any]], dict[str, int]]:
    """Predictions by step id, and how many questions ended in which outcome other than ok and not_applicable.

    Only the groups that the labels have are asked for.
    """
    groups = labelled_groups(labels)
    questions = {
        (str(step["step_id"]), group): Question(Stage.EXTRACT, group, {"instruction": step["text"]}) for step in labels for group in groups
    }
    replies = ask(client, list(questions.values()))
    found: dict[str, dict[MistakeType, Any]] = defaultdict(dict)
    outcomes: dict[str, int] = defaultdict(int)
    for (step_id, mistake_type), question in questions.items():
        reply = replies[question.key]
        if reply.status is not Status.OK or reply.text is None:
            outcomes[reply.status] += 1
            continue
        attributes = MISTAKE_RULES[mistake_type].read_attributes(reply.text)
        if attributes.status in (Status.OK, Status.NOT_APPLICABLE):
            found[step_id][mistake_type] = attributes.found
        else:
            outcomes[attributes.status] += 1
    return {str(step["step_id"]): prediction(found[str(step["step_id"])], groups) for step in labels}, dict(outcomes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gold", type=Path, required=True)
    parser.add_argument("--predictions", type=Path, required=True)
    add_backend_options(parser)
    arguments = parser.parse_args()
    try:
        labels = read_labels(arguments.gold)
        predictions, outcomes = predict(labels, client_of(arguments))
    except InputError as error:
        raise SystemExit(str(error)) from error
    arguments.predictions.write_text(json.dumps(predictions, ensure_ascii=False, indent=1), encoding="utf-8")
    for group, score in score_attributes(labels, predictions).items():
        n = score.right + score.missed
        print(f"{group:12s} n={n:4d}  precision={score.precision:.3f}  recall={score.recall:.3f}  f1={score.f1:.3f}")
    for status, count in sorted(outcomes.items()):
        print(f"{count} questions ended as {status}")


if __name__ == "__main__":
    main()
