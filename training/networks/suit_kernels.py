"""The network of ``suits.py`` on a CPU: the same function and the same gradients, in compiled code.

Observations are small integers, nine of ten are zero, so the first layer adds up the weights of those that are not.
What lies between two matrix products (biases, means over suits, ReLU and their derivatives) is one pass over memory
each. ``tests/test_networks.py`` compares everything with what torch computes from ``SuitLayers``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numba
import numpy as np
import torch

from training.networks.suits import SuitColumns, SuitHead, SuitLayers, ValueHead

ROWS = 512  # at a time while learning: what is computed of so many observations stays in the processor's cache


class SuitKernels:
    """What the compiled code knows of a network: where its inputs go, and its weights.

    Args:
        layers: the shared layers.
        action: the head of the policy.
        value: the head of the value.
    """

    def __init__(self, layers: SuitLayers, action: SuitHead, value: ValueHead) -> None:
        self.suits, self.width, self.depth = layers.suits, layers.width, len(layers.own) + 1
        self.inputs = _Inputs(layers.columns)
        self.weights: list[torch.Tensor] = [layers.first.weight, layers.first.bias, layers.from_others.weight]
        for own, from_mean in zip(layers.own, layers.from_mean, strict=True):
            self.weights += [*own.parameters(), *from_mean.parameters()]
        for linear in (action.head, value.layer, value.head):
            self.weights += [linear.weight, linear.bias]

    def __call__(self, observations: torch.Tensor, precision: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits ``(B, A)`` and values ``(B, 1)`` of observations ``(B, D) int8``; autograd knows the gradients.

        The products of every suit's numbers with weights are computed in ``precision``, all else in ``float32``.
        """
        return _Network.apply(self, precision, observations, *self.weights)  # type: ignore[no-untyped-call]


