"""Pictures within a provider's limits: media type from the bytes, size, count. Where frames come from is not this module's business."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ml.errors import InputError

SENDABLE = ("image/png", "image/jpeg", "image/gif", "image/webp")
PIXELS_PER_TOKEN = 750.0  # Anthropic's published rule of thumb: tokens = width * height / 750


@dataclass(frozen=True)
class ImageLimits:
    """One provider's limits. Edges in pixels, bytes before base64.

    ``max_edge`` is where the provider shrinks a picture anyway: sending more costs upload and buys nothing.
    ``crowd`` pictures or fewer may have ``max_edge``; more than that only ``crowd_edge``.
    """

    max_count: int = 100
    max_edge: int = 1568
    crowd: int = 20
    crowd_edge: int = 1568
    max_bytes: int = 3_700_000
    max_total_bytes: int = 22_000_000


ANTHROPIC_LIMITS = ImageLimits()  # published: 100 pictures, 2000 px when more than 20, 5 MB each and 32 MB a request, both in base64
OPENAI_LIMITS = ImageLimits(max_count=250, max_edge=2048, crowd_edge=2048, max_bytes=14_000_000, max_total_bytes=35_000_000)


@dataclass(frozen=True)
class Picture:
    """An encoded picture that may be sent. ``width`` and ``height`` in pixels."""

    data: bytes
    media_type: str
    width: int
    height: int

    @property
    def tokens(self) -> int:
        return round(self.width * self.height / PIXELS_PER_TOKEN)


def media_type(data: bytes) -> str | None:
    """The media type by magic bytes, never by a name; None where it is no picture that this module knows."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    if data.startswith(b"BM"):
        return "image/bmp"
    if data.startswith((b"II*\x00", b"MM\x00*")):
        return "image/tiff"
    return None


def prepare(images: Sequence[bytes], limits: ImageLimits) -> tuple[Picture, ...]:
    """Pictures that the provider will take, in order, unchanged where they already fit.

    Raises InputError for too many pictures (see ``split``) and for bytes that are no picture.
    """
    if len(images) > limits.max_count:
        raise InputError(
            f"{len(images)} pictures in one request, at most {limits.max_count}", remedy="Send fewer pictures, e.g. by max_frames"
        )
    edge = limits.max_edge if len(images) <= limits.crowd else min(limits.max_edge, limits.crowd_edge)
    share = limits.max_total_bytes // max(len(images), 1)
    total = sum(map(len, images))
    most = limits.max_bytes if total <= limits.max_total_bytes else min(limits.max_bytes, share)
    return tuple(_fit(data, place, edge, most) for place, data in enumerate(images))


def split(images: Sequence[bytes], limits: ImageLimits) -> list[list[bytes]]:
    """Consecutive groups, as even as may be, each small enough in count for one request."""
    groups = -(-len(images) // limits.max_count)
    bounds = [round(place * len(images) / groups) for place in range(groups + 1)] if groups else []
    return [list(images[low:high]) for low, high in pairwise(bounds)]


def size(data: bytes) -> tuple[int, int]:
    """Width and height in pixels, from the header alone. Raises InputError where the bytes are no picture."""
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(io.BytesIO(data)) as picture:
            return picture.size
    except (UnidentifiedImageError, OSError) as error:
        raise InputError(f"the bytes are no readable picture ({error})", remedy="Give PNG, JPEG, GIF or WebP") from error


def _fit(data: bytes, place: int, edge: int, most: int) -> Picture:
    from PIL import Image

    kind = media_type(data)
    width, height = size(data)
    if kind in SENDABLE and max(width, height) <= edge and len(data) <= most:
        return Picture(data, kind or "", width, height)
    try:
        with Image.open(io.BytesIO(data)) as opened:
            opened.draft("RGB", (edge, edge))  # JPEG decodes at a half or a quarter at once: 4 times faster for 4K frames
            picture = opened.convert("RGB")
    except OSError as error:
        raise InputError(f"the picture does not decode ({error})", record=f"picture {place}", remedy="Leave this frame out") from error
    picture.thumbnail((edge, edge), Image.Resampling.LANCZOS)
    quality = 90
    while True:
        written = io.BytesIO()
        picture.save(written, "JPEG", quality=quality)
        if written.tell() <= most:
            return Picture(written.getvalue(), "image/jpeg", *picture.size)
        if quality > 60:
            quality -= 15
        elif min(picture.size) > 1:
            picture = picture.resize((max(1, picture.width * 3 // 4), max(1, picture.height * 3 // 4)), Image.Resampling.LANCZOS)
        else:
            raise InputError(f"no picture fits in {most} bytes", record=f"picture {place}", remedy="Send fewer pictures")
