"""The network of ``network.py`` on a CPU: the same function and the same gradients, in compiled code.

Observations are small integers, nine of ten are zero, so the first layer adds up the weights of those that are not.
What lies between two matrix products (biases, means over suits, ReLU and their derivatives) is one pass over memory
each. Arrays are used again and again (``_Memory``): to ask the system for memory would take as long as to compute.
``tests/test_networks.py`` compares everything with what torch computes from ``SuitLayers``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import accumulate, pairwise
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numba
import numpy as np
import numpy.typing as npt
import torch
from numba.extending import overload

from training.products import numbers, one_thread, product
from trick_envs.errors import InputError

Array: TypeAlias = npt.NDArray[np.float32]
Gradients: TypeAlias = tuple[Array, Array, npt.NDArray[np.float64]]
Part = TypeVar("Part")
Found = TypeVar("Found")
FLOAT = np.float32
ROWS = 4096  # at most, at a time while learning: calls take no time beside computing, and memory stays small
LEAST = 20_000  # units of a layer, of all rows, for a thread of its own: with fewer, it takes as long to hand them over
OF_HELD = 5  # inputs of every card in the hand, besides that it is there
GRAIN = 16  # a part of a batch has a multiple of so many rows


class _Team(NamedTuple):
    """Threads that share batches: in how many parts, how many threads besides the one that asks, and these; and the
    weights by precision, where they stay as they are."""

    threads: int = 1
    others: int = 0
    pool: ThreadPoolExecutor | None = None
    kept: dict[torch.dtype, Vectors] | None = None


class Vectors(NamedTuple):
    """All weights, one after the other, for compiled code.

    Attributes:
        exact: ``(weights,) float32``.
        rounded: the same as matrix products take them: ``bfloat16``, or ``exact``.
        table: of the first layer, of every input, ``(inputs, width)``.
        base: of the first layer, what every suit has without inputs, ``(suits, width)``.
    """

    exact: Array
    rounded: npt.NDArray[Any]
    table: Array
    base: Array


class SuitKernels:
    """What the compiled code knows of a network: where its inputs go, and its weights.

    Args:
        layers: the shared layers, ``SuitLayers``.
        action: the head of the policy, ``SuitHead``.
        value: the head of the value, ``ValueHead``.
    """

    def __init__(self, layers: Any, action: Any, value: Any) -> None:
        self.inputs, depth = _inputs(layers.columns), len(layers.own) + 1
        self.shape = _Shape(
            layers.suits, layers.width, depth, action.head.out_features, layers.first.in_features,
            layers.from_others.in_features, self.inputs.names_at,
        )  # fmt: skip
        self._modules = (layers, action, value)
        self._sizes = [weight.shape for weight in self._weights()]
        self.free: list[_Memory] = []
        self._team = _Team()

    @property
    def weights(self) -> list[torch.Tensor]:
        """All that the network has now: ``load_state_dict(…, assign=True)`` gives it others.

        Raises:
            ValueError: if they have other shapes than when it was made; compiled code checks no bounds.
        """
        weights = self._weights()
        if [weight.shape for weight in weights] != self._sizes:
            raise InputError(
                "SuitPolicy: expected layers of the shapes with which it was made, not others in their place"
            )
        return weights

    def _weights(self) -> list[torch.Tensor]:
        layers, action, value = self._modules
        weights = [layers.first.weight, layers.first.bias, layers.from_others.weight]
        for own, from_mean in zip(layers.own, layers.from_mean, strict=True):
            weights += [*own.parameters(), *from_mean.parameters()]
        for linear in (action.head, value.layer, value.head):
            weights += [linear.weight, linear.bias]
        return weights

    @contextmanager
    def team(self, threads: int, cores: int, still: bool = False) -> Iterator[None]:
        """In this block, threads share large batches.

        Args:
            threads: in how many parts; with ``GRAIN`` rows or a multiple in each, they find the same as one.
            cores: how many of the parts are computed at a time, which changes nothing.
            still: the weights stay as they are: logits and values are of those at the first call.
        """
        others = min(threads, cores) - 1
        pool = ThreadPoolExecutor(max(others, 1), initializer=torch.set_num_threads, initargs=(1,))
        with pool, one_thread():  # or a part is computed in another way by the thread that asks
            self._team = _Team(threads, others, pool, {} if still else None)
            try:
                yield
            finally:
                self._team = _Team()

    def each(self, function: Callable[[Part], Found], parts: Sequence[Part]) -> list[Found]:
        """What a function returns for every part; this thread and those of the team take one after the other."""
        found, left, team = {}, iter(enumerate(parts)), self._team

        def work() -> None:
            for number, part in left:
                found[number] = function(part)

        others = [team.pool.submit(work) for _ in range(min(team.others, len(parts) - 1)) if team.pool is not None]
        work()
        for other in others:
            if not other.cancel():  # whoever has not begun is not needed, and may wait for this thread
                other.result()
        return [found[number] for number in range(len(parts))]

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
        kept = {} if self._team.kept is None else self._team.kept
        if precision not in kept:
            kept[precision] = self.vectors(precision)
        found = self.each(partial(self._judge, kept[precision]), self._parts(observations))
        logits, values = (torch.from_numpy(np.concatenate(each)) for each in zip(*found, strict=True))
        return logits, values

    def _parts(self, rows: Any) -> list[Any]:
        """The parts that threads share, of observations or what has as many rows."""
        parts = max(1, min(self._team.threads, len(rows) * self.shape.width // LEAST, len(rows) // GRAIN))
        ends = [len(rows) * part // (parts * GRAIN) * GRAIN for part in range(parts)] + [len(rows)]
        return [rows[begin:end] for begin, end in pairwise(ends)]

    @torch.no_grad()
    def vectors(self, precision: torch.dtype) -> Vectors:
        """The weights as they are now."""
        exact = torch.cat([weight.reshape(-1) for weight in self.weights])
        first, first_bias, from_others, *_ = self.weights
        table, base = torch.cat([first.t(), from_others.t()]), first_bias.repeat(self.shape.suits, 1)
        if self.shape.per_suit > self.shape.names_at:
            base += first[:, self.shape.names_at :].t()
        return Vectors(numbers(exact), numbers(exact.to(precision)), table.numpy(), base.numpy())

    def _judge(self, vectors: Vectors, observations: torch.Tensor | SparseRows) -> tuple[Array, Array]:
        with self._memory() as memory:
            logits, values, _ = self._forward(self._read(observations), vectors, memory)
        return logits, values

    def gradients(
        self, rows: SparseRows, vectors: Vectors, of_loss: Callable[[Array, Array], Gradients]
    ) -> tuple[Array, npt.NDArray[np.float64]]:
        """The gradients of the weights without autograd, so that threads can work side by side.

        Args:
            rows: observations.
            vectors: the weights.
            of_loss: of logits ``(B, A)`` and values ``(B, 1)``: the gradients of a loss by these, and its figures.

        Returns:
            the gradients, one after the other as in ``vectors``, and the figures.
        """
        with self._memory() as memory:
            logits, values, kept = self._forward(rows, vectors, memory)
            to_logits, to_values, figures = of_loss(logits, values)
            return self._backward(kept, vectors, memory, to_logits, to_values), figures

    def of_each(self, gradients: torch.Tensor) -> list[torch.Tensor]:
        """The gradient of every weight, of those that lie one after the other."""
        each = torch.split(gradients, [size.numel() for size in self._sizes])
        return [own.view(size) for own, size in zip(each, self._sizes, strict=True)]

    def _forward(self, rows: SparseRows, vectors: Vectors, memory: _Memory) -> tuple[Array, Array, _Kept]:
        """Logits ``(B, A)``, values ``(B, 1)``, and what the backward pass needs."""
        shape, count, products = self.shape, len(rows), vectors.rounded.dtype
        kept = _Kept(
            rows,
            memory.array(products, shape.depth, count * shape.suits, shape.width),
            memory.array(FLOAT, shape.depth, count, shape.width),
            memory.array(FLOAT, count, shape.width),
        )
        logits, values = np.empty((count, shape.suits * shape.ranks), FLOAT), np.empty((count, 1), FLOAT)
        scores = memory.array(products, count * shape.suits, shape.ranks)
        shared = memory.array(FLOAT, count, shape.width)
        _first_layer(rows.numbers, *rows.found, vectors.table, vectors.base, kept.hidden[0], kept.means[0])
        _forward(shape, vectors.exact, vectors.rounded, *kept[1:], shared, scores, logits, values)
        return logits, values, kept

    def _backward(self, kept: _Kept, vectors: Vectors, memory: _Memory, to_logits: Array, to_values: Array) -> Array:
        """The gradients of the weights, from those of logits and values."""
        shape, (rows, *layers), found = self.shape, kept, np.empty_like(vectors.exact)
        count, products = len(rows), vectors.rounded.dtype
        to_scores = memory.array(products, count * shape.suits, shape.ranks)
        to_hidden = memory.array(products, 2, count * shape.suits, shape.width)
        to_means = memory.array(FLOAT, 2, count, shape.width)
        last = _backward(
            shape, vectors.exact, vectors.rounded, *layers, to_logits, to_values, to_scores, to_hidden, to_means, found
        )
        first, first_bias, from_others, *_ = _cut(shape, found)
        table, base = np.zeros_like(vectors.table), np.zeros_like(vectors.base)
        _first_layer_gradient(rows.numbers, *rows.found, to_hidden[last], to_means[1], table, base)
        table[shape.names_at : shape.per_suit] = base[: shape.per_suit - shape.names_at]
        first[:], first_bias[:], from_others[:] = table[: shape.per_suit].T, base.sum(0), table[shape.per_suit :].T
        return found

    @contextmanager
    def _memory(self) -> Iterator[_Memory]:
        memory = self.free.pop() if self.free else _Memory()
        try:
            yield memory
        finally:
            self.give_back(memory)

    def give_back(self, memory: _Memory) -> None:
        """What was computed in it is needed no longer."""
        memory.clear()
        self.free.append(memory)

    def _read(self, observations: torch.Tensor | SparseRows) -> SparseRows:
        return observations if isinstance(observations, SparseRows) else self.sparse(observations)

    def sparse(self, observations: torch.Tensor, wanted: npt.NDArray[np.bool_] | None = None) -> SparseRows:
        """Reads observations, ``(B, D) int8``, once for many calls; ``wanted``: of these rows alone, ``(B,)``."""
        if observations.shape[1:] != self.inputs.places.shape:  # compiled code checks no bounds
            raise InputError(
                f"SuitPolicy: expected observations of shape (B, {len(self.inputs.places)}), "
                f"not {tuple(observations.shape)}"
            )
        inputs, wanted = self.inputs, np.ones(len(observations), np.bool_) if wanted is None else wanted

        def read(rows: range) -> tuple[npt.NDArray[Any], ...]:
            part = slice(rows.start, rows.stop)
            return _find_inputs(observations[part].numpy(), wanted[part], inputs)

        return SparseRows(_joined(self.each(read, self._parts(range(len(observations))))), np.arange(len(observations)))

    def __getstate__(self) -> dict[str, Any]:
        """A copy, or another process, has memory and threads of its own."""
        return {**vars(self), "free": [], "_team": _Team()}


class SparseRows:
    """Observations by their inputs that are not zero; rows are selected as from an array.

    Args:
        found: from ``_find_inputs``.
        numbers: ``(B,) int64``: which of them.
    """

    def __init__(self, found: tuple[npt.NDArray[Any], ...], numbers: npt.NDArray[np.int64]) -> None:
        self.found, self.numbers = found, numbers

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, rows: slice | npt.NDArray[np.int64]) -> SparseRows:
        return SparseRows(self.found, self.numbers[rows])


class _Memory:
    """Memory from which arrays are cut one after the other, until ``clear`` makes it free again."""

    def __init__(self) -> None:
        self._block, self._used = np.empty(0, np.uint8), 0

    def array(self, kind: npt.DTypeLike, *shape: int) -> npt.NDArray[Any]:
        """An array with any content. If there is no room for it, there will be after ``clear``."""
        size, begin = math.prod(shape) * np.dtype(kind).itemsize, self._used
        self._used += -(-size // 64) * 64  # each begins a line of the cache
        if self._used > len(self._block):
            return np.empty(shape, kind)
        return self._block[begin : begin + size].view(kind).reshape(shape)

    def clear(self) -> None:
        """The arrays are needed no longer."""
        if self._used > len(self._block):
            self._block = np.empty(self._used, np.uint8)
        self._used = 0


class _Inputs(NamedTuple):
    """Where every number of an observation goes.

    Attributes:
        places: ``(D,)``: the suit that a number belongs to; ``suits``: none; ``suits + 1``, ``suits + 2``: it is the
            suit or the rank of a card, and counts together with the other.
        columns: ``(D,)``: which weight; of suits and ranks of cards: which suit or rank.
        cards: ``(D,)``: of suits and ranks of cards: the number of the card.
        factors: ``(D,)``: by which numbers are multiplied.
        counted: ``(D,)``: of cards in the hand and cards that are gone: the rank; of others -1.
        suits, ranks, copies: of the deck.
        in_trick: how many of the cards of suits and ranks, the first ones, can be in the trick.
        cards_at, held_at, names_at: the first weight of the cards in the trick; of what ``CountedCards`` says;
            of which suit it is.
        most: how many inputs of an observation can differ from zero.
    """

    places: npt.NDArray[np.int32]
    columns: npt.NDArray[np.int32]
    cards: npt.NDArray[np.int32]
    factors: Array
    counted: npt.NDArray[np.int32]
    suits: int
    ranks: int
    copies: int
    in_trick: int
    cards_at: int
    held_at: int
    names_at: int
    most: int


def _inputs(columns: Any) -> _Inputs:
    """Where ``SuitColumns`` has every number of an observation."""
    order, suits, ranks, counts = columns.order.numpy(), columns.suits, columns.ranks, columns.counted
    own, flags, rank_flags, others = columns.sizes
    suit, number = np.divmod(np.arange(own), max(1, own // suits))
    flag_suit, flag_card = np.divmod(np.arange(flags), max(1, flags // suits))
    rank_card, rank = np.divmod(np.arange(rank_flags), ranks)
    hand_or_gone = (number < ranks) | ((number >= counts.gone.start) & (number < counts.gone.stop))

    def placed(*numbers: Any) -> npt.NDArray[np.int32]:
        found = np.empty(len(order), np.int32)
        found[order] = np.concatenate([np.broadcast_to(*each) for each in zip(numbers, columns.sizes, strict=True)])
        return found

    factors = np.empty(len(order), FLOAT)
    factors[order] = columns.factors.numpy()
    return _Inputs(
        places=placed(suit, suits + 1, suits + 2, suits),
        columns=placed(number, flag_suit, rank, columns.per_suit + np.arange(others)),
        cards=placed(0, flag_card, rank_card, 0),
        factors=factors,
        counted=placed(np.where(hand_or_gone, number % ranks, -1), -1, -1, -1),
        suits=suits,
        ranks=ranks,
        copies=counts.copies,
        in_trick=(counts.trick.stop - counts.trick.start) // ranks,
        cards_at=own // suits,
        held_at=columns.held_at,
        names_at=columns.held_at + OF_HELD * ranks,
        most=own + others + flags * ranks + 3 * suits * ranks,  # of those that count, three of a card
    )


class _Network(torch.autograd.Function):
    """Forward and backward pass; the arguments after the observations are the weights."""

    @staticmethod
    def forward(
        ctx: Any, kernels: SuitKernels, precision: torch.dtype, rows: SparseRows, *weights: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        ctx.kernels, ctx.memory = kernels, kernels.free.pop() if kernels.free else _Memory()
        ctx.vectors = kernels.vectors(precision)
        logits, values, ctx.kept = kernels._forward(rows, ctx.vectors, ctx.memory)
        ctx.save_for_backward(*weights)  # torch says if they change meanwhile
        return torch.from_numpy(logits), torch.from_numpy(values)

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        if ctx.memory is None:
            raise RuntimeError("expected one backward pass after each forward pass: its numbers are gone")
        assert ctx.saved_tensors
        to_logits, to_values = (each.contiguous().numpy() for each in gradients)
        found = ctx.kernels._backward(ctx.kept, ctx.vectors, ctx.memory, to_logits, to_values)
        ctx.kernels.give_back(ctx.memory)
        ctx.memory = ctx.kept = ctx.vectors = None
        return (None, None, None, *ctx.kernels.of_each(torch.from_numpy(found)))


class _Kept(NamedTuple):
    """What the backward pass needs of the forward pass.

    Attributes:
        rows: the observations.
        hidden: of every layer, its outputs for each suit, ``(depth, B * suits, width)`` as products take them.
        means: of every layer, their means over suits, ``(depth, B, width)``.
        valued: the layer before the value, ``(B, width)``.
    """

    rows: SparseRows
    hidden: npt.NDArray[Any]
    means: Array
    valued: Array


class _Shape(NamedTuple):
    """Of a network: its suits, width, depth and ranks; how many inputs every suit has, and how many belong to none.

    Of a suit's inputs, those from ``names_at`` on say which suit it is.
    """

    suits: int
    width: int
    depth: int
    ranks: int
    per_suit: int
    others: int
    names_at: int


class _Weights(NamedTuple):
    """The weights, or their gradients, as parts of one vector; each ``(outputs, inputs)``, biases ``(outputs,)``.

    Attributes:
        first, first_bias, from_others: of the first layer.
        between: of the other layers, ``(depth - 1, …)``; ``_cut_layer`` knows what is in a row.
        head, head_bias: of the logits.
        layer, layer_bias, value, value_bias: of the value.
    """

    first: Any
    first_bias: Any
    from_others: Any
    between: Any
    head: Any
    head_bias: Any
    layer: Any
    layer_bias: Any
    value: Any
    value_bias: Any


@numba.njit(cache=True)
def _cut(shape: _Shape, vector: Any) -> _Weights:
    """The weights in a vector, which has them in the order of ``SuitKernels.weights``."""
    width, square, layers = shape.width, shape.width * shape.width, shape.depth - 1
    first_bias = width * shape.per_suit
    from_others = first_bias + width
    between = from_others + width * shape.others
    head = between + layers * (2 * square + width)
    head_bias = head + shape.ranks * width
    layer = head_bias + shape.ranks
    layer_bias = layer + square
    value = layer_bias + width
    value_bias = value + width
    return _Weights(
        vector[:first_bias].reshape(width, shape.per_suit),
        vector[first_bias:from_others],
        vector[from_others:between].reshape(width, shape.others),
        vector[between:head].reshape(layers, 2 * square + width),
        vector[head:head_bias].reshape(shape.ranks, width),
        vector[head_bias:layer],
        vector[layer:layer_bias].reshape(width, width),
        vector[layer_bias:value],
        vector[value:value_bias].reshape(1, width),
        vector[value_bias:],
    )


@numba.njit(cache=True)
def _cut_layer(shape: _Shape, vector: Any) -> tuple[Any, Any, Any]:
    """The weights of one of the layers between: for a suit's own numbers, the bias, for the mean over suits."""
    width, square = shape.width, shape.width * shape.width
    return (
        vector[:square].reshape(width, width),
        vector[square : square + width],
        vector[square + width :].reshape(width, width),
    )


