"""The games that people play: what the page may ask of them."""

from __future__ import annotations

import base64
import hashlib
import secrets
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any

from anyio import CapacityLimiter
from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from trick_envs.agents.pretrained import PRETRAINED, pretrained_players
from trick_envs.engine.game import Game
from trick_envs.engine.registry import load_game
from trick_envs.matches.match import Match
from trick_envs.play.advice import hint_data
from trick_envs.play.characters import PERSON
from trick_envs.play.hints import advisor_of
from trick_envs.play.lessons import lesson_data
from trick_envs.play.players import BROUGHT
from trick_envs.play.saved import SavedGames
from trick_envs.play.session import Session, default_player, seated
from trick_envs.play.web.frames import Snapshot, frame_data
from trick_envs.play.web.http import SafeJSON, answer, browser_of, owners_of, post, posted
from trick_envs.play.web.pages import about_game
from trick_envs.play.web.policies import Policies
from trick_envs.play.web.replays import Replays
from trick_envs.play.web.sessions import HOUR, Store, WebSession
from trick_envs.play.web.validation import (
    MAX_DEALS,
    MAX_GAMES,
    MAX_GAMES_OF_A_BROWSER,
    MAX_GAMES_OF_AN_ADDRESS,
    ApiError,
    checked_player,
    read_object,
    whole,
)
from trick_envs.view.guide import title_of
from trick_envs.view.messages import said

LINES = 200  # of the log that a reload gets back
MAX_WEB_SEED = 2**53 - 1  # the largest whole number that JavaScript can hold
SEEN = ("games/{game}", "watch/{watched}")  # by whom plays, and by who only watches


