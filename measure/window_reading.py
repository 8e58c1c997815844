"""What reading all narration windows of a recording costs against a bare decode of the same file.

    python measure/window_reading.py [--minutes 10] [--rounds 5]

Makes a 360p h264 file, then reads it both ways in turn, several rounds, in one process: a bare sequential PyAV pass that decodes
every frame and converts none, and all 10 s windows every 5 s at 2 fps in 128x128. Prints the median ratio of wall times.
Memory is the growth of the peak resident size of a process of its own that reads all windows once, over its size just before.
"""

import argparse
import multiprocessing
import statistics
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import av
import numpy as np

from ml.video.probe import probe_video
from ml.video.windows import iter_windows, make_windows

FPS, SIZE = 2.0, (128, 128)
MAX_RATIO, MAX_GROWTH_MB = 1.15, 60.0


def make_file(path: Path, minutes: float, rate: Fraction = Fraction(30), width: int = 640, height: int = 360) -> None:
    """A moving, textured picture with sensor noise: a flat one would decode faster than any real video."""
    rng = np.random.default_rng(7)
    texture = rng.integers(0, 255, (height // 8 * 3, width // 8 * 3, 3), np.uint8).repeat(8, 0).repeat(8, 1)
    noise = rng.integers(0, 10, (8, height, width, 3), np.uint8)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=rate, options={"preset": "veryfast", "crf": "23", "g": "250"})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        for index in range(round(minutes * 60 * rate)):
            x = round(width * (1 + np.sin(index / 90)) / 2)
            y = round(height * (1 + np.cos(index / 130)) / 2)
            picture = texture[y : y + height, x : x + width] // 2 + noise[index % 8]
            frame = av.VideoFrame.from_ndarray(np.ascontiguousarray(picture))
            frame.pts, frame.time_base = index, 1 / rate
            container.mux(stream.encode(frame))
        container.mux(stream.encode())


def bare_pass(path: Path) -> int:
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        return sum(1 for _ in container.decode(stream))


def window_pass(path: Path, duration_s: float) -> int:
    return sum(len(window.times_s) for window in iter_windows(path, make_windows(duration_s), FPS, SIZE))


def _growth_mb(path: Path, duration_s: float) -> float:
    """Peak resident size above the size just before, from Linux's own counters: ``ru_maxrss`` survives exec and hides small growth."""
    before = _status_kib("VmRSS")
    window_pass(path, duration_s)
    return (_status_kib("VmHWM") - before) / 1024


def _status_kib(name: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def peak_growth_mb(path: Path, duration_s: float) -> float:
    """``_growth_mb`` in a process of its own (spawned, so that nothing is inherited)."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_growth_mb, (path, duration_s))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "recording.mp4"
        make_file(path, options.minutes)
        duration_s = float(probe_video(path, "measure/recording")["decodable_s"][0])
        growth_mb = peak_growth_mb(path, duration_s)
        bare, windows, work = [], [], []
        n_frames = n_sampled = 0
        for _ in range(options.rounds):
            start, start_cpu = time.perf_counter(), time.process_time()
            n_frames = bare_pass(path)
            middle, middle_cpu = time.perf_counter(), time.process_time()
            n_sampled = window_pass(path, duration_s)
            bare.append(middle - start)
            windows.append(time.perf_counter() - middle)
            work.append((time.process_time() - middle_cpu) / (middle_cpu - start_cpu))
    ratio = statistics.median(w / b for w, b in zip(windows, bare, strict=True))
    print(f"{duration_s:.0f} s at 640x360, {n_frames} frames; {len(make_windows(duration_s))} windows, {n_sampled} frames handed out")
    print(f"bare pass {statistics.median(bare):.2f} s, all windows {statistics.median(windows):.2f} s (medians of {options.rounds})")
    print(f"ratio {ratio:.3f} (at most {MAX_RATIO}); of CPU time {statistics.median(work):.3f}, which other load disturbs less")
    print(f"peak memory growth {growth_mb:.1f} MB (at most {MAX_GROWTH_MB:.0f})")
    return 0 if ratio <= MAX_RATIO and growth_mb <= MAX_GROWTH_MB else 1


if __name__ == "__main__":
    sys.exit(main())