@numba.njit(cache=True, nogil=True)
def _forward(
    shape: _Shape, exact: Any, rounded: Any, hidden: Any, means: Any, valued: Any, shared: Any, scores: Any,
    logits: Any, values: Any,
) -> None:  # fmt: skip
    """From the first layer to logits, values, and what the backward pass needs; ``shared``, ``scores``: memory."""
    weights, factors = _cut(shape, exact), _cut(shape, rounded)
    for number in range(1, shape.depth):
        _, bias, from_mean = _cut_layer(shape, weights.between[number - 1])
        product(means[number - 1], False, from_mean, True, shared)
        product(hidden[number - 1], False, _cut_layer(shape, factors.between[number - 1])[0], True, hidden[number])
        _next_layer(shape.suits, hidden[number], shared, bias, means[number])
    product(hidden[-1], False, factors.head, True, scores)
    _add_bias(scores, weights.head_bias, logits.reshape(scores.shape))
    product(means[-1], False, weights.layer, True, valued)
    for row in range(len(values)):
        for i in range(shape.width):
            valued[row, i] = max(valued[row, i] + weights.layer_bias[i], np.float32(0.0))
    product(valued, False, weights.value, True, values)
    for row in range(len(values)):
        values[row, 0] += weights.value_bias[0]


@numba.njit(cache=True, nogil=True)
def _backward(
    shape: _Shape, exact: Any, rounded: Any, hidden: Any, means: Any, valued: Any, to_logits: Any, to_values: Any,
    to_scores: Any, to_hiddens: Any, to_means: Any, found: Any,
) -> int:  # fmt: skip
    """Writes the gradients of all weights but the first layer's; ``to_scores``, ``to_hiddens``, ``to_means``: memory.

    Returns:
        which of ``to_hiddens`` has the gradients of the first layer's sums; those over suits are in ``to_means[1]``.
    """
    weights, factors, gradients = _cut(shape, exact), _cut(shape, rounded), _cut(shape, found)
    to_mean, together, to_hidden, to_next = to_means[0], to_means[1], to_hiddens[0], to_hiddens[1]
    product(to_values, True, valued, False, gradients.value)
    product(to_values, False, weights.value, False, together)
    for row in range(len(to_values)):
        for i in range(shape.width):
            together[row, i] = together[row, i] if valued[row, i] > 0 else np.float32(0.0)
    _sum(to_values, gradients.value_bias)
    _sum(together, gradients.layer_bias)
    _round(to_logits.reshape(to_scores.shape), to_scores)
    _sum(to_logits.reshape(to_scores.shape), gradients.head_bias)
    product(together, True, means[-1], False, gradients.layer)
    product(together, False, weights.layer, False, to_mean)
    _rounded_product(to_scores, hidden[-1], gradients.head)
    product(to_scores, False, factors.head, False, to_hidden)
    for number in range(shape.depth - 1, 0, -1):
        own, bias, from_mean = _cut_layer(shape, gradients.between[number - 1])
        _layer_gradient(shape.suits, hidden[number], to_hidden, to_mean, together)
        product(together, True, means[number - 1], False, from_mean)
        _sum(together, bias)
        _rounded_product(to_hidden, hidden[number - 1], own)
        product(to_hidden, False, _cut_layer(shape, factors.between[number - 1])[0], False, to_next)
        product(together, False, _cut_layer(shape, weights.between[number - 1])[2], False, to_mean)
        to_hidden, to_next = to_next, to_hidden
    _layer_gradient(shape.suits, hidden[0], to_hidden, to_mean, together)
    return (shape.depth - 1) % 2


