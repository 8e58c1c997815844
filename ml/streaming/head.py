"""The speak/silent head, its losses, and the rule that turns probabilities into a decision. It reads hidden states; it holds no model."""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

from ml.streaming.settings import BalanceLoss, Thresholds
from ml.vocabulary import MessageKind


class SpeakHead(nn.Module):
    """LayerNorm and one linear unit: hidden state at ``<|vision_end|>`` [..., H] to a logit [...], in float32 whatever the model's type."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(hidden)
        self.speak = nn.Linear(hidden, 1)
        nn.init.normal_(self.speak.weight, std=0.02)
        nn.init.constant_(self.speak.bias, -2.0)  # silence is the common case

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return self.speak(self.norm(states.float())).squeeze(-1)


def speak_loss(
    logits: torch.Tensor,
    labels: torch.Tensor,
    weights: torch.Tensor | None = None,
    *,
    balance: BalanceLoss = BalanceLoss.POSITIVE_WEIGHT,
    positive_weight: float = 1.0,
) -> torch.Tensor:
    """Binary cross-entropy of blocks [n], averaged over those with weight. Always finite: no positive, or no block at all, gives no NaN.

    ``CLASS_BALANCED``: mean over each class, then half the sum; an absent class contributes nothing (the other keeps its factor 1/2
    only where both are there).
    """
    weights = torch.ones_like(logits) if weights is None else weights
    if balance is BalanceLoss.POSITIVE_WEIGHT:
        factor = torch.tensor(positive_weight, dtype=logits.dtype, device=logits.device)
        losses = functional.binary_cross_entropy_with_logits(logits, labels, pos_weight=factor, reduction="none")
        return (losses * weights).sum() / weights.sum().clamp(min=1e-6)
    losses = functional.binary_cross_entropy_with_logits(logits, labels, reduction="none") * weights
    means = [losses[members].sum() / weights[members].sum() for members in (labels > 0.5, labels <= 0.5) if weights[members].sum() > 0]
    return torch.stack(means).mean() if means else logits.sum() * 0.0


@dataclass(frozen=True)
class Decision:
    """Speak ``kind`` now; ``score`` = p(speak) x p(kind)."""

    kind: MessageKind
    score: float


def decide(speak: float, feedback: float, thresholds: Thresholds) -> Decision | None:
    """The decision at one block. ``speak``: p(speak); ``feedback``: p(feedback | speak). A product equal to its threshold stays silent."""
    candidates = []
    if speak * feedback > thresholds.feedback:
        candidates.append(Decision(MessageKind.FEEDBACK, speak * feedback))
    if speak * (1 - feedback) > thresholds.success:
        candidates.append(Decision(MessageKind.SUCCESS, speak * (1 - feedback)))
    return max(candidates, key=lambda decision: decision.score, default=None)


def gap_over(t_s: float, last_s: float | None, min_gap_s: float) -> bool:
    """Whether ``min_gap_s`` have passed since the last message."""
    return last_s is None or t_s - last_s >= min_gap_s - 1e-9
