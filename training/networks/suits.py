"""A network that shares its weights over suits.

Most games treat all suits alike (``trick_envs/engine/symmetry.py``), so what a network learns about one suit holds for
all. Each suit's numbers go through the same layers, together with the numbers that belong to no suit and, from
layer to layer, with the mean over all suits (deep sets: Zaheer et al. 2017). The same head gives the logits of each
suit's cards. Relabelled observations therefore have relabelled logits and the same value, but for rounding. In a game
that tells suits apart (``suit_symmetric=False``), each suit's numbers say which one it is.

The blocks of the game's layout say which numbers belong to which suit. A card that is written as one suit and one rank
becomes one number per suit and rank: their product.
"""

from __future__ import annotations

from itertools import accumulate, pairwise

import numpy as np
import torch
from gymnasium import spaces
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor

from trick_envs.engine.game import Game
from trick_envs.engine.observation import Layout, scales
from trick_envs.engine.registry import load_game
from trick_envs.engine.symmetry import by_suit


class SuitColumns(torch.nn.Module):
    """Sorts an observation, ``(B, D)``, into the numbers of each suit, ``(B, suits, C)``, and all others, ``(B, G)``.

    All are scaled to about -1 … 1.

    Args:
        game: the game.
        layout: of the vectors; by default the game's observation.

    Attributes:
        per_suit: C, how many numbers a suit has.
        others: G, how many belong to none.
        sizes: how many numbers of an observation are a suit's, suits of cards, ranks of cards, and none of these.
        suits: number of suits.
        ranks: number of ranks.
    """

    order: torch.Tensor
    factors: torch.Tensor
    names: torch.Tensor

    def __init__(self, game: Game, layout: Layout | None = None) -> None:
        super().__init__()
        layout = game.layout if layout is None else layout
        suits, ranks = len(game.deck.suits), len(game.deck.ranks)
        own: list[np.ndarray] = []  # each (suits, numbers): positions in the observation
        flags: list[np.ndarray] = []  # each (suits, cards): those of cards that are written as suit and rank
        rank_flags: list[np.ndarray] = []  # each (cards * ranks)
        others: list[np.ndarray] = []
        for block, where in zip(layout, layout.slices().values(), strict=True):
            places = by_suit(block, game.deck)
            if places is None:
                others.append(np.arange(where.start, where.stop))
            elif block.unit == "suit and rank":
                flags.append(where.start + places.reshape(suits, -1))
                written = np.arange(where.start, where.stop).reshape(-1, suits + ranks)
                rank_flags.append(written[:, suits:].reshape(-1))
            else:
                own.append(where.start + places.reshape(suits, -1))
        sections = [np.concatenate(each, axis=-1).reshape(-1) for each in (own, flags, rank_flags, others)]
        self.sizes = [len(section) for section in sections]
        self.suits, self.ranks = suits, ranks
        self.per_suit = self.sizes[0] // suits + self.sizes[2]
        names = torch.zeros(suits, 0) if game.type.suit_symmetric else torch.eye(suits)
        self.register_buffer("names", names, persistent=False)
        self.per_suit += names.shape[1]
        self.others = self.sizes[3]
        order = np.concatenate(sections)
        self.register_buffer("order", torch.from_numpy(order), persistent=False)
        factors = torch.from_numpy(1.0 / scales(layout)[order])
        self.register_buffer("factors", factors, persistent=False)

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The suits' numbers and the others."""
        sorted_ = observations.index_select(1, self.order) * self.factors
        ends = accumulate(self.sizes, initial=0)  # slices: in an ONNX file, torch.split makes a sequence
        own, flags, ranks, others = (sorted_[:, begin:end] for begin, end in pairwise(ends))
        suits = self.suits
        cards = flags.reshape(-1, suits, self.sizes[1] // suits, 1) * ranks.reshape(
            -1, 1, self.sizes[1] // suits, self.ranks
        )
        parts = [own.reshape(-1, suits, self.sizes[0] // suits), cards.flatten(2)]
        if self.names.numel():
            parts.append(self.names.expand(own.shape[0], suits, suits))
        return torch.cat(parts, dim=2), others


class SuitLayers(BaseFeaturesExtractor):
    """The layers that policy and value share; its features are ``(B, suits * width)``.

    Args:
        observation_space: of the environment.
        game: name of the game.
        num_players: seats.
        width: of every layer, per suit.
        depth: number of layers.
        layout: of the vectors; by default the game's observation.

    Attributes:
        suits: number of suits.
        width: as given.
    """

    def __init__(
        self,
        observation_space: spaces.Box,
        game: str,
        num_players: int,
        width: int,
        depth: int,
        layout: Layout | None = None,
    ) -> None:
        loaded = load_game(game, num_players)
        suits = len(loaded.deck.suits)
        super().__init__(observation_space, suits * width)
        self.suits, self.width = suits, width
        self.columns = SuitColumns(loaded, layout)
        self.first = torch.nn.Linear(self.columns.per_suit, width)
        self.from_others = torch.nn.Linear(self.columns.others, width, bias=False)
        self.own = torch.nn.ModuleList(torch.nn.Linear(width, width) for _ in range(depth - 1))
        self.from_mean = torch.nn.ModuleList(torch.nn.Linear(width, width, bias=False) for _ in range(depth - 1))

    def forward(self, observations: torch.Tensor) -> torch.Tensor:
        by_suit, others = self.columns(observations)
        hidden = torch.relu_(self.first(by_suit) + self.from_others(others).unsqueeze(1))
        for own, from_mean in zip(self.own, self.from_mean, strict=True):
            hidden = torch.relu_(own(hidden) + from_mean(hidden.mean(1)).unsqueeze(1))
        return hidden.flatten(1)


class SuitHead(torch.nn.Module):
    """Gives every suit's cards their logits: ``(B, suits * width)`` to ``(B, A)``."""

    def __init__(self, suits: int, width: int, ranks: int) -> None:
        super().__init__()
        self._suits, self._width = suits, width
        self.head = torch.nn.Linear(width, ranks)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return self.head(features.reshape(-1, self._suits, self._width)).flatten(1)


class ValueHead(torch.nn.Module):
    """The value, from the mean over suits: ``(B, suits * width)`` to ``(B, 1)``."""

    def __init__(self, suits: int, width: int) -> None:
        super().__init__()
        self._suits, self._width = suits, width
        self.layer, self.head = torch.nn.Linear(width, width), torch.nn.Linear(width, 1)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return self.head(torch.relu_(self.layer(features.reshape(-1, self._suits, self._width).mean(1))))
