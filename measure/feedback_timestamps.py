"""Quality of feedback timestamps: any backend on any file of cases; right answers in all and per mistake type, and each miss.

usage: python measure/feedback_timestamps.py --cases CASES.json [--backend rules|anthropic|openai --model M]

A case has id, mistake_type, direction, both instructions, attributes, clip_duration_s, options, accepted (null: never apparent) and
narrations [{start_s, end_s, text}].
"""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ml.counterfactuals.asking import Question, ask
from ml.counterfactuals.mistake_rules import Question as Moments
from ml.counterfactuals.reading import Moment, clean
from ml.counterfactuals.registry import MISTAKE_RULES, Stage
from ml.errors import InputError
from ml.llm.stage import Asks
from ml.vocabulary import Direction, MistakeType, Status

sys.path.insert(0, str(Path(__file__).resolve().parent))
from llm_backends import add_backend_options, client_of

# Names of the paper's prompts, which case files use, and the platform's.
FIELD_NAMES = {
    "current_prep_method": "method",
    "alternative_prep_method": "counterfactual_method",
    "alternative_technique": "counterfactual_technique",
    "current_prep_method_duration": "method_duration",
    "alternative_prep_method_duration": "counterfactual_method_duration",
}
NEEDED = (
    "id",
    "mistake_type",
    "direction",
    "attributes",
    "clip_duration_s",
    "options",
    "accepted",
    "narrations",
    "counterfactual_instruction",
)


@dataclass(frozen=True)
class Result:
    case_id: str
    mistake_type: str
    moment: Moment
    accepted: tuple[float | None, ...]

    @property
    def is_right(self) -> bool:
        if self.moment.status is Status.NEVER_APPARENT:
            return None in self.accepted
        return self.moment.t_s is not None and any(time is not None and abs(time - self.moment.t_s) < 0.05 for time in self.accepted)


def read_cases(path: Path) -> list[dict[str, Any]]:
    """The cases, or an ``InputError`` that says which lacks what."""
    try:
        cases = json.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(str(error), file=path, remedy="Give a JSON list of cases") from error
    for index, case in enumerate(cases):
        if missing := [name for name in NEEDED if name not in case]:
            raise InputError(
                "missing", file=path, record=f"case {case.get('id', index)}", field=missing[0], remedy="See the script's docstring"
            )
    return cases


def question_of(case: Mapping[str, Any]) -> tuple[Question, Moments]:
    """The stage 2 question of a case and what its answer is checked against."""
    fields = {FIELD_NAMES.get(name, name): text for name, value in case["attributes"].items() if (text := clean(value)) is not None}
    mistake_type, direction = MistakeType(case["mistake_type"]), Direction(case["direction"])
    start, end = 0.0, float(case["clip_duration_s"])
    options = [float(option) for option in case["options"]]
    inputs = {
        "instruction": case.get("original_instruction"),
        "counterfactual_instruction": case["counterfactual_instruction"],
        **fields,
        "mistake_type": mistake_type,
        "direction": direction,
        "narrations": case["narrations"],
        "options": options,
        "clip_start_s": start,
        "clip_end_s": end,
    }
    return Question(Stage.TIMESTAMP, mistake_type, inputs), Moments(fields, direction, options, start, end)


def run(cases: Sequence[Mapping[str, Any]], client: Asks) -> list[Result]:
    """Each case's answer, read and checked as the platform does."""
    asked = [question_of(case) for case in cases]
    replies = ask(client, [question for question, _ in asked])
    results = []
    for case, (question, moments) in zip(cases, asked, strict=True):
        reply = replies[question.key]
        if reply.status is not Status.OK or reply.text is None:
            moment = Moment(None, reply.status, reply.reason)
        else:
            moment = MISTAKE_RULES[question.mistake_type].read_moment(reply.text, moments)
        results.append(Result(case["id"], question.mistake_type, moment, tuple(case["accepted"])))
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=Path, required=True)
    add_backend_options(parser)
    arguments = parser.parse_args()
    try:
        results = run(read_cases(arguments.cases), client_of(arguments))
    except InputError as error:
        raise SystemExit(str(error)) from error
    totals, right = Counter(r.mistake_type for r in results), Counter(r.mistake_type for r in results if r.is_right)
    print(f"right {right.total()}/{totals.total()}")
    for mistake_type in sorted(totals):
        print(f"  {mistake_type:12s} {right[mistake_type]}/{totals[mistake_type]}")
    for result in results:
        if not result.is_right:
            given = f"{result.moment.t_s:g} s" if result.moment.t_s is not None else f"{result.moment.status} ({result.moment.reason})"
            wanted = ", ".join("never" if time is None else f"{time:g} s" for time in result.accepted)
            print(f"miss {result.case_id}: {given}; accepted {wanted}")


if __name__ == "__main__":
    main()
