"""LoRA on the language model: where it goes, how it is written and read back, and checks that it is really there."""

import json
import os
import shutil
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import nn

from ml.errors import InputError
from ml.streaming.checkpoint_files import ADAPTER_CONFIG_FILE, ADAPTER_FILE, HEAD_FILE, break_seal
from ml.streaming.head import SpeakHead
from ml.streaming.model import StreamingModel

# Attention, gated DeltaNet and MLP projections of the language model; "language_model." keeps the vision tower out.
TARGET_MODULES = (
    r".*language_model\.layers\.\d+\."
    r"(self_attn\.(q|k|v|o)_proj|linear_attn\.(in_proj_(qkv|z|b|a)|out_proj)|mlp\.(gate|up|down)_proj)"
)


def _wrapped(network: Any, config: Any) -> Any:
    """``network`` under a peft adapter. peft asks for an attribute that transformers has renamed; the warning is not the user's to mend."""
    from peft import get_peft_model

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return get_peft_model(network, config)


def add_lora(model: StreamingModel, rank: int, alpha: int, dropout: float, seed: int) -> StreamingModel:
    """The model with a fresh adapter on its language model, base weights frozen. Changes the network in place."""
    from peft import LoraConfig

    torch.manual_seed(seed)
    config = LoraConfig(r=rank, lora_alpha=alpha, lora_dropout=dropout, target_modules=TARGET_MODULES, bias="none")
    network = _wrapped(model.network, config)
    if any("visual" in name for name, _ in lora_parameters(network)):
        raise InputError("the adapter reached the vision tower", remedy="Check the module names of this checkpoint")
    return StreamingModel(network, model.tokenizer, model.encode, model.tokens, model.patches, model.name)


def lora_parameters(network: nn.Module) -> list[tuple[str, nn.Parameter]]:
    return [(name, parameter) for name, parameter in network.named_parameters() if parameter.requires_grad]


def untouched_matrices(network: nn.Module) -> list[str]:
    """Names of LoRA B matrices that are still all zero: they start at zero, so one that stays there receives no gradient."""
    return [name for name, parameter in network.named_parameters() if "lora_B" in name and not bool(parameter.detach().any())]


def write_adapter(model: StreamingModel, head: SpeakHead, folder: Path) -> None:
    """Adapter in peft's layout with the head beside it, each file whole. The folder's seal is broken until its thresholds fit again."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    for left in folder.glob(".adapter.*"):  # of a run that was killed here
        shutil.rmtree(left, ignore_errors=True)
    network: Any = model.network
    with TemporaryDirectory(prefix=".adapter.", dir=folder) as temporary:
        written = Path(temporary)
        network.save_pretrained(written)
        save_file({name: tensor.detach().cpu().contiguous() for name, tensor in head.state_dict().items()}, written / HEAD_FILE)
        break_seal(folder)
        for path in sorted(written.iterdir()):
            os.replace(path, folder / path.name)


def read_adapter(model: StreamingModel, folder: Path, *, merge: bool = True) -> tuple[StreamingModel, SpeakHead]:
    """The adapter and head of ``folder`` on ``model``. Raises InputError when keys of the adapter and the model do not match one to one.

    ``merge`` folds the adapter into the weights (the same outputs, faster).
    """
    from peft import LoraConfig, get_peft_model_state_dict, set_peft_model_state_dict
    from safetensors.torch import load_file

    for name in (ADAPTER_FILE, HEAD_FILE, ADAPTER_CONFIG_FILE):
        if not (folder / name).exists():
            raise InputError(f"{name} is missing", file=folder, remedy="A checkpoint holds the adapter and its head")
    config = LoraConfig.from_pretrained(str(folder))
    network = _wrapped(model.network, config)
    stored = load_file(folder / ADAPTER_FILE)
    expected = get_peft_model_state_dict(network)
    unmatched = sorted(set(stored) ^ set(expected))
    misshapen = sorted(name for name in set(stored) & set(expected) if stored[name].shape != expected[name].shape)
    if unmatched or misshapen:
        raise InputError(
            f"{len(unmatched)} adapter keys do not match this base and {len(misshapen)} differ in shape, e.g. {(unmatched + misshapen)[0]}",
            file=folder / ADAPTER_FILE,
            remedy="Load it on the base it was tuned from",
        )
    set_peft_model_state_dict(network, stored)
    head = SpeakHead(model.hidden_size)
    head.load_state_dict(load_file(folder / HEAD_FILE))
    merged: nn.Module = network.merge_and_unload() if merge else network
    tuned = StreamingModel(merged.eval(), model.tokenizer, model.encode, model.tokens, model.patches, f"{model.name}+{folder.name}")
    return tuned, head.to(model.device).eval()


def adapter_rank(folder: Path) -> int:
    return int(json.loads((folder / ADAPTER_CONFIG_FILE).read_text(encoding="utf-8"))["r"])