@numba.njit(cache=True, fastmath={"contract"})
def _add_bias(scores: Any, bias: Any, logits: Any) -> None:
    rows, ranks = scores.shape
    for row in range(rows):
        for rank in range(ranks):
            logits[row, rank] = _load(scores[row, rank]) + bias[rank]


@numba.njit(cache=True)
def _round(exact: Any, rounded: Any) -> None:
    """Copies numbers as products take them."""
    rows, columns = exact.shape
    for row in range(rows):
        for i in range(columns):
            rounded[row, i] = _like(exact[row, i], rounded[row, i])


# For an assignment to a slice Numba compiles what it says of wrong shapes, which takes seconds: loops instead.
@numba.njit(cache=True)
def _sum(numbers: Any, sums: Any) -> None:
    """Writes the sums over rows."""
    rows, columns = numbers.shape
    for i in range(columns):
        sums[i] = 0.0
    for row in range(rows):
        for i in range(columns):
            sums[i] += numbers[row, i]


@numba.njit(cache=True)
def _rounded_product(to_outputs: Any, inputs: Any, gradient: Any) -> None:
    """The gradient of a matrix, whose product with ``inputs`` is computed in their precision."""
    product_of = np.empty(gradient.shape, inputs.dtype)
    product(to_outputs, True, inputs, False, product_of)
    for i in range(gradient.shape[0]):
        for j in range(gradient.shape[1]):
            gradient[i, j] = _load(product_of[i, j])