class Games:
    """The games that people play.

    Args:
        first: the game that is dealt if the page names none.
        folder: where games are saved; ``None``: they last as long as the server runs.
        replays: the records that are looked at: games go on from them.
        threads, thinking: for plays and for hints.
        prepare: whether the advisor of a game is made ready when it is dealt first, so that a first hint comes soon.
        policies: files that may be chosen as opponents: the game and the number of players of each.

    Attributes:
        kept: the games that are played now.
        saved: the games on disk; ``None`` without a folder.
        brought: policies that people have sent, to play against.
    """

    def __init__(
        self,
        first: str,
        folder: Path | None,
        replays: Replays,
        threads: CapacityLimiter,
        thinking: CapacityLimiter,
        prepare: bool = False,
        policies: Mapping[str, tuple[str, int]] = MappingProxyType({}),
    ) -> None:
        self.first, self.replays, self._prepares, self._policies = first, replays, prepare, policies
        self.threads, self.thinking = threads, thinking
        self.saved = None if folder is None else SavedGames(folder)
        self.brought = Policies(self.saved.policies if self.saved else None)
        self.kept: Store[WebSession] = Store(
            "games", MAX_GAMES, max_age=24 * HOUR, min_age=HOUR / 4,
            of_one={"browser": MAX_GAMES_OF_A_BROWSER, "address": MAX_GAMES_OF_AN_ADDRESS},
        )  # fmt: skip
        self._opening, self._prepared = threading.Lock(), set[Game]()
        self._watched: dict[str, str] = {}

    def routes(self) -> list[Route]:
        """Below ``/api``."""
        threads, in_turn = self.threads, self._in_turn
        return [
            Route("/policies", post(self.brought.add, self.thinking, "application/octet-stream"), methods=["POST"]),
            Route("/games", answer(self.list_games, threads)),
            Route("/games", post(self.new_game, threads), methods=["POST"]),
            Route("/games/{game}/delete", post(self.delete, threads), methods=["POST"]),
            Route("/games/{game}/hint", self.hint),
            in_turn("/games/{game}", self.show),
            in_turn("/games/{game}/lesson", self.lesson),
            in_turn("/games/{game}/record", self.record),
            in_turn("/games/{game}/plays", self.play, {"number": int, "card": str}),
            in_turn("/games/{game}/back", self.take_back, {"number": int}),
            in_turn("/games/{game}/end", self.end, {}),
            in_turn("/games/{game}/share", self.share, {}),
            in_turn("/games/{game}/watch", self.let_watch, {}),
            in_turn("/watch/{watched}", self.watch),
            *(in_turn(f"/{of}/deal", self.deal) for of in SEEN),
            *(Route(f"/{of}/stamp", self.stamp) for of in SEEN),
        ]

    # --- which game -------------------------------------------------------------------------------------------------

    def _in_turn(
        self, path: str, make: Callable[[WebSession, Mapping[str, Any]], Any], keys: Mapping[str, type] | None = None
    ) -> Route:
        """A route of a game: one request at a time, and those that wait take no thread from other games.

        ``make`` gets the game and what is asked: the query, or, with ``keys``, the object in the body of a POST.
        """

        async def endpoint(request: Request) -> Response:
            body = b"" if keys is None else await posted(request)
            played = await self._open(request)

            def made() -> Any:
                if played.session.gone_on_elsewhere:  # by another server with this folder
                    played.session = self._from_disk(played.id) or played.session
                found = make(played, request.query_params if keys is None else read_object(body, keys))
                if played.session.gone_on_elsewhere:  # meanwhile: what was played here is not saved
                    raise ApiError(409, said("refused.older"))
                return found

            async with played.lock:
                return SafeJSON(await run_sync(made, limiter=self.threads))

        return Route(path, endpoint, methods=["GET" if keys is None else "POST"])

    async def _open(self, request: Request) -> WebSession:
        """The game of a request: one that is played now, or was saved."""
        asked = request.path_params
        name = self._watched_game(asked["watched"]) if "watched" in asked else asked["game"]
        try:
            if self.kept.get(name).session.deleted:  # by another server with this folder
                self.kept.drop(name)
            return self.kept.get(name)
        except ApiError:
            return await run_sync(self._load, name, owners_of(request), limiter=self.threads)

    def _load(self, name: str, owners: tuple[str, str]) -> WebSession:
        with self._opening:  # two tabs must not get two sessions
            try:
                return self.kept.get(name)
            except ApiError:
                session = self._from_disk(name)
                if session is None:
                    raise
                played = WebSession(session, name, owners)
                self.kept.put(played)
                return played

    def _from_disk(self, name: str) -> Session | None:
        try:
            return self.saved.load(name) if self.saved else None
        except ValueError as error:
            raise ApiError(409, said("refused.cannot_go_on", error=error)) from None

    # --- games ------------------------------------------------------------------------------------------------------

    def new_game(self, request: Request, body: bytes) -> Any:
        """Deals: a new match, or one that goes on from a step of a replay."""
        asked = read_object(body, {
            "game": str, "num_players": int, "num_deals": int, "options": dict, "opponents": object, "seat": int,
            "seed": int, "replay": str, "step": int, "same": str,
        })  # fmt: skip
        if asked.get("same") is not None:
            return self._opened(request, self._same_cards(asked["same"]))
        match = self._match(asked)
        n, seat = match.game.num_players, asked.get("seat") or 0
        if not 0 <= seat < n:
            raise ApiError(400, f"seat: expected a seat of 0 to {n - 1}")
        opponents = asked.get("opponents")
        if opponents is None and asked.get("replay") is not None:
            opponents = self.replays.kept.get(asked["replay"]).opponents(seat)
        players = seated(seat, self._opponents(match.game, opponents))
        try:
            session = Session(match, players, named=True, policies=self.brought.folder)
        except ValueError as error:  # a file that has changed since
            raise ApiError(400, said("refused.bad_policy", error=error)) from None
        return self._opened(request, session)

    def _opponents(self, game: Game, asked: Any) -> list[str]:
        """The players of the other seats, clockwise from the person's left, by spec or one of these files."""
        others, table = game.num_players - 1, (game.name, game.num_players)
        listed = asked if isinstance(asked, list) else [default_player(game) if asked is None else asked] * others
        if len(listed) != others:
            raise ApiError(400, f"opponents: expected one player, or a list of {others}, clockwise from your left")
        own = [spec for spec, made in self._policies.items() if made == table]
        for spec in set(filter(BROUGHT.fullmatch, (one for one in listed if isinstance(one, str)))):
            name, players = made = self.brought.table(spec)
            if made != table:
                raise ApiError(400, f"opponents: this policy plays {name} with {players} players, and nothing else")
            own.append(spec)
        specs = [spec if spec in own else checked_player(spec) for spec in listed]
        if any(spec.startswith(PRETRAINED) for spec in specs) and game.num_players not in pretrained_players(game.type):
            raise ApiError(400, f"opponents: no trained policy comes with {game.name} for {game.num_players} players")
        return specs

    def _match(self, asked: dict[str, Any]) -> Match:
        if asked.get("replay") is not None:
            source = self.replays.kept.get(asked["replay"])
            step = asked.get("step") or 0
            if not 0 <= step < len(source.steps):
                raise ApiError(400, f"step: expected 0 to {len(source.steps) - 1}")
            return source.rest(step)
        length, seed = asked.get("num_deals"), asked.get("seed")
        if length is not None and not 1 <= length <= MAX_DEALS:
            raise ApiError(400, f"num_deals: expected 1 to {MAX_DEALS}")
        if seed is not None and not 0 <= seed <= MAX_WEB_SEED:
            raise ApiError(400, f"seed: expected 0 to {MAX_WEB_SEED}")
        try:
            game = load_game(
                asked.get("game") or self.first, asked.get("num_players"), length, **asked.get("options") or {}
            )
        except (ValueError, TypeError) as error:
            raise ApiError(400, str(error)) from None
        return Match(game, secrets.randbelow(MAX_WEB_SEED + 1) if seed is None else seed)

    def _opened(self, request: Request, session: Session) -> Any:
        """A new game at the person's first decision."""
        played = WebSession(session, owners=owners_of(request))
        if self._prepares and session.game not in self._prepared:
            self._prepared.add(session.game)
            states = session.match.states.copy()
            threading.Thread(target=lambda: advisor_of(session.game).advise(states), daemon=True).start()
        if self.saved:
            session.file = self.saved.file_for(browser_of(request), played.id)
            if session.file is None:
                session.unsaved = said("refused.no_room")
            if session.same_cards:
                with suppress(OSError):  # its score stands beside no other, but it can be played
                    self.saved.join(session.same_cards, played.id)
        shots = list(played.play_on(self.threads))
        session.save()
        self.kept.put(played)
        return self._answer(played, shots)

    def _same_cards(self, name: str) -> Session:
        """The cards of a game that somebody has sent a link to."""
        shared = self.saved.shared(name) if self.saved else []
        first = self._from_disk(shared[0]) if shared else None
        if first is None:
            raise ApiError(404, said("refused.no_cards"))
        session = Session(first.from_the_start(), first.players, named=True, policies=self.brought.folder)
        session.same_cards = name
        return session

    def share(self, played: WebSession, asked: Mapping[str, Any]) -> Any:
        """A link by which others play the same cards, from the same seat; only when the match is over."""
        session = played.session
        if self.saved is None or session.file is None or session.unsaved:
            raise ApiError(409, said("refused.not_saved"))
        if not session.match.over:
            raise ApiError(409, said("refused.share_later"))
        if not self.saved.shared(session.same_cards):
            try:
                session.same_cards = self.saved.share(played.id)
            except OSError as error:
                raise ApiError(409, said("refused.no_link", error=error.strerror or error)) from None
            session.save()
        return {"path": f"/same/{session.same_cards}"}

    def list_games(self, request: Request) -> Any:
        """The saved games that were begun in this browser, the latest first; ``kept``: whether games are saved."""
        found = self.saved.games_of(browser_of(request)) if self.saved else []
        unsaved = any(one.session.unsaved for one in self.kept.of(f"browser {browser_of(request)}"))
        kept = self.saved is not None and not unsaved
        return {"games": [{**asdict(one), "title": title_of(one.game)} for one in found], "kept": kept}

    def delete(self, request: Request, body: bytes) -> Any:
        """Deletes a game that was begun in this browser."""
        read_object(body, {})
        name = request.path_params["game"]
        try:
            found = self.saved is not None and self.saved.delete(browser_of(request), name)
        except OSError as error:
            raise ApiError(409, said("refused.no_delete", error=error.strerror or error)) from None
        if not found:
            raise ApiError(404, said("refused.not_yours"))
        with suppress(ApiError):
            self.kept.get(name).session.file = None  # a tab may still show it
        self.kept.drop(name)
        return {"deleted": name}

    async def stamp(self, request: Request) -> Response:
        """Whether a game has changed: other tabs ask for it. Waits for nothing."""
        return SafeJSON({"stamp": (await self._open(request)).stamp})

    def show(self, played: WebSession, asked: Mapping[str, Any]) -> Any:
        """A game as it stands, for a reload; if it was left while others were to play, they play now."""
        return self._answer(played, list(played.play_on(self.threads)))

    def deal(self, played: WebSession, asked: Mapping[str, Any]) -> Any:
        """The running deal, play by play, as the person has seen it."""
        return {"frames": [frame_data(shot, played.session.seat, False) for shot in played.deal_so_far()]}

    def play(self, played: WebSession, asked: Mapping[str, Any]) -> Any:
        """The person's card, and all plays up to the person's next decision."""
        number, card = asked.get("number"), asked.get("card")
        if number is None or card is None:
            raise ApiError(400, "expected number, of plays so far, and card, such as '4Y'")
        shots = list(played.play(number, card, self.threads))
        return {"game": self._changed(played), "frames": self._frames(played, shots)}

    def take_back(self, played: WebSession, asked: Mapping[str, Any]) -> Any:
        """Back to the person's last decision; the record counts how often."""
        played.check(-1 if asked.get("number") is None else asked["number"])
        if not played.session.take_back():
            raise ApiError(409, said("refused.no_card"))
        played.notice = ""
        return self._answer(played, [played.look()])

    async def hint(self, request: Request) -> Response:
        """What policy and search think, from what the person's seat knows; meanwhile the game can be played on."""
        played = await self._open(request)
        number = whole(request.query_params.get("number"), "number", 0, 999_999)
        async with played.lock:
            played.check(number)
            question = played.session.question()
        found = await run_sync(lambda: question.hint, limiter=self.thinking)
        return SafeJSON(hint_data(found, played.session.game))

    def lesson(self, played: WebSession, asked: Mapping[str, Any]) -> Any:
        """What is possible in the person's decision, why, and what each card would do."""
        played.check(whole(asked.get("number"), "number", 0, 999_999))
        if not played.session.asks:
            raise ApiError(409, said("refused.not_your_turn"))
        return lesson_data(played.session.match)

    def end(self, played: WebSession, asked: Mapping[str, Any]) -> Any:
        """Ends a match before its end: nobody plays any more, and everything is open."""
        played.session.end()
        return self._answer(played, [played.look()])

    def record(self, played: WebSession, asked: Mapping[str, Any]) -> Any:
        """The record, once the match is over: it holds all hands."""
        if not played.session.over:
            raise ApiError(409, "the record shows all hands: it is there when the match is over, or ended")
        return played.session.record()

    # --- watching ---------------------------------------------------------------------------------------------------

    def let_watch(self, played: WebSession, asked: Mapping[str, Any]) -> Any:
        """A link to watch a game: it shows what the person sees, and nobody plays by it."""
        name = watching_name(played.id)
        self._watched[name] = played.id
        return {"path": f"/watch/{name}"}

    def _watched_game(self, name: str) -> str:
        """The id of a game that can be watched under this name; itself if there is none."""
        if name not in self._watched and self.saved is not None:  # after a restart
            self._watched.update((watching_name(game), game) for game in self.saved.ids())
        return self._watched.get(name, "")

    def watch(self, played: WebSession, asked: Mapping[str, Any]) -> Any:
        """A game as the person sees it, for somebody who only watches: without its id, which would let them play."""
        found = self._answer(played, [played.look()])
        found["game"] |= {"id": watching_name(played.id), "watching": True}
        return found

    # --- answers ----------------------------------------------------------------------------------------------------

    def _answer(self, played: WebSession, shots: list[Snapshot]) -> Any:
        return {"game": self._about(played), "frames": self._frames(played, shots)}

    def _about(self, played: WebSession) -> Any:
        """What stays the same throughout a match, and what changes."""
        session = played.session
        return {
            **about_game(session.game),
            "id": played.id,
            "seat": session.seat,
            "players": ["you" if spec == PERSON else spec for spec in session.players],
            "log": session.log[-LINES:],
            "last_deal": played.last_deal(),
            **self._changed(played),
        }

    def _changed(self, played: WebSession) -> Any:
        match, over = played.session.match, played.session.over
        return {
            "deals": [deal.score for deal in match.deals if deal.score is not None],
            "over": over,
            "winners": match.winners(),
            "stamp": played.stamp,
            "begun": played.session.begun,
            "taken_back": played.session.taken_back,
            "notice": " ".join(filter(None, (played.notice, played.not_saved()))),
            **({"seed": match.seed, "others": self._others(played)} if over else {}),  # they tell how the cards lie
        }

    def _others(self, played: WebSession) -> Any:
        """What others have scored with the same cards."""
        name = played.session.same_cards
        return self.saved.results(name, played.id) if self.saved and name and played.session.match.over else []

    def _frames(self, played: WebSession, shots: list[Snapshot]) -> Any:
        if not shots or shots[-1].pause:
            shots = [*shots, played.look()]
        return [frame_data(shot, played.session.seat, not played.session.over) for shot in shots]


def watching_name(game: str) -> str:
    """The name under which a game can be watched: it follows from the id, and does not tell it."""
    return base64.urlsafe_b64encode(hashlib.sha256(f"watch {game}".encode()).digest()[:9]).decode()
