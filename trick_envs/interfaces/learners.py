"""Games in which one seat learns and the others are played: what ``SeatEnv`` and ``VectorSeatEnv`` share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import gymnasium
import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from trick_envs.engine.arguments import number_among, reward_mode
from trick_envs.engine.copies import OwnArrays
from trick_envs.engine.deal import Deal
from trick_envs.engine.game import Game
from trick_envs.engine.kernels.seats import END_MATCH, RAISE, UNFINISHED, SeatGames
from trick_envs.engine.play_log import NotedPlays, PlayLog, layout_of, with_history
from trick_envs.engine.positions import why_illegal
from trick_envs.engine.rng import fresh_seed
from trick_envs.engine.state import OVER, Bytes, Numbers, Streams
from trick_envs.errors import IllegalAction, InputError, shown
from trick_envs.interfaces.illegal_penalty import illegal_warning, worst_total
from trick_envs.interfaces.options import OBSERVATION_KEY, SeatOptions
from trick_envs.matches.fixed_deals import deal_given
from trick_envs.matches.seating import Opponents, checked_seat, illegal_mode

Vectors: TypeAlias = npt.NDArray[np.float32]
Masked: TypeAlias = Vectors | dict[str, npt.NDArray[np.float32 | np.int8]]  # with a mask beside the vector or without

END_MASKS = ("zeros", "ones")
NO_ACTIONS = np.zeros(0, np.int64)
_BOUND = ("_play_rows", "_observe_rows", "_first_illegal", "_games")  # by ``_bind``; they cannot be pickled


class Learners(OwnArrays):
    """``count`` games of one kind, each with a learner; compiled players and agents play the other seats.

    Args:
        game: the game.
        options: how it is learnt.
        count: how many games.
        noted: whether all plays are noted, for a record.

    Attributes:
        space: the space of one observation.
        states: ``(count,)`` records: the positions.
        seats: ``(count,) int64``: where the learner sits.
        over: ``(count,) bool``: whether the match has ended.
        plays: what has been played in the running matches, if it is noted.
        log: the same, if observations show the order of play.
        masks: ``(count, A) int8``: the learners' legal actions, as last shown.
        started: whether every game has had a match.

    Raises:
        ValueError: for options that do not fit; says what was expected.
    """

    def __init__(self, game: Game, options: SeatOptions, count: int, noted: bool = False) -> None:
        self.game, self.count, self.reward = game, count, options.reward
        self.layout = layout_of(game, options.observation)
        self._size, self._position_size = self.layout.size, game.layout.size
        self._end_mask = number_among(options.end_mask, END_MASKS, "end_mask")
        self._mask_key, self._observation_key = options.mask_key, options.observation_key
        self.space = self._space()
        self.log = PlayLog(game, count) if with_history(options.observation) else None
        self.plays = self.log or NotedPlays(count, 64 if noted else 0)
        self.opponents = Opponents(options.opponents, game)
        self._wanted = checked_seat(options.seat, game, "seat")
        self._illegal, self._mode = illegal_mode(options.illegal), reward_mode(options.reward)
        self.states = np.zeros(count, game.dtype)
        self.seats = np.zeros(count, np.int64)
        self.all = np.arange(count)
        self.over = np.ones(count, np.bool_)
        self.masks = np.zeros((count, game.num_actions), np.int8)
        self._streams = np.zeros(count, np.uint64)
        self._waiting = np.full(count, -1)  # the agent that has to act, by its number
        self._paid = np.zeros(count)  # what the learners got in this match
        self._given: Sequence[Deal] = ()
        self.started = self._warned = False
        self._bind()

    def _space(self) -> spaces.Space[Any]:
        """The space of one observation: of the vector, or of a dict of it and the mask."""
        mask_key, observation_key = self._mask_key, self._observation_key
        for key in (observation_key,) if mask_key is None else (mask_key, observation_key):
            if not isinstance(key, str):
                raise InputError(f"mask_key, observation_key: expected strings, not {shown(key)}")
        if mask_key is None and observation_key != OBSERVATION_KEY:
            raise InputError(f"observation_key: {shown(observation_key)} needs a mask_key, that of the mask beside it")
        if mask_key == observation_key:
            raise InputError(f"mask_key, observation_key: expected two different keys, not {shown(mask_key)} for both")
        vector = spaces.Box(*self.layout.bounds(), dtype=np.float32)
        if mask_key is None:
            return vector
        return spaces.Dict({observation_key: vector, mask_key: spaces.Box(0, 1, (self.game.num_actions,), np.int8)})

    def _bind(self) -> None:
        """Takes what every step calls: before every match, as machine code may have come, and when plays get room."""
        direct = self.game.kernels.direct
        self._play_rows, self._observe_rows = direct("play_rows"), direct("observe_rows")
        self._first_illegal = direct("first_illegal")
        self._games = SeatGames(
            self.states, self.seats, self.opponents.players, self._streams, self.over, self._waiting,
            self.plays.array.reshape(-1), self.plays.length,
        )  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in _BOUND}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        super().__setstate__(state)
        self._bind()

    def following_seeds(self, rows: Numbers) -> Streams:
        """The seeds of the next matches of these games, from their own streams; random ones before the first."""
        if not self.started:
            return np.array([fresh_seed() for _ in rows], np.uint64)
        seeds = np.zeros(len(rows), np.uint64)
        self.game.kernels.next_seeds(self.states, rows, seeds)
        return seeds

    def begin(
        self, rows: Numbers, seeds: Streams, dealer: int = -1, seat: int = -1, given: Sequence[Deal] = ()
    ) -> None:
        """Starts matches, and plays on as far as the opponents are compiled.

        Args:
            rows: the games.
            seeds: of the matches.
            dealer: who deals first; -1 draws.
            seat: where the learners sit; -1 is what the options say.
            given: deals to be played instead of random ones, where there is only one game.
        """
        self._bind()
        self.game.kernels.seat_learners(
            self.states, self.game.template, rows, seeds, dealer, self._wanted if seat < 0 else seat, self._streams,
            self.seats,
        )  # fmt: skip
        self.over[rows], self._paid[rows] = False, 0
        self._given, self._deal = given, 0
        self._deal_given()
        if self.log is not None:
            self.log.begin_matches(self.states, rows)
        else:
            self.plays.clear(rows)
        self._play(rows, NO_ACTIONS, np.zeros(self.count))

    def check(self, rows: Numbers, actions: Numbers, name: str = "game {}: ") -> None:
        """Raises ``IllegalAction`` for the first illegal one of these actions, if that is what it does."""
        if self._illegal == RAISE and (wrong := self._wrong(rows, actions)) is not None:
            i, reason = wrong
            raise IllegalAction(name.format(i) + reason)

    def step(self, rows: Numbers, actions: Numbers, ended: Numbers = NO_ACTIONS) -> npt.NDArray[np.float64]:
        """Plays these actions, and on until each of the games waits for its learner, or is over.

        Args:
            rows: the games in which the learner acts.
            actions: one for each of these.
            ended: games in which the next match begins instead.

        Returns:
            what the learners got, ``(count,)``.
        """
        rewards = np.zeros(self.count)
        if len(rows):
            self._play(rows, actions, rewards)
        if len(ended):
            self.begin(ended, self.following_seeds(ended))
        self.let_agents_play(rewards)
        if self._illegal == END_MATCH:
            self._forfeit(rewards)
        self._paid += rewards
        return rewards

    def let_agents_play(self, rewards: npt.NDArray[np.float64] | None = None) -> None:
        """Plays on where agents have to act, until no game waits for one."""
        agents = self.opponents.agents
        if rewards is None:
            rewards = np.zeros(self.count)
        while self.count == 1 and self._waiting[0] >= 0:  # the same as below, faster
            self._play(self.all, self._asked(int(self._waiting[0]), self.all), rewards)
        while agents and self.count > 1 and (self._waiting >= 0).any():
            for number in range(len(agents)):
                rows = np.flatnonzero(self._waiting == number)
                if len(rows):
                    self._play(rows, self._asked(number, rows), rewards)

    def observe(self, rows: Numbers, seats: Numbers | None = None) -> tuple[Vectors, Bytes]:
        """What the learners see in these games, or other seats, and their masks: new arrays."""
        looking = self.seats if seats is None else seats
        observations = np.empty((len(rows), self._size), np.float32)
        masks = np.empty((len(rows), self.game.num_actions), np.int8)
        of_position = observations if self.log is None else np.empty((len(rows), self._position_size), np.float32)
        self._observe_rows(self.states, rows, looking, self.over, of_position, masks)
        if self._end_mask:
            masks[self.over[rows]] = 1
        if self.log is not None:
            observations[:, : self._position_size] = of_position
            self.log.write(rows, looking[rows], observations)
        return observations, masks

    def in_space(self, vector: Vectors, mask: npt.NDArray[np.int8]) -> Masked:
        """The observation of one game, or of a batch: the vector, or a dict of it and a copy of the mask."""
        if self._mask_key is None:
            return vector
        return {self._observation_key: vector, self._mask_key: mask.copy()}

    # --- inside --------------------------------------------------------------------------------------------------

    def _wrong(self, rows: Numbers, actions: Numbers) -> tuple[int, str] | None:
        """The first of these games whose action is not legal, and why; ``None`` if all are."""
        wrong = self._first_illegal(self.states, rows, actions)
        if wrong < 0:
            return None
        i = int(rows[wrong])
        return i, why_illegal(self.game, self.states[i : i + 1], int(actions[wrong]))

    def _play(self, rows: Numbers, actions: Numbers, rewards: npt.NDArray[np.float64]) -> None:
        while True:
            stopped = self._play_rows(self._games, rows, actions, self._mode, self._illegal, rewards)
            if stopped:
                self._go_on(rows)
            if self.log is not None:
                self.log.follow(self.states, rows)
            if not stopped:
                return
            rows, actions = rows[self._waiting[rows] == UNFINISHED], NO_ACTIONS

    def _go_on(self, rows: Numbers) -> None:
        """A deal has ended, or there is no room to note the next play."""
        self.plays.make_room()
        self._bind()
        if self._given and self.states["deal_number"][0] != self._deal:
            self._deal_given()

    def _deal_given(self) -> None:
        """Deals what was given instead of what has just been dealt."""
        self._deal = int(self.states["deal_number"][0])
        deal_given(self.game, self.states, self._given, self._deal)

    def _asked(self, number: int, rows: Numbers) -> Numbers:
        """What an agent names in the games that wait for it."""
        seats, log = self.states["seat"].astype(np.int64), self.log
        observations, masks = self.observe(rows, seats)
        plays = None if log is None else lambda: log.plays(rows, seats[rows])
        # The positions are its own: it may change or keep them.
        actions = self.opponents.act(number, observations, masks, self.states[rows], plays)
        if (wrong := self._wrong(rows, actions)) is not None:
            raise IllegalAction(f"opponent {self.opponents.names[number]}: {wrong[1]}")
        return actions

    def _forfeit(self, rewards: npt.NDArray[np.float64]) -> None:
        """What learners get whose illegal action is what has just ended their match."""
        if not self.over.any():
            return
        illegal = np.flatnonzero(self.over & (self.states["phase"] != OVER))
        if not len(illegal):
            return
        rewards[illegal] = worst_total(self.game, self.reward) - self._paid[illegal]
        if not self._warned:
            gymnasium.logger.warn(illegal_warning())
            self._warned = True