def _load(stored: Any) -> Any:
    """A number of an array from ``_numbers``, as ``float32``."""
    return np.uint32(int(stored) << 16).view(np.float32) if isinstance(stored, np.uint16) else stored


def _like(number: Any, stored: Any) -> Any:
    """A ``float32`` as it is stored where now is ``stored``; ``bfloat16`` is rounded to the nearest, halves to even."""
    if not isinstance(stored, np.uint16):
        return number
    bits = int(np.float32(number).view(np.uint32))
    return np.uint16((bits + 0x7FFF + (bits >> 16 & 1)) >> 16)


# In a function that inlines these, Numba drops what is written to an array of a tuple: they have loops of their own.
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
def _find_inputs(observations: Any, wanted: Any, inputs: _Inputs) -> tuple[Any, Any, Any, Any]:
    """The inputs that are not zero: those of row ``i`` are ``begins[i]`` to ``begins[i + 1]``.

    Returns:
        ``begins``; of every input its suit (or ``suits``: none), its weight's number, and its value.
    """
    places, columns, cards, factors, counted, suits, ranks, copies, in_trick, cards_at, held_at, _, most = inputs
    rows, size = observations.shape
    begins = np.empty(rows + 1, np.int64)
    room = most
    for row in range(rows):
        room += 64 * wanted[row]  # grows where that is not enough
    suit, column, value = np.empty(room, np.uint8), np.empty(room, np.uint32), np.empty(room, np.float32)
    positions, flags, rank_flags = np.empty(size + 1, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    left, trick = np.empty((suits, ranks), np.int64), np.empty((suits, ranks), np.int64)  # of every card, how many
    part = np.float32(1.0 / (copies * ranks))
    end = 0
    for row in range(rows):
        begins[row] = end
        if not wanted[row]:
            continue
        if end + most > room:
            room *= 2
            suit, column, value = _longer(suit, room), _longer(column, room), _longer(value, room)
        for s in range(suits):
            for rank in range(ranks):
                left[s, rank], trick[s, rank] = copies, 0
        count, num_flags, num_ranks = 0, 0, 0
        for i in range(size):  # without a branch, which would often be predicted wrongly
            positions[count] = i
            count += observations[row, i] != 0
        for i in positions[:count]:
            place = places[i]
            if place <= suits:
                suit[end], column[end], value[end] = place, columns[i], observations[row, i] * factors[i]
                end += 1
                if counted[i] >= 0:
                    left[place, counted[i]] -= observations[row, i]
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
                    if cards[one] < in_trick:
                        trick[columns[one], columns[other]] += int(observations[row, one]) * observations[row, other]
        for s in range(suits):  # as ``CountedCards``
            above, below, reached, there = 0, 0, 0, 0
            for rank in range(ranks):
                there += trick[s, rank]
                left[s, rank] = max(left[s, rank] - trick[s, rank], 0)
                below += left[s, rank]
            for rank in range(ranks - 1, -1, -1):
                below -= left[s, rank]
                reached += max(trick[s, rank], 0)
                if observations[row, s * ranks + rank] > 0:
                    at, higher, lower = held_at + rank, above > 0, below > 0
                    suit[end], suit[end + 1], suit[end + 2] = s, s, s
                    column[end], value[end] = at + (0 if higher else 2) * ranks, above * part if higher else 1.0
                    end += 1
                    column[end], value[end] = at + (1 if lower else 3) * ranks, below * part if lower else 1.0
                    end += 1
                    column[end], value[end] = at + 4 * ranks, max(1 - reached - max(1 - there, 0), 0)
                    end += value[end] > 0
                above += left[s, rank]
    begins[rows] = end
    return begins, suit, column, value


def _joined(parts: list[tuple[npt.NDArray[Any], ...]]) -> tuple[npt.NDArray[Any], ...]:
    """What ``_find_inputs`` has found of the parts of a batch, as if of the whole."""
    if len(parts) == 1:
        return parts[0]
    ends = [int(begins[-1]) for begins, *_ in parts]
    begins = [begins[:-1] + end for (begins, *_), end in zip(parts, accumulate(ends, initial=0), strict=False)]
    found = [[array[:end] for array in arrays] for (_, *arrays), end in zip(parts, ends, strict=True)]
    return np.concatenate([*begins, [sum(ends)]]), *map(np.concatenate, zip(*found, strict=True))


@numba.njit(cache=True)
def _longer(array: Any, room: int) -> Any:
    longer = np.empty(room, array.dtype)
    for i in range(len(array)):
        longer[i] = array[i]
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
        for s in range(suits):
            for j in range(width):
                sums[s, j] = base[s, j]
        for j in range(width):
            sums[suits, j] = 0.0
        for k in range(begins[row], begins[row + 1]):
            target, weights, factor = suit[k], column[k], value[k]
            for j in range(width):
                sums[target, j] += factor * table[weights, j]
        _activate(sums[:suits], sums[suits], hidden[i * suits : (i + 1) * suits], mean[i])


@numba.njit(cache=True, nogil=True, fastmath={"contract"})
def _next_layer(suits: int, hidden: Any, shared: Any, bias: Any, mean: Any) -> None:
    """Adds to every suit what all share and the bias, cuts off below zero, and takes the mean over suits."""
    rows, width = mean.shape
    sums = np.empty((suits, width), np.float32)
    for row in range(rows):
        own = hidden[row * suits : (row + 1) * suits]
        for i in range(width):
            shared[row, i] += bias[i]
        for s in range(suits):
            for i in range(width):
                sums[s, i] = _load(own[s, i])
        _activate(sums, shared[row], own, mean[row])


@numba.njit(cache=True, fastmath={"contract"})
def _activate(sums: Any, shared: Any, out: Any, mean: Any) -> None:
    """One row of ``_next_layer``."""
    suits, width = sums.shape
    part = np.float32(1.0 / suits)
    for i in range(width):
        mean[i] = 0.0
    for s in range(suits):
        for i in range(width):
            number = max(sums[s, i] + shared[i], np.float32(0.0))
            out[s, i] = _like(number, out[s, i])
            mean[i] += number * part


@numba.njit(cache=True, nogil=True, fastmath={"contract"})
def _layer_gradient(suits: int, hidden: Any, to_hidden: Any, to_mean: Any, together: Any) -> None:
    """From the gradients of a layer's outputs (in place) and of their mean to those of its sums, also over suits."""
    rows, width = to_mean.shape
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
        for j in range(width):
            gradients[suits, j] = together[i, j]
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
