import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ml.errors import InputError
from ml.streaming.patches import PatchSettings, patchify, resize_frames


def library_rows(frame: np.ndarray, patches: PatchSettings) -> np.ndarray:
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    processor = Qwen2VLImageProcessorPil(
        patch_size=patches.patch_size,
        temporal_patch_size=patches.temporal_patch_size,
        merge_size=patches.merge_size,
        image_mean=list(patches.mean),
        image_std=list(patches.std),
        do_resize=False,
    )
    return np.asarray(processor(images=[frame], return_tensors="np")["pixel_values"])


@settings(max_examples=15, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    rows=st.integers(1, 3),
    columns=st.integers(1, 3),
    mean=st.sampled_from([(0.5, 0.5, 0.5), (0.48145466, 0.4578275, 0.40821073)]),
    patch=st.sampled_from([14, 16]),
)
def test_layout_is_bit_equal_to_the_librarys_image_processor(seed, rows, columns, mean, patch):
    patches = PatchSettings(rows * 2 * patch, columns * 2 * patch, patch, 2, 2, mean, (0.5, 0.25, 0.5))
    frame = np.random.default_rng(seed).integers(0, 256, (patches.height, patches.width, 3), dtype=np.uint8)
    ours = patchify(torch.from_numpy(np.stack([frame, frame])), patches).numpy()
    assert np.array_equal(ours, library_rows(frame, patches))


def test_frames_of_a_block_lie_side_by_side_within_each_channel():
    patches = PatchSettings(32, 32)
    frames = np.stack([np.full((32, 32, 3), 0, np.uint8), np.full((32, 32, 3), 255, np.uint8)])
    row = patchify(torch.from_numpy(frames), patches)[0].view(3, 2, 16, 16)
    assert bool((row[:, 0] == -1).all())
    assert bool((row[:, 1] == 1).all())


def test_an_incomplete_block_is_refused():
    with pytest.raises(InputError, match="multiple of 2 frames"):
        patchify(torch.zeros(3, 64, 64, 3, dtype=torch.uint8), PatchSettings(64, 64))


def test_a_size_that_no_patch_fits_is_refused():
    with pytest.raises(InputError, match="not a multiple of 32"):
        PatchSettings(64, 50)


def test_shrinking_averages_areas():
    frames = np.zeros((1, 4, 4, 3), np.uint8)
    frames[0, :2, :2] = 100
    frames[0, 0, 3] = 200
    assert resize_frames(frames, 2, 2)[0, :, :, 0].tolist() == [[100, 50], [0, 0]]
