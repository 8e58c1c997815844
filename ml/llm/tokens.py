"""Token counts without a tokenizer: a stated rule for estimates and a higher one for budgets.

Providers keep their vocabularies to themselves or behind a download, so length is counted in characters: four a token is the common rule
for English prose and is what ``estimate`` takes; ``ceiling`` takes 2.5, because JSON and digits need more, and is what a budget reserves.
Text outside ASCII counts a token a character. An estimate that must be right asks the provider's counter instead.
"""

import json

from ml.errors import InputError
from ml.llm.images import PIXELS_PER_TOKEN, ImageLimits, size
from ml.llm.requests import Request

CHARACTERS_PER_TOKEN = 4.0
CEILING_CHARACTERS_PER_TOKEN = 2.5
MESSAGE_OVERHEAD = 8  # role marks and the like


def text_tokens(text: str, per_token: float = CHARACTERS_PER_TOKEN) -> int:
    """Estimated tokens of a text."""
    plain = len(text) if text.isascii() else sum(character.isascii() for character in text)
    return -int(-(plain / per_token) // 1) + (len(text) - plain)


def image_tokens(data: bytes, limits: ImageLimits) -> int:
    """Estimated tokens of a picture after it was made to fit; 0 where the bytes are no picture, since that is never sent."""
    try:
        width, height = size(data)
    except InputError:
        return 0
    shrink = min(1.0, limits.max_edge / max(width, height))
    return -int(-(width * shrink * height * shrink / PIXELS_PER_TOKEN) // 1)


def input_tokens(request: Request, limits: ImageLimits, per_token: float = CHARACTERS_PER_TOKEN) -> int:
    """Estimated input tokens of a request: system, prompt, schema and pictures."""
    schema = json.dumps(request.schema) if request.schema is not None else ""
    words = text_tokens(request.system, per_token) + text_tokens(request.prompt, per_token) + text_tokens(schema, per_token)
    return MESSAGE_OVERHEAD + words + sum(image_tokens(image, limits) for image in request.images)


def ceiling(request: Request, limits: ImageLimits) -> int:
    """Input tokens that a budget reserves."""
    return input_tokens(request, limits, CEILING_CHARACTERS_PER_TOKEN)
