"""Where the embedded checkpoint lies and what it is: paths and a hash, importable without torch."""

import hashlib
from functools import lru_cache
from pathlib import Path

WEIGHTS_FOLDER = Path(__file__).parent / "weights"
WEIGHTS_FILE = "model.safetensors"


@lru_cache
def embedded_weights_hash(folder: Path = WEIGHTS_FOLDER) -> str:
    """Hash of the weights and the tokenizer, 16 hex digits; ``absent`` where no weights lie."""
    digest = hashlib.sha256()
    for name in (WEIGHTS_FILE, "tokenizer.json"):
        if not (folder / name).exists():
            return "absent"
        digest.update((folder / name).read_bytes())
    return digest.hexdigest()[:16]
