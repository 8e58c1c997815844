"""Hash of one stage's prompts and readers: part of its code version, so that a changed prompt makes only its own stage stale."""

import hashlib
import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from ml.counterfactuals.prompts.template import fill_hash
from ml.counterfactuals.registry import MISTAKE_RULES, PARSER_VERSION, Stage, reply_schema
from ml.errors import InputError

PROMPTS_OF = {
    "attributes": ("system", "extract"),
    "counterfactuals": ("system", "change", "instruct", "feedback"),
    "feedback_timestamps": ("system", "timestamp"),
}


@lru_cache
def rules_hash() -> str:
    """12 hex digits over the source of the offline rules and their word lists: what a rules backend's answers depend on."""
    folder = Path(__file__).parent
    files = sorted(path for room in ("rules", "lexicon", "types") for path in (folder / room).rglob("*.py"))
    digest = hashlib.sha256()
    for path in (*files, *sorted(folder.glob("*.py"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def stage_hash(stage: str) -> str:
    """12 hex digits. Raises ``InputError`` for an unknown stage."""
    if stage not in PROMPTS_OF:
        raise InputError(f"no stage {stage!r}", remedy=f"Stages: {', '.join(PROMPTS_OF)}")
    texts: list[list[Any]] = []
    stages = {one.value for one in Stage}
    for mistake_type, rules in sorted(MISTAKE_RULES.items()):
        for name in PROMPTS_OF[stage]:
            text = getattr(rules.prompts, name)
            texts.append([mistake_type, name, text if isinstance(text, str) else {str(k): v for k, v in sorted(text.items())}])
            if name in stages:
                texts.append([mistake_type, name, reply_schema(Stage(name), mistake_type)])
    return hashlib.sha256(json.dumps([PARSER_VERSION, fill_hash(), texts], ensure_ascii=False).encode()).hexdigest()[:12]
