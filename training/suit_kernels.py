"""The network of ``network.py`` on a CPU: the same function and the same gradients, in compiled code.

Observations are small integers, nine of ten are zero, so the first layer adds up the weights of those that are not.
What lies between two matrix products (biases, means over suits, ReLU and their derivatives) is one pass over memory
each. Arrays are used again and again (``_Memory``): to ask the system for memory would take as long as to compute.
``tests/test_networks.py`` compares everything with what torch computes from ``SuitLayers``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numba
import numpy as np
import numpy.typing as npt
import torch
from numba.extending import overload

from trick_envs.errors import InputError

Gradients: TypeAlias = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
ROWS = 4096  # at most, at a time while learning: calls take no time beside computing, and memory stays small
LEAST = 20_000  # units of a layer, of all rows, for a thread of its own: with fewer, it takes as long to hand them over
GRAIN = 16  # a part of a batch has a multiple of so many rows


class SuitKernels:
    """What the compiled code knows of a network: where its inputs go, and its weights.

    Args:
        layers: the shared layers, ``SuitLayers``.
        action: the head of the policy, ``SuitHead``.
        value: the head of the value, ``ValueHead``.
    """

    def __init__(self, layers: Any, action: Any, value: Any) -> None:
        self.suits, self.width, self.depth = layers.suits, layers.width, len(layers.own) + 1
        self.ranks = action.head.out_features
        self.inputs = _Inputs(layers.columns)
        self.weights: list[torch.Tensor] = [layers.first.weight, layers.first.bias, layers.from_others.weight]
        for own, from_mean in zip(layers.own, layers.from_mean, strict=True):
            self.weights += [*own.parameters(), *from_mean.parameters()]
        for linear in (action.head, value.layer, value.head):
            self.weights += [linear.weight, linear.bias]
        self.free: list[_Memory] = []
        self._team: tuple[int, ThreadPoolExecutor] | None = None

    @contextmanager
    def team(self, threads: int, cores: int) -> Iterator[ThreadPoolExecutor]:
        """In this block, calls without gradients share large batches among threads.

        Args:
            threads: in how many parts; with ``GRAIN`` rows or a multiple in each, they find the same as one.
            cores: how many of the parts are computed at a time, which changes nothing.
        """
        with ThreadPoolExecutor(min(threads, cores), initializer=torch.set_num_threads, initargs=(1,)) as pool:
            self._team = threads, pool
            try:
                yield pool
            finally:
                self._team = None

    def __call__(
        self, observations: torch.Tensor | SparseRows, precision: torch.dtype
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Logits ``(B, A)`` and values ``(B, 1)`` of observations; autograd knows the gradients.

        The products of every suit's numbers with weights are computed in ``precision``, all else in ``float32``.

        Args:
            observations: ``(B, D) int8``, or ``B`` of those that ``sparse`` has read.
            precision: ``float32`` or ``bfloat16``.
        """
        if torch.is_grad_enabled():
            return _Network.apply(self, precision, self._read(observations), *self.weights)  # type: ignore[no-untyped-call]
        threads, pool = self._team or (1, None)
        parts = min(threads, len(observations) * self.width // LEAST, len(observations) // GRAIN)
        if pool is None or parts < 2:
            return self._judge(observations, precision)
        ends = [len(observations) * part // (parts * GRAIN) * GRAIN for part in range(parts)] + [len(observations)]
        first, *others = (observations[begin:end] for begin, end in pairwise(ends))
        later = [pool.submit(self._judge, part, precision) for part in others]
        found = [self._judge(first, precision), *(each.result() for each in later)]
        logits, values = (torch.cat(each) for each in zip(*found, strict=True))
        return logits, values

    @torch.no_grad()
    def _judge(
        self, observations: torch.Tensor | SparseRows, precision: torch.dtype
    ) -> tuple[torch.Tensor, torch.Tensor]:
        memory = self.free.pop() if self.free else _Memory()
        logits, values, _ = _forward(self, precision, self._read(observations), memory, *self.weights)
        self._give_back(memory)
        return logits, values

    def gradients(
        self,
        rows: SparseRows,
        precision: torch.dtype,
        of_loss: Callable[[torch.Tensor, torch.Tensor], Gradients],
    ) -> tuple[list[torch.Tensor], torch.Tensor]:
        """The gradients of the weights, in their order, without autograd, so that threads can work side by side.

        Args:
            rows: observations.
            precision: as in a call.
            of_loss: of logits ``(B, A)`` and values ``(B, 1)``: the gradients of a loss by these, and its figures.

        Returns:
            the gradients, and the figures.
        """
        memory = self.free.pop() if self.free else _Memory()
        with torch.no_grad():
            logits, values, kept = _forward(self, precision, rows, memory, *self.weights)
            to_logits, to_values, figures = of_loss(logits, values)
            found = _backward(self, kept, memory, self.weights, to_logits, to_values)
        self._give_back(memory)
        return found, figures

    def _read(self, observations: torch.Tensor | SparseRows) -> SparseRows:
        return observations if isinstance(observations, SparseRows) else self.sparse(observations)

    def _give_back(self, memory: _Memory) -> None:
        memory.clear()
        self.free.append(memory)

    def sparse(self, observations: torch.Tensor, wanted: npt.NDArray[np.bool_] | None = None) -> SparseRows:
        """Reads observations, ``(B, D) int8``, once for many calls; ``wanted``: of these rows alone, ``(B,)``."""
        inputs = self.inputs
        if observations.shape[1:] != inputs.places.shape:  # compiled code checks no bounds
            raise InputError(
                f"SuitPolicy: expected observations of shape (B, {len(inputs.places)}), not {tuple(observations.shape)}"
            )
        found = _find_inputs(
            observations.numpy(), np.ones(len(observations), np.bool_) if wanted is None else wanted,
            inputs.places, inputs.columns, inputs.cards, inputs.factors, self.suits, inputs.ranks, inputs.cards_at,
            inputs.most,
        )  # fmt: skip
        return SparseRows(found, torch.arange(len(observations)))

    def __getstate__(self) -> dict[str, Any]:
        """A copy, or another process, has memory and threads of its own."""
        return {**vars(self), "free": [], "_team": None}


class SparseRows:
    """Observations by their inputs that are not zero; rows are selected as from a tensor.

    Args:
        found: from ``_find_inputs``.
        numbers: ``(B,) int64``: which of them.
    """

    def __init__(self, found: tuple[npt.NDArray[Any], ...], numbers: torch.Tensor) -> None:
        self.found, self.numbers = found, numbers

    def __len__(self) -> int:
        return self.numbers.shape[0]  # ``len`` of a tensor takes five times as long

    def __getitem__(self, rows: slice) -> SparseRows:
        return SparseRows(self.found, self.numbers[rows])

    def index_select(self, dimension: int, rows: torch.Tensor) -> SparseRows:
        """The rows of these numbers; the dimension is 0."""
        return SparseRows(self.found, self.numbers.index_select(dimension, rows))


class _Memory:
    """Memory from which arrays are cut one after the other, until ``clear`` makes it free again."""

    def __init__(self) -> None:
        self._block, self._size, self._used = torch.empty(0, dtype=torch.uint8), 0, 0

    def array(self, rows: int, width: int, precision: torch.dtype = torch.float32) -> torch.Tensor:
        """An array with any content. If there is no room for it, there will be after ``clear``."""
        size, begin = rows * width * precision.itemsize, self._used
        self._used += -(-size // 64) * 64  # each begins a line of the cache
        if self._used > self._size:
            return torch.empty(rows, width, dtype=precision)
        return self._block[begin : begin + size].view(precision).view(rows, width)

    def clear(self) -> None:
        """The arrays are needed no longer."""
        if self._used > self._size:
            self._block, self._size = torch.empty(self._used, dtype=torch.uint8), self._used
        self._used = 0


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

    def __init__(self, columns: Any) -> None:
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
        ctx: Any, kernels: SuitKernels, precision: torch.dtype, rows: SparseRows, *weights: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        ctx.kernels, ctx.memory = kernels, kernels.free.pop() if kernels.free else _Memory()
        logits, values, ctx.kept = _forward(kernels, precision, rows, ctx.memory, *weights)
        ctx.save_for_backward(*weights)
        return logits, values

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        if ctx.memory is None:
            raise RuntimeError("expected one backward pass after each forward pass: its numbers are gone")
        found = _backward(ctx.kernels, ctx.kept, ctx.memory, ctx.saved_tensors, *gradients)
        ctx.kernels._give_back(ctx.memory)
        ctx.memory = ctx.kept = None
        return (None, None, None, *found)


class _Kept(NamedTuple):
    """What the backward pass needs of the forward pass.

    Attributes:
        rows: the observations.
        hidden: of every layer, its outputs for each suit, ``(B * suits, width)`` in the precision of the products.
        means: of every layer, their means over suits, ``(B, width)``.
        valued: the layer before the value, ``(B, width)``.
    """

    rows: SparseRows
    hidden: list[torch.Tensor]
    means: list[torch.Tensor]
    valued: torch.Tensor


def _forward(
    kernels: SuitKernels, precision: torch.dtype, rows: SparseRows, memory: _Memory, *weights: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, _Kept]:
    """Logits ``(B, A)``, values ``(B, 1)``, and what the backward pass needs."""
    suits, width, count = kernels.suits, kernels.width, len(rows)
    first, first_bias, from_others, *between = weights
    *between, head, head_bias, layer, layer_bias, value, value_bias = between
    table, base = torch.cat([first.t(), from_others.t()]), first_bias.expand(suits, width).clone()
    if first.shape[1] > kernels.inputs.names_at:
        base += first[:, kernels.inputs.names_at :].t()
    hidden, mean = memory.array(count * suits, width, precision), memory.array(count, width)
    _first_layer(rows.numbers.numpy(), *rows.found, table.numpy(), base.numpy(), _numbers(hidden), mean.numpy())
    kept = _Kept(rows, [hidden], [mean], memory.array(count, width))
    shared = memory.array(count, width)
    for i in range(0, len(between), 3):
        own, bias, from_mean = between[i : i + 3]
        torch.addmm(bias, mean, from_mean.t(), out=shared)
        before, hidden, mean = hidden, memory.array(count * suits, width, precision), memory.array(count, width)
        torch.mm(before, own.to(precision).t(), out=hidden)
        _next_layer(_numbers(hidden), shared.numpy(), mean.numpy())
        kept.hidden.append(hidden)
        kept.means.append(mean)
    logits = (hidden @ head.to(precision).t()).float().add_(head_bias)
    torch.addmm(layer_bias, mean, layer.t(), out=kept.valued).relu_()
    return logits.view(count, -1), torch.addmm(value_bias, kept.valued, value.t()), kept


def _backward(
    kernels: SuitKernels,
    kept: _Kept,
    memory: _Memory,
    weights: Sequence[torch.Tensor],
    to_logits: torch.Tensor,
    to_values: torch.Tensor,
) -> list[torch.Tensor]:
    """The gradients of the weights, from those of logits and values."""
    rows, hidden, means, valued = kept
    suits, width, count, precision = kernels.suits, kernels.width, len(rows), hidden[0].dtype
    found: list[torch.Tensor] = []  # gradients from the last weight to the first
    head, layer, value = weights[-6], weights[-4], weights[-2]
    to_logits = to_logits.reshape(count * suits, -1)
    to_rounded = to_logits.to(precision)
    to_valued = torch.ops.aten.threshold_backward(to_values @ value, valued, 0.0)  # the ReLU
    found += [to_values.sum(0), to_values.t() @ valued]
    found += [to_valued.sum(0), to_valued.t() @ means[-1]]
    found += [to_logits.sum(0), (to_rounded.t() @ hidden[-1]).float()]
    to_hidden, to_next = (memory.array(count * suits, width, precision) for _ in range(2))
    to_mean, together = memory.array(count, width), memory.array(count, width)
    torch.mm(to_rounded, head.to(precision), out=to_hidden)
    torch.mm(to_valued, layer, out=to_mean)
    for number in range(kernels.depth - 1, 0, -1):
        own, _, from_mean = weights[3 * number : 3 * number + 3]
        _layer_gradient(_numbers(hidden[number]), _numbers(to_hidden), to_mean.numpy(), together.numpy())
        found += [together.t() @ means[number - 1], together.sum(0), (to_hidden.t() @ hidden[number - 1]).float()]
        torch.mm(to_hidden, own.to(precision), out=to_next)
        torch.mm(together, from_mean, out=to_mean)
        to_hidden, to_next = to_next, to_hidden
    _layer_gradient(_numbers(hidden[0]), _numbers(to_hidden), to_mean.numpy(), together.numpy())
    table, base = torch.zeros(kernels.inputs.size, width), torch.zeros(suits, width)
    _first_layer_gradient(
        rows.numbers.numpy(), *rows.found, _numbers(to_hidden), together.numpy(), table.numpy(), base.numpy()
    )
    per_suit, names_at = weights[0].shape[1], kernels.inputs.names_at
    table[names_at:per_suit] = base[: per_suit - names_at]
    found += [table[per_suit:].t(), base.sum(0), table[:per_suit].t()]
    return found[::-1]


def _numbers(array: torch.Tensor) -> npt.NDArray[Any]:
    """An array for compiled code, which knows ``bfloat16`` by its bits."""
    return array.view(torch.uint16).numpy() if array.dtype == torch.bfloat16 else array.numpy()


def _load(stored: Any) -> Any:
    """A number of an array from ``_numbers``, as ``float32``."""
    return np.uint32(int(stored) << 16).view(np.float32) if isinstance(stored, np.uint16) else stored


def _like(number: Any, stored: Any) -> Any:
    """A ``float32`` as it is stored where now is ``stored``; ``bfloat16`` is rounded to the nearest, halves to even."""
    if not isinstance(stored, np.uint16):
        return number
    bits = int(np.float32(number).view(np.uint32))
    return np.uint16((bits + 0x7FFF + (bits >> 16 & 1)) >> 16)


@overload(_load, strict=False, inline="always")
def _load_compiled(stored: Any) -> Any:
    if stored != numba.types.uint16:
        return lambda stored: stored
    return lambda stored: np.uint32(np.uint32(stored) << np.uint32(16)).view(np.float32)


@overload(_like, strict=False, inline="always")
def _like_compiled(number: Any, stored: Any) -> Any:
    if stored != numba.types.uint16:
        return lambda number, stored: number

    def rounded(number: Any, stored: Any) -> Any:
        bits = np.float32(number).view(np.uint32)
        return np.uint16(
            np.uint32(bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)
        )

    return rounded


@numba.njit(cache=True, nogil=True)
def _find_inputs(
    observations: Any, wanted: Any, places: Any, columns: Any, cards: Any, factors: Any, suits: int, ranks: int,
    cards_at: int, most: int,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """The inputs that are not zero: those of row ``i`` are ``begins[i]`` to ``begins[i + 1]``.

    Returns:
        ``begins``; of every input its suit (or ``suits``: none), its weight's number, and its value.
    """
    rows, size = observations.shape
    begins = np.empty(rows + 1, np.int64)
    room = 64 * np.count_nonzero(wanted) + most  # grows where that is not enough
    suit, column, value = np.empty(room, np.uint8), np.empty(room, np.uint32), np.empty(room, np.float32)
    positions, flags, rank_flags = np.empty(size + 1, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    end = 0
    for row in range(rows):
        begins[row] = end
        if not wanted[row]:
            continue
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


@numba.njit(cache=True, nogil=True, fastmath={"contract"})
def _first_layer(
    rows: Any, begins: Any, suit: Any, column: Any, value: Any, table: Any, base: Any, hidden: Any, mean: Any
) -> None:
    """The first layer of every suit, and its mean over suits."""
    suits, width = base.shape
    sums = np.empty((suits + 1, width), np.float32)  # of every suit, then what all share
    for i in range(len(rows)):
        row = rows[i]
        sums[:suits] = base
        sums[suits] = 0.0
        for k in range(begins[row], begins[row + 1]):
            target, weights, factor = suit[k], column[k], value[k]
            for j in range(width):
                sums[target, j] += factor * table[weights, j]
        _activate(sums[:suits], sums[suits], hidden[i * suits : (i + 1) * suits], mean[i])


@numba.njit(cache=True, nogil=True, fastmath={"contract"})
def _next_layer(hidden: Any, shared: Any, mean: Any) -> None:
    """Adds to every suit what all share, cuts off below zero, and takes the mean over suits."""
    rows, width = mean.shape
    suits = hidden.shape[0] // rows
    sums = np.empty((suits, width), np.float32)
    for row in range(rows):
        own = hidden[row * suits : (row + 1) * suits]
        for s in range(suits):
            for i in range(width):
                sums[s, i] = _load(own[s, i])
        _activate(sums, shared[row], own, mean[row])


@numba.njit(cache=True, fastmath={"contract"})
def _activate(sums: Any, shared: Any, out: Any, mean: Any) -> None:
    """One row of ``_next_layer``."""
    suits, width = sums.shape
    part = np.float32(1.0 / suits)
    mean[:] = 0.0
    for s in range(suits):
        for i in range(width):
            number = max(sums[s, i] + shared[i], np.float32(0.0))
            out[s, i] = _like(number, out[s, i])
            mean[i] += number * part


@numba.njit(cache=True, nogil=True, fastmath={"contract"})
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
                gradient = _load(to_hidden[s, i]) + to_mean[row, i] * part
                gradient = gradient if hidden[s, i] > 0 else np.float32(0.0)  # of no number the sign bit is set
                to_hidden[s, i] = _like(gradient, to_hidden[s, i])
                together[row, i] += gradient


@numba.njit(cache=True, nogil=True, fastmath={"contract"})
def _first_layer_gradient(
    rows: Any, begins: Any, suit: Any, column: Any, value: Any, to_sums: Any, together: Any, table: Any, base: Any
) -> None:
    """Adds the gradients of the first layer's weights to ``table`` and of its biases to ``base``."""
    suits, width = base.shape
    gradients = np.empty((suits + 1, width), np.float32)  # of every suit, then of all together
    for i in range(len(rows)):
        row = rows[i]
        for s in range(suits):
            for j in range(width):
                gradients[s, j] = _load(to_sums[i * suits + s, j])
                base[s, j] += gradients[s, j]
        gradients[suits] = together[i]
        for k in range(begins[row], begins[row + 1]):
            source, weights, factor = suit[k], column[k], value[k]
            for j in range(width):
                table[weights, j] += factor * gradients[source, j]


@numba.njit(cache=True)
def choose(logits: Any, masks: Any, draws: Any, actions: Any, log_probs: Any) -> None:
    """Chooses an action in every row.

    Args:
        logits: ``(B, A) float32``.
        masks: ``(B, A)``: not 0 where an action is legal.
        draws: ``(B,) float32``, uniform in 0 … 1, for actions from the softmax; ``(0,)``: the best ones.
        actions: ``(B,) int64``: for the actions.
        log_probs: ``(B,) float32``: for their log-probabilities.
    """
    size = logits.shape[1]
    legal, probs = np.empty(size, np.int64), np.empty(size, np.float32)  # these add up to ``total``
    for row in range(len(actions)):
        count, best = 0, 0
        for action in range(size):
            if masks[row, action] != 0:
                legal[count] = action
                if logits[row, action] > logits[row, legal[best]]:
                    best = count
                count += 1
        highest, total = logits[row, legal[best]], np.float32(0.0)
        for k in range(count):
            probs[k] = np.exp(logits[row, legal[k]] - highest)
            total += probs[k]
        chosen = best
        if len(draws) > 0:
            left, chosen = draws[row] * total, 0
            while chosen < count - 1 and left >= probs[chosen]:
                left -= probs[chosen]
                chosen += 1
        actions[row] = legal[chosen]
        log_probs[row] = logits[row, legal[chosen]] - highest - np.log(total)
