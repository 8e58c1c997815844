"""One open video file: orientation, zero, rate, and its frames in display order. Which frames to take belongs in ``ml.video.frames``.

Zero is the presentation time of the first displayed frame, after the edit list: a file that starts at PTS 1.000 s and a file
whose edit list skips its first pictures both begin at 0.0 s. Annotations, clips and windows all use this zero.
Times inside are exact (``Fraction``, or integers in units of the stream's time base); nothing is computed from a rounded rate.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import av
import av.error
import numpy as np
from av.container import InputContainer
from av.sidedata.sidedata import Type as SideDataType
from av.stream import Disposition
from av.video.frame import VideoFrame
from av.video.reformatter import Interpolation, VideoReformatter
from av.video.stream import VideoStream

from ml.errors import InputError
from ml.video.refusals import undecodable_codec, why_unopened

# A seek goes to the key frame at or before the wanted time; where reordering makes the first picture come out later than that,
# the next margin is tried, and at last the file is read from its start.
_SEEK_MARGINS_S = (0, 2, 15)
# Below this the frames up to the wanted time are decoded instead of sought.
_SEEK_FROM_S = 2
_JUST_OVER_HALF = Fraction(51, 100)
_TOLERANCE_S = Fraction(51, 100_000)
_ATTACHED_PICTURE = Disposition.attached_pic


@dataclass(frozen=True)
class Orientation:
    """What makes a stored picture upright: mirror left-right first, then turn clockwise by quarter turns."""

    quarter_turns: int = 0
    is_mirrored: bool = False

    @property
    def swaps_sides(self) -> bool:
        return self.quarter_turns % 2 == 1

    def upright(self, image: np.ndarray) -> np.ndarray:
        if self.is_mirrored:
            image = image[:, ::-1]
        return np.ascontiguousarray(np.rot90(image, -self.quarter_turns))


def orientation_from_matrix(matrix: np.ndarray) -> Orientation:
    """Orientation from a display matrix (ISO 14496-12 ``tkhd``): nine int32, row vectors, y downwards; nearest quarter turn."""
    a, b, _, c, d = (float(value) for value in matrix[:5])
    is_mirrored = a * d - b * c < 0
    if is_mirrored:
        a, b = -a, -b
    return Orientation(round(math.degrees(math.atan2(b, a)) / 90) % 4, is_mirrored)


def orientation_from_tags(*tags: dict[str, str]) -> Orientation:
    """Orientation from a ``rotate`` tag in degrees clockwise, any letter case; upright where there is none or it is no number."""
    for group in tags:
        for key, value in group.items():
            if key.lower() == "rotate":
                try:
                    return Orientation(round(float(value) / 90) % 4)
                except ValueError:
                    continue
    return Orientation()


class VideoReader:
    """An open file with at least one decodable frame. Use as a context manager.

    Raises ``InputError`` with the decoder's reason for a file that cannot be opened, holds no video, needs a decoder that this
    build lacks (naming the codec), or delivers no frame.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.n_decoded = 0
        self.n_bad_packets = 0
        self._reformatter = VideoReformatter()
        self._open()
        try:
            self._read_first_frame()
        except InputError:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._container.close()

    def _open(self) -> None:
        try:
            self._container: InputContainer = av.open(str(self.path), mode="r", metadata_errors="replace")
        except (av.error.FFmpegError, OSError) as error:
            raise InputError(f"video cannot be opened: {why_unopened(self.path, error)}", file=self.path) from error
        streams = [s for s in self._container.streams.video if not s.disposition & _ATTACHED_PICTURE]
        if not streams:
            self.close()
            raise InputError("file holds no video stream", file=self.path)
        self.stream: VideoStream = streams[0]
        if self.stream.codec_context is None:
            name = undecodable_codec(self._container)
            self.close()
            raise InputError(
                f"this build of FFmpeg has no decoder for codec {name}", file=self.path, remedy="Transcode the file to h264 or AV1"
            )
        self.stream.thread_type = "AUTO"

    def _read_first_frame(self) -> None:
        context = self.stream.codec_context
        self.codec: str = context.codec.canonical_name
        self.time_base: Fraction = self.stream.time_base or Fraction(1, 90_000)
        self.rate: Fraction | None = self.stream.average_rate or self.stream.guessed_rate or self.stream.base_rate
        self._unread = self._decode()
        first = next(self._unread, None)
        if first is None:
            raise InputError(f"no frame decodes (codec {self.codec})", file=self.path)
        self._first: tuple[int, VideoFrame] | None = first
        self.zero_pts, frame = first
        # Bare streams (.h264) carry no time stamps: times are then counted and seeking cannot be trusted.
        self.is_timed = frame.pts is not None
        self.orientation = self._find_orientation(frame)
        self.width, self.height = self._upright_size(frame)

    def _find_orientation(self, frame: VideoFrame) -> Orientation:
        """The display matrix decides; a ``rotate`` tag counts only without one (newer muxers write the matrix, older ones the tag)."""
        side_data: Any = frame.side_data  # PyAV's stub names motion vectors only
        if SideDataType.DISPLAYMATRIX in side_data:
            return orientation_from_matrix(np.frombuffer(side_data[SideDataType.DISPLAYMATRIX], dtype="<i4"))
        return orientation_from_tags(self.stream.metadata, self._container.metadata)

    def _upright_size(self, frame: VideoFrame) -> tuple[int, int]:
        ratio = self.stream.sample_aspect_ratio or Fraction(1)
        # Absurd ratios are junk in the header, not anamorphic video.
        width = round(frame.width * ratio) if Fraction(1, 4) <= ratio <= 4 else frame.width
        return (frame.height, width) if self.orientation.swaps_sides else (width, frame.height)

    @property
    def header_claims_s(self) -> list[float]:
        """Durations that the header claims, from the first displayed frame: the video stream's, then the container's; may be empty."""
        claims = []
        if self.stream.duration:
            claims.append(float(self.stream.duration * self.time_base))
        if self._container.duration:
            duration = self._container.duration / av.time_base
            # Matroska's duration counts from time stamp 0, not from the first frame.
            claims.append(duration - float(self.zero_pts * self.time_base) if "matroska" in self._container.format.name else duration)
        return [claim for claim in claims if claim > 0]

    def seconds(self, pts: int) -> float:
        """Time of a time stamp from zero, in s."""
        return float((pts - self.zero_pts) * self.time_base)

    def pts_at(self, t_s: float) -> int:
        """Time stamp that stands for ``t_s``: the frame shown then is the last with ``pts <=`` this.

        Just over half a unit of the time base (at most 0.51 ms) is allowed for, so that 180.18 s finds frame 5400 at 30000/1001 fps
        also in Matroska, which rounds to milliseconds.
        """
        return self.zero_pts + math.floor((Fraction(t_s) + min(self.time_base * _JUST_OVER_HALF, _TOLERANCE_S)) / self.time_base)

    def end_pts(self, pts: int, frame: VideoFrame) -> int:
        """Time stamp at which ``frame`` stops being shown when no other follows."""
        return pts + self._ticks(frame)

    def _ticks(self, frame: VideoFrame) -> int:
        if frame.duration:
            return int(frame.duration)
        return max(1, round(1 / self.rate / self.time_base)) if self.rate else 1

    def frames(self, from_s: float = 0.0) -> Iterator[tuple[int, VideoFrame]]:
        """Frames in display order with their time stamps, from the key frame at or before ``from_s`` to the end of what decodes.

        Packets that do not decode are skipped and counted in ``n_bad_packets``, as a player does.
        """
        if self._first is not None and (from_s < _SEEK_FROM_S or not self.is_timed):
            first, self._first = self._first, None
            yield first
            yield from self._unread
            return
        self._first = None
        if from_s > 0 and self.is_timed:
            for margin_s in _SEEK_MARGINS_S:
                if from_s <= margin_s:
                    break
                found = self.seek(self.pts_at(from_s - margin_s))
                first = next(found, None)  # type: ignore[assignment]
                if first is not None and first[0] <= self.pts_at(from_s):
                    yield first
                    yield from found
                    return
        self.close()
        self._open()
        yield from self._decode()

    def seek(self, pts: int) -> Iterator[tuple[int, VideoFrame]]:
        """Frames from wherever the container's own seek for ``pts`` lands; nothing where it cannot seek."""
        self._first = None
        try:
            self._container.seek(pts, stream=self.stream)
        except (av.error.FFmpegError, OSError):
            return iter(())
        return self._decode()

    def key_packets(self) -> list[int]:
        """Time stamps of the key packets that can be read, found without decoding: a whole read of the file."""
        self._first = None
        self.close()
        self._open()
        found = []
        packets = self._container.demux(self.stream)
        while (packet := _next(packets)) is not None:
            if packet.is_keyframe and packet.size and not packet.is_corrupt and packet.pts is not None:
                found.append(packet.pts)
        return found

    def _decode(self) -> Iterator[tuple[int, VideoFrame]]:
        """Decoded frames with strictly rising time stamps: one that steps back in time is never shown by a player."""
        last: int | None = None
        expected = 0
        for frame in self._decoded_frames():
            self.n_decoded += 1
            pts = expected if frame.pts is None else frame.pts
            if last is not None and pts <= last:
                continue
            last, expected = pts, pts + self._ticks(frame)
            yield pts, frame

    def _decoded_frames(self) -> Iterator[VideoFrame]:
        stream = self.stream
        packets = self._container.demux(stream)
        while (packet := _next(packets)) is not None:
            try:
                decoded = stream.decode(packet)
            except av.error.FFmpegError:
                self.n_bad_packets += 1
                continue
            yield from decoded

    def image(self, frame: VideoFrame, size: tuple[int, int] | None = None) -> np.ndarray:
        """The picture upright, uint8 [height, width, 3] RGB; ``size`` is (width, height) of the upright picture, None keeps the file's.

        Averages over the area of each target pixel when the picture shrinks (bicubic when it grows), in the same pass as the
        colour conversion.
        """
        width, height = size or (self.width, self.height)
        if self.orientation.swaps_sides:
            width, height = height, width
        shrinks = width <= frame.width and height <= frame.height
        scaled = self._reformatter.reformat(
            frame, width, height, "rgb24", interpolation=Interpolation.AREA if shrinks else Interpolation.BICUBIC, threads=1
        )
        image = scaled.to_ndarray()
        return image if self.orientation == Orientation() else self.orientation.upright(image)


def _next(packets: Iterator[Any]) -> Any | None:
    """Next packet; None at the end or where reading fails for good."""
    try:
        return next(packets, None)
    except (av.error.FFmpegError, OSError):
        return None
