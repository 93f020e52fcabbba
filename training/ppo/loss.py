"""The loss of PPO, and its gradients with respect to logits and values.

The loss of Schulman et al. (2017), as in Stable-Baselines3, and the divergence from a reference policy::

    -min(ratio * advantage, clip(ratio) * advantage) + vf_coef * (value - return)² - ent_coef * entropy
        + kl_coef * KL(policy || reference)

On a CPU, compiled code computes loss and gradients in one pass that skips illegal actions (``loss_gradients``);
elsewhere torch does (``torch_loss``). ``tests/test_selfplay.py`` compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numba
import numpy as np
import numpy.typing as npt
import torch

from training.networks.suit_kernels import SparseRows
from trick_envs.agents.policy import ILLEGAL

FIGURES = ("policy_gradient_loss", "value_loss", "entropy_loss", "kl_to_reference", "approx_kl", "clip_fraction")


@dataclass(frozen=True)
class LossWeights:
    """What the terms of the loss are multiplied by; ``clip_range`` clips the ratio."""

    clip_range: float
    vf_coef: float
    ent_coef: float
    kl_coef: float = 0.0

    def total(self, figures: Mapping[str, float]) -> float:
        """The loss of which the terms are known by the names in ``FIGURES``."""
        return (
            figures["policy_gradient_loss"]
            + self.vf_coef * figures["value_loss"]
            + self.ent_coef * figures["entropy_loss"]
            + self.kl_coef * figures["kl_to_reference"]
        )


class Batch(NamedTuple):
    """Decisions of a minibatch, or a part of it.

    Attributes:
        observations: ``(B, D) int8``, or what the policy has made of them (``SelfPlayPolicy.ready``).
        masks: ``(B, A) int8``.
        actions: ``(B,) int64``.
        log_probs: ``(B,) float32``: of the actions, when they were chosen.
        advantages: ``(B,) float32``, as the loss uses them.
        returns: ``(B,) float32``.
        reference: ``(B, A) float32``: log-probabilities of the reference policy; ``(B, 0)``: there is none.
    """

    observations: torch.Tensor | SparseRows
    masks: torch.Tensor
    actions: torch.Tensor
    log_probs: torch.Tensor
    advantages: torch.Tensor
    returns: torch.Tensor
    reference: torch.Tensor

    def rows(self, rows: npt.NDArray[np.int64]) -> Batch:
        """Some rows, by number."""
        numbers = torch.from_numpy(rows).to(self.actions.device)
        return self._of_each(lambda column: column.index_select(0, numbers))

    def parts(self, count: int) -> list[Batch]:
        """So many parts of nearly equal size."""
        ends = [len(self.actions) * part // count for part in range(count + 1)]
        return [self._of_each(lambda column, at=slice(*ends): column[at]) for ends in pairwise(ends)]

    def _of_each(self, select: Callable[..., Any]) -> Batch:
        return Batch(*(select(column) for column in self))


def masked_log_softmax(logits: torch.Tensor, masks: torch.Tensor) -> torch.Tensor:
    """Log-probabilities, ``(B, A)``: of illegal actions about ``ILLEGAL``."""
    return torch.log_softmax(torch.where(masks != 0, logits, ILLEGAL), 1)


def backward(
    logits: torch.Tensor, values: torch.Tensor, batch: Batch, weights: LossWeights, samples: int
) -> torch.Tensor:
    """Adds the gradients of the loss to those of the network's weights.

    Args:
        logits: ``(B, A)``, not masked.
        values: ``(B, 1)``.
        batch: the decisions.
        weights: of the loss.
        samples: of the whole minibatch, of whose loss this is a part.

    Returns:
        ``(6,) float64``: what these decisions add to the means of ``FIGURES``.
    """
    if logits.device.type != "cpu":
        loss, figures = torch_loss(logits, values, batch, weights)
        part = len(logits) / samples
        torch.autograd.backward(loss * part)
        return figures * part
    to_logits, to_values, figures = slopes(logits.detach(), values.detach(), batch, weights, samples)
    torch.autograd.backward((logits, values), (to_logits, to_values))
    return figures


def slopes(
    logits: torch.Tensor, values: torch.Tensor, batch: Batch, weights: LossWeights, samples: int
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The gradients of the loss with respect to logits and values on a CPU, and the figures; see ``backward``."""
    to_logits, to_values = torch.empty_like(logits), torch.empty_like(values)
    figures = loss_gradients(
        logits.numpy(),
        values.numpy(),
        *(column.numpy() for column in batch[1:]),
        weights.clip_range,
        weights.vf_coef,
        weights.ent_coef,
        weights.kl_coef,
        samples,
        to_logits.numpy(),
        to_values.numpy(),
    )
    return to_logits, to_values, torch.from_numpy(figures)