class _Inputs:
    """Where every number of an observation goes.

    Attributes:
        size: how many weights of a unit of the first layer belong to numbers: those of a suit, then those of none.
        most: how many inputs of an observation can differ from zero.
        places: ``(D,)``: the suit that a number belongs to; ``suits``: none; ``suits + 1``, ``suits + 2``: it is the
            suit or the rank of a card, and counts together with the other.
        columns: ``(D,)``: which weight; of suits and ranks of cards: which suit or rank.
        cards: ``(D,)``: of suits and ranks of cards: the number of the card.
        factors: ``(D,)``: by which numbers are multiplied.
    """

    def __init__(self, columns: SuitColumns) -> None:
        order, suits, ranks = columns.order.numpy(), columns.suits, columns.ranks
        own, flags, rank_flags, others = columns.sizes
        self.cards_at, cards = own // suits, flags // suits
        self.names_at = self.cards_at + cards * ranks
        self.size = columns.per_suit + others
        self.most = own + others + flags * ranks
        self.places, self.columns = np.zeros(len(order), np.int32), np.zeros(len(order), np.int32)
        self.cards, self.factors = np.zeros(len(order), np.int32), np.zeros(len(order), np.float32)
        suit, number = np.divmod(np.arange(own), max(1, own // suits))
        flag_suit, flag_card = np.divmod(np.arange(flags), max(1, cards))
        rank_card, rank = np.divmod(np.arange(rank_flags), ranks)
        none = np.full(others, suits)
        self.places[order] = np.concatenate([suit, np.full(flags, suits + 1), np.full(rank_flags, suits + 2), none])
        self.columns[order] = np.concatenate([number, flag_suit, rank, columns.per_suit + np.arange(others)])
        self.cards[order] = np.concatenate([0 * suit, flag_card, rank_card, 0 * none])
        self.factors[order] = columns.factors.numpy()
        self.ranks = ranks


class _Network(torch.autograd.Function):
    """Forward and backward pass; the arguments after the observations are the weights."""

    @staticmethod
    def forward(
        ctx: Any, kernels: SuitKernels, precision: torch.dtype, observations: torch.Tensor, *weights: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        suits, width, inputs = kernels.suits, kernels.width, kernels.inputs
        first, first_bias, from_others, *between = weights
        *between, head, head_bias, layer, layer_bias, value, value_bias = between
        rows = len(observations)
        found = _find_inputs(
            observations.numpy(), inputs.places, inputs.columns, inputs.cards, inputs.factors, suits, inputs.ranks,
            inputs.cards_at, inputs.most,
        )  # fmt: skip
        table = torch.cat([first.t(), from_others.t()])
        base = first_bias.expand(suits, width).clone()
        if first.shape[1] > inputs.names_at:
            base += first[:, inputs.names_at :].t()
        hidden, mean = torch.empty(rows * suits, width), torch.empty(rows, width)
        _first_layer(*found, table.numpy(), base.numpy(), hidden.numpy(), mean.numpy())
        rounded = hidden.to(precision)
        kept = [(hidden, rounded, mean)]
        for i in range(0, len(between), 3):
            own, bias, from_mean = between[i : i + 3]
            shared = torch.addmm(bias, mean, from_mean.t())
            hidden, mean = (rounded @ own.to(precision).t()).float(), torch.empty(rows, width)
            _next_layer(hidden.numpy(), shared.numpy(), mean.numpy())
            rounded = hidden.to(precision)
            kept.append((hidden, rounded, mean))
        logits = (rounded @ head.to(precision).t()).float().add_(head_bias)
        valued = torch.addmm(layer_bias, mean, layer.t()).relu_()
        ctx.kernels, ctx.precision, ctx.found, ctx.kept, ctx.valued = kernels, precision, found, kept, valued
        ctx.save_for_backward(*weights)
        return logits.view(rows, -1), torch.addmm(value_bias, valued, value.t())

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        to_logits, to_values = gradients
        kernels: SuitKernels = ctx.kernels
        suits, inputs, precision = kernels.suits, kernels.inputs, ctx.precision
        weights: Sequence[torch.Tensor] = ctx.saved_tensors
        found: list[torch.Tensor] = []  # gradients from the last weight to the first
        head, layer, value = weights[-6], weights[-4], weights[-2]
        hidden, rounded, mean = ctx.kept[-1]
        to_logits = to_logits.reshape(len(hidden), -1)
        to_rounded = to_logits.to(precision)
        to_valued = torch.ops.aten.threshold_backward(to_values @ value, ctx.valued, 0.0)  # the ReLU
        found += [to_values.sum(0), to_values.t() @ ctx.valued]
        found += [to_valued.sum(0), to_valued.t() @ mean]
        found += [to_logits.sum(0), (to_rounded.t() @ rounded).float()]
        to_hidden, to_mean = (to_rounded @ head.to(precision)).float(), to_valued @ layer
        for number in range(kernels.depth - 1, 0, -1):
            _, rounded, mean_before = ctx.kept[number - 1]
            own, _, from_mean = weights[3 * number : 3 * number + 3]
            together = torch.empty_like(mean)
            _layer_gradient(ctx.kept[number][0].numpy(), to_hidden.numpy(), to_mean.numpy(), together.numpy())
            to_rounded = to_hidden.to(precision)
            found += [together.t() @ mean_before, together.sum(0), (to_rounded.t() @ rounded).float()]
            to_hidden, to_mean = (to_rounded @ own.to(precision)).float(), together @ from_mean
        together = torch.empty_like(mean)
        _layer_gradient(ctx.kept[0][0].numpy(), to_hidden.numpy(), to_mean.numpy(), together.numpy())
        table, base = torch.zeros(inputs.size, kernels.width), torch.zeros(suits, kernels.width)
        _first_layer_gradient(*ctx.found, to_hidden.numpy(), together.numpy(), table.numpy(), base.numpy())
        per_suit = weights[0].shape[1]
        table[inputs.names_at : per_suit] = base[: per_suit - inputs.names_at]
        found += [table[per_suit:].t(), base.sum(0), table[:per_suit].t()]
        return (None, None, None, *reversed(found))


@numba.njit(cache=True)
def _find_inputs(
    observations: Any, places: Any, columns: Any, cards: Any, factors: Any, suits: int, ranks: int, cards_at: int,
    most: int,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """The inputs that are not zero: those of row ``i`` are ``begins[i]`` to ``begins[i + 1]``.

    Returns:
        ``begins``; of every input its suit (or ``suits``: none), its weight's number, and its value.
    """
    rows, size = observations.shape
    begins = np.empty(rows + 1, np.int64)
    room = 64 * rows + most  # grows where that is not enough
    suit, column, value = np.empty(room, np.int32), np.empty(room, np.int32), np.empty(room, np.float32)
    positions, flags, rank_flags = np.empty(size + 1, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    end = 0
    for row in range(rows):
        begins[row] = end
        if end + most > room:
            room *= 2
            suit, column, value = _longer(suit, end, room), _longer(column, end, room), _longer(value, end, room)
        count, num_flags, num_ranks = 0, 0, 0
        for i in range(size):  # without a branch, which would often be predicted wrongly
            positions[count] = i
            count += observations[row, i] != 0
        for i in positions[:count]:
            place = places[i]
            if place <= suits:
                suit[end], column[end], value[end] = place, columns[i], observations[row, i] * factors[i]
                end += 1
            elif place == suits + 1:
                flags[num_flags] = i
                num_flags += 1
            else:
                rank_flags[num_ranks] = i
                num_ranks += 1
        for one in flags[:num_flags]:
            for other in rank_flags[:num_ranks]:
                if cards[one] == cards[other]:
                    suit[end] = columns[one]
                    column[end] = cards_at + cards[one] * ranks + columns[other]
                    value[end] = (observations[row, one] * factors[one]) * (observations[row, other] * factors[other])
                    end += 1
    begins[rows] = end
    return begins, suit, column, value


@numba.njit(cache=True)
def _longer(array: Any, end: int, room: int) -> Any:
    longer = np.empty(room, array.dtype)
    longer[:end] = array[:end]
    return longer


@numba.njit(cache=True, fastmath={"contract"})
def _first_layer(
    begins: Any, suit: Any, column: Any, value: Any, table: Any, base: Any, hidden: Any, mean: Any
) -> None:
    """The first layer of every suit, and its mean over suits."""
    suits, width = base.shape
    shared = np.empty(width, np.float32)
    for row in range(mean.shape[0]):
        own = hidden[row * suits : (row + 1) * suits]
        own[:] = base
        shared[:] = 0.0
        for k in range(begins[row], begins[row + 1]):
            target = own[suit[k]] if suit[k] < suits else shared
            weights, factor = table[column[k]], value[k]
            for i in range(width):
                target[i] += factor * weights[i]
        _activate(own, shared, mean[row])


@numba.njit(cache=True, fastmath={"contract"})
def _next_layer(hidden: Any, shared: Any, mean: Any) -> None:
    """Adds to every suit what all share, cuts off below zero, and takes the mean over suits."""
    suits = hidden.shape[0] // mean.shape[0]
    for row in range(mean.shape[0]):
        _activate(hidden[row * suits : (row + 1) * suits], shared[row], mean[row])


@numba.njit(cache=True, fastmath={"contract"})
def _activate(own: Any, shared: Any, mean: Any) -> None:
    """One row of ``_next_layer``."""
    suits, width = own.shape
    part = np.float32(1.0 / suits)
    mean[:] = 0.0
    for s in range(suits):
        for i in range(width):
            number = max(own[s, i] + shared[i], np.float32(0.0))
            own[s, i] = number
            mean[i] += number * part


@numba.njit(cache=True, fastmath={"contract"})
def _layer_gradient(hidden: Any, to_hidden: Any, to_mean: Any, together: Any) -> None:
    """From the gradients of a layer's outputs (in place) and of their mean to those of its sums, also over suits."""
    rows, width = to_mean.shape
    suits = hidden.shape[0] // rows
    part = np.float32(1.0 / suits)
    for row in range(rows):
        for i in range(width):
            together[row, i] = 0.0
        for s in range(row * suits, (row + 1) * suits):
            for i in range(width):
                slope = to_hidden[s, i] + to_mean[row, i] * part
                slope = slope if hidden[s, i] > 0.0 else np.float32(0.0)
                to_hidden[s, i] = slope
                together[row, i] += slope


@numba.njit(cache=True, fastmath={"contract"})
def _first_layer_gradient(
    begins: Any, suit: Any, column: Any, value: Any, to_sums: Any, together: Any, table: Any, base: Any
) -> None:
    """Adds the gradients of the first layer's weights to ``table`` and of its biases to ``base``."""
    suits, width = base.shape
    for row in range(together.shape[0]):
        for k in range(begins[row], begins[row + 1]):
            slopes = to_sums[row * suits + suit[k]] if suit[k] < suits else together[row]
            weights, factor = table[column[k]], value[k]
            for i in range(width):
                weights[i] += factor * slopes[i]
        for s in range(suits):
            for i in range(width):
                base[s, i] += to_sums[row * suits + s, i]
