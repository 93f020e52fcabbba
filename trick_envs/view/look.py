"""What one observer sees of a position: ``table_view``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trick_envs.engine.arguments import is_whole
from trick_envs.engine.cards import Deck
from trick_envs.engine.deal import Trick
from trick_envs.engine.game import Game, checked_game, checked_states
from trick_envs.engine.positions import as_word, trick_in, visible_cards, winners_in
from trick_envs.engine.state import OVER, PHASES, States
from trick_envs.errors import InputError, checked, checked_list, shown
from trick_envs.view.messages import declared, said
from trick_envs.view.sentences import prompt, said_of_end
from trick_envs.view.table import Ended, Kinds, SeatView, TableView, seat_name


def match_length(game: Game) -> str:
    """How long a match is, as it stands behind the number of a deal: `` of 8``, ``, to 100 points``."""
    if game.num_deals is None and game.type.until:
        return said("told.until", until=declared(game.name, "until", game.type.until))
    return said("told.of", count=int(game.template["num_deals"][0]))


def table_view(
    game: Game,
    states: States,
    observer: int | None = None,
    previous: Trick | None = None,
    ended: Ended | None = None,
    names: Sequence[str] = (),
) -> TableView:
    """What an observer sees of the position in ``states[0]``.

    Args:
        game: the game.
        states: records, such as ``env.unwrapped.states``.
        observer: a seat, or ``None``: everything is open.
        previous: the last finished trick, which the record does not hold: ``Match.last_trick``.
        ended: what the last play has ended, which is still to be shown: nobody acts in such a view, nor has won yet.
        names: what the seats are called; empty: ``player_0`` and so on.

    Raises:
        ValueError: if there is no such seat, or the records are of another game.
        TypeError: if ``game`` is no game.
    """
    n = checked_game(game).num_players
    states = checked_states(game, states, least=1)
    if observer is not None and not is_whole(observer, 0, n - 1):
        raise InputError(f"observer: expected a seat of 0 to {n - 1}, or None for an open table, not {shown(observer)}")
    for name, shown_with, kind in (("previous", previous, Trick), ("ended", ended, Ended)):
        if shown_with is not None:
            checked(shown_with, kind, name, f"None or {kind.__name__}(…)")
    names = checked_list(names, str, "names", wanted := f"{n} texts, or none")
    if len(names) not in (0, n):
        raise InputError(f"names: expected {wanted}, not {shown(names)}")
    state, over = states[0], int(states["phase"][0]) == OVER
    own, common = _cards_lie(game, states, observer)
    acting = None if over or ended is not None else int(state["seat"])
    tricks, trick, taker = int(state["tricks"]) + (not over), trick_in(game, states), int(state["taking"])
    if ended is not None:
        tricks, (trick, taker) = ended.number, ended.trick or ((), -1)
    view = TableView(
        game=game.name,
        title=game.title,
        suits=game.deck.suits,
        ranks=game.deck.ranks,
        hand_size=game.hand_size,
        num_players=n,
        observer=None if observer is None else int(observer),
        deal=int(state["deal_number"]) + (not over),
        num_deals=int(state["num_deals"]),
        length=match_length(game),
        phase=PHASES[int(state["phase"])],
        acting=acting,
        trick_number=tricks,
        trick=trick,
        led=trick[0][0] if trick else None,
        taking=taker if trick else None,
        previous=previous.plays if previous else (),
        previous_taker=previous.taker if previous else None,
        seats=_seats(states, own, names or [seat_name(seat) for seat in range(n)]),
        places=common,
        legal=_legal(game, states) if acting is not None and observer in (None, acting) else (),
        winners=tuple(winners_in(game, states)) if over and ended is None else (),
        prompt="",
    )
    view = getattr(game.type.view, "refine", lambda view, game, states: view)(view, game, states)
    if ended is not None:
        return replace(view, prompt=said_of_end(view, ended))
    return view if view.prompt else replace(view, prompt=prompt(view))


def _cards_lie(game: Game, states: States, observer: int | None) -> tuple[list[dict[str, Kinds]], dict[str, Kinds]]:
    """The cards in the places of each seat, and in the common ones but the table, as an observer sees them."""
    state, deck, visible = states[0], game.deck, visible_cards(game, states, observer)
    own: list[dict[str, Kinds]] = [{} for _ in range(game.num_players)]
    common: dict[str, Kinds] = {}
    for name, place in game.type.places.items():
        lies = state[name].tolist()
        if place.per_seat:
            for seat, held in enumerate(own):
                held[name] = _kinds(as_word(lies[seat]), visible[name], deck)
        elif name != "table":
            common[name] = _kinds(as_word(lies), visible[name], deck)
    return own, common


def _seats(states: States, own: list[dict[str, Kinds]], names: Sequence[str]) -> tuple[SeatView, ...]:
    """What is seen of each seat; ``own`` has its places by name."""
    state = states[0]
    scores, last, deals = state["score"].tolist(), state["deal_score"].tolist(), int(state["deal_number"])
    return tuple(
        SeatView(
            seat=seat,
            name=names[seat],
            hand=places.pop("hand"),
            taken=places.pop("pile"),  # type: ignore[arg-type]  # everybody has seen them
            places=places,
            score=scores[seat],
            last_score=last[seat] if deals else None,
            dealer=seat == int(state["dealer"]),
        )
        for seat, places in enumerate(own)
    )


def _legal(game: Game, states: States) -> tuple[int, ...]:
    """The kinds that the seat to act may name."""
    return tuple(dict.fromkeys(_kinds(as_word(game.kernels.legal_cards(states)), -1, game.deck)))  # type: ignore[arg-type]


def _kinds(held: int, visible: int, deck: Deck) -> Kinds:
    """The cards of a set by kind, sorted; those not visible as ``None``, last."""
    shown, found = held & visible, []
    while shown:
        low = shown & -shown
        found.append(low.bit_length() - 1)
        shown ^= low
    if deck.copies == 2:
        found = sorted(map(deck.kind, found))
    return (*found, *[None] * (held & ~visible).bit_count())