def torch_loss(
    logits: torch.Tensor, values: torch.Tensor, batch: Batch, weights: LossWeights
) -> tuple[torch.Tensor, torch.Tensor]:
    """The mean loss, and the means of ``FIGURES``, ``(6,) float64``."""
    log_probs = masked_log_softmax(logits, batch.masks)
    chances = log_probs.exp()
    log_ratio = log_probs.gather(1, batch.actions.unsqueeze(1)).squeeze(1) - batch.log_probs
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1.0 - weights.clip_range, 1.0 + weights.clip_range)
    policy_loss = -torch.min(batch.advantages * ratio, batch.advantages * clipped).mean()
    value_loss = torch.nn.functional.mse_loss(values.squeeze(1), batch.returns)
    entropy_loss = (chances * log_probs).sum(1).mean()
    divergence = torch.zeros_like(policy_loss)
    if batch.reference.shape[1] > 0:
        divergence = (chances * (log_probs - batch.reference)).sum(1).mean()
    loss = policy_loss + weights.vf_coef * value_loss + weights.ent_coef * entropy_loss + weights.kl_coef * divergence
    with torch.no_grad():
        approx_kl = (ratio - 1.0 - log_ratio).mean()
        clip_fraction = ((ratio - 1.0).abs() > weights.clip_range).float().mean()
        figures = torch.stack([policy_loss, value_loss, entropy_loss, divergence, approx_kl, clip_fraction])
    return loss, figures.double()


@numba.njit(cache=True, nogil=True)
def loss_gradients(
    logits: Any, values: Any, masks: Any, actions: Any, old_log_probs: Any, advantages: Any, returns: Any,
    reference: Any, clip_range: float, vf_coef: float, ent_coef: float, kl_coef: float, samples: int,
    to_logits: Any, to_values: Any,
) -> npt.NDArray[np.float64]:  # fmt: skip
    """Writes the gradients of ``torch_loss`` to ``to_logits`` and ``to_values``; returns the figures' sums.

    Everything is divided by ``samples``.
    """
    rows, size = logits.shape
    figures = np.zeros(6)
    legal, chances, log_probs = np.empty(size, np.int64), np.empty(size, np.float32), np.empty(size, np.float32)
    part, has_reference = 1.0 / samples, reference.shape[1] > 0
    for row in range(rows):
        count, highest = 0, np.float32(-np.inf)
        for action in range(size):
            to_logits[row, action] = 0.0
            if masks[row, action] != 0:
                legal[count] = action
                count += 1
                highest = max(highest, logits[row, action])
        total = np.float32(0.0)
        for k in range(count):
            log_probs[k] = logits[row, legal[k]] - highest
            chances[k] = np.exp(log_probs[k])
            total += chances[k]
        log_total, log_prob, entropy, divergence = np.log(total), np.float32(0.0), 0.0, 0.0
        for k in range(count):
            log_probs[k] -= log_total
            chances[k] /= total
            entropy -= chances[k] * log_probs[k]
            if has_reference:
                divergence += chances[k] * (log_probs[k] - reference[row, legal[k]])
            if legal[k] == actions[row]:
                log_prob = log_probs[k]
        advantage, log_ratio = advantages[row], log_prob - old_log_probs[row]
        ratio = np.exp(np.float64(log_ratio))  # in one precision, so that within the range both gains are equal
        gain = advantage * ratio
        clipped_gain = advantage * min(max(ratio, 1.0 - clip_range), 1.0 + clip_range)
        slope = -gain if gain <= clipped_gain else 0.0  # of the policy's loss, by the action's log-probability
        for k in range(count):
            surprise = log_probs[k] + entropy
            to_logit = ent_coef * chances[k] * surprise - slope * chances[k]
            if has_reference:
                to_logit += kl_coef * chances[k] * (log_probs[k] - reference[row, legal[k]] - divergence)
            to_logits[row, legal[k]] = to_logit * part
        to_logits[row, actions[row]] += slope * part
        error = values[row, 0] - returns[row]
        to_values[row, 0] = 2.0 * vf_coef * error * part
        figures[0] -= min(gain, clipped_gain) * part
        figures[1] += error * error * part
        figures[2] -= entropy * part
        figures[3] += divergence * part
        figures[4] += (ratio - 1.0 - log_ratio) * part
        figures[5] += (abs(ratio - 1.0) > clip_range) * part
    return figures
