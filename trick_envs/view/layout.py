"""Draws a view: every seat, the trick and what is asked, where the plan says."""

from __future__ import annotations

from functools import lru_cache
from math import ceil

from trick_envs.engine.registry import game_type
from trick_envs.view.avatars import draw_avatar
from trick_envs.view.cards import face
from trick_envs.view.geometry import SIZE, Plan, plan_for
from trick_envs.view.panel import draw_facts, draw_panel
from trick_envs.view.pen import RATIO, Area, Drawing, Item, Pen, measure, pixels
from trick_envs.view.style import CREAM, FAINT, FELT, FELT_DARK, FELT_LIGHT, GOLD, INK, LED, MIST, PAPER, RIM, WINE
from trick_envs.view.table import YOU, SeatView, TableView, checked_view
from trick_envs.view.words import sentence

ROOMY = 140  # width of a plate, from which the mark of a seat is as high as the plate


def drawing_of(view: TableView, width: int, height: int) -> tuple[Drawing, float]:
    """The picture of a view in the layout's own size, and by how much it has to be scaled."""
    checked_view(view)
    scale = min(pixels(width, "width") / SIZE[0], pixels(height, "height") / SIZE[1])
    plan = plan_for(view.game, view.num_players, view.hand_size, view.observer is None, width / scale, height / scale)
    return Drawing(plan.width, plan.height, _ground(plan), tuple(_Table(view, plan, Pen()).draw())), scale


@lru_cache(64)
def _ground(plan: Plan) -> tuple[Item, ...]:
    """What lies below everything: the felt, and a place for every card of the trick."""
    pen, table = Pen(), plan.table
    pen.box(0, 0, plan.width, plan.height, FELT)
    pen.box(table.x - 4, table.y - 4, table.width + 8, table.height + 8, FELT_LIGHT, 18)
    for spot in plan.spots:
        x, y = spot.card
        width, height = plan.trick_card, RATIO * plan.trick_card
        pen.box(x - width / 2, y - height / 2, width, height, FELT, 6, stroke=RIM, line=1.2, opacity=0.55)
    if plan.panel is not None:
        pen.box(plan.panel.x, plan.panel.y + 2, plan.panel.width, plan.panel.height, "#000000", 10, opacity=0.2)
        pen.box(plan.panel.x, plan.panel.y, plan.panel.width, plan.panel.height, CREAM, 10)
    return tuple(pen.items)


class _Table:
    """Draws a view by a plan."""

    def __init__(self, view: TableView, plan: Plan, pen: Pen) -> None:
        self.view, self.plan, self.pen = view, plan, pen
        self.bottom = (view.spoken_to if view.observer is None else view.observer) or 0

    def draw(self) -> list[Item]:
        view = self.view
        self._header()
        if self.plan.panel is not None:
            draw_panel(view, self.pen, self.plan.panel)
        for distance, spot in enumerate(self.plan.spots):
            seat = view.seats[(self.bottom + distance) % view.num_players]
            self._plate(seat, spot.plate, distance == 0)
            draw_hand = self._own_hand if distance == 0 else self._hand
            draw_hand(seat, spot.hand)
        self._trick()
        self._prompt()
        return self.pen.items

    def _face(self, kind: int | None, width: float) -> tuple[Item, ...]:
        return face(self.view.game, self.view.suits, self.view.ranks, kind, round(width, 1))

    def _card(self, x: float, y: float, width: float, kind: int | None, dim: bool = False) -> None:
        self.pen.card(round(x), round(y), width, self._face(kind, width), dim)

    def _header(self) -> None:
        view, pen, area = self.view, self.pen, self.plan.header
        y = area.y + area.height / 2
        used = pen.label(area.x + 2, y, view.title, 18, CREAM, bold=True, width=0.6 * area.width)
        trick = "" if view.acting is None else f", trick {view.trick_number}"
        told = f"deal {view.deal}{view.length}{trick}"
        used += pen.label(area.x + used + 12, y, told, 12.96, MIST) + 12
        self._last_trick(area, area.width - used - 16)

    def _last_trick(self, area: Area, room: float) -> None:
        """Small, at the right of the header, the card that took it marked."""
        view = self.view
        if not view.previous or (view.acting is None and not view.trick):
            return
        height = area.height - 2
        width = height / RATIO
        step = width + 3
        pen, label = self.pen, "last trick"
        taker = "" if view.previous_taker is None else f"to {view.seats[view.previous_taker].name}"
        ends = measure(taker, 11, False), measure(label, 11, False)
        needed = step * len(view.previous) + sum(ends) + 16
        if needed > room:
            taker = ""
            needed = step * len(view.previous)
            if needed > room:
                return
        x, y = area.x + area.width - needed, area.y + area.height / 2
        if taker:
            pen.label(x, y, label, 11, MIST)
            x += ends[1] + 8
        for seat, kind in view.previous:
            self._card(x, area.y + 1, width, kind)
            if seat == view.previous_taker:
                pen.box(round(x), round(area.y + 1), width, height, None, 3, stroke=GOLD, line=2)
            x += step
        if taker:
            pen.label(x + 5, y, taker, 11, MIST)

    def _plate(self, seat: SeatView, area: Area, own: bool) -> None:
        """Name, score and what else is known of a seat; bright for the one to act."""
        view, pen = self.view, self.pen
        acts, won = seat.seat == view.acting, seat.seat in view.winners
        fill, ink, soft = FELT_DARK, CREAM, MIST
        if acts or won:
            fill, ink, soft = (CREAM, INK, FAINT) if acts else (GOLD, INK, INK)
        pen.box(area.x, area.y, area.width, area.height, fill, 8)
        x, right = area.x + 9, area.x + area.width - 8
        middle = area.y + area.height / 2
        y = middle if own else area.y + 0.3 * area.height
        if seat.dealer:
            pen.disc(area.x + 2, area.y + 2, 7, PAPER, stroke=FELT_DARK, line=1)
            pen.label(area.x + 2, area.y + 2, "D", 9, INK, bold=True, anchor=0.5)
        left = x
        if seat.named:
            roomy = area.width >= ROOMY
            radius, at = (0.4 * area.height, middle) if roomy else (8.0, y)
            x -= 3
            if won:
                pen.disc(x + radius, at, radius + 1.5, CREAM)
            draw_avatar(pen, seat.seat, seat.name == YOU, x + radius, at, radius)
            x += 2 * radius + 5
            left = x if roomy else left
        if acts and (own or not seat.named or area.width >= ROOMY):
            pen.shape(x, y, ((0, -5), (8, 0), (0, 5)), WINE)
            x += 11
        score = pen.label(right, y, str(seat.score).replace("-", "−"), 13, ink, bold=True, anchor=1)
        name = sentence(seat.name) + (" (you)" if own and seat.seat == view.observer and not seat.named else "")
        room = 110 if own else right - x - score - 4
        if not own and measure(name, 8.0, True) > room:
            name = name[0] if seat.named else f"P{seat.seat}"  # cut, all names would be the same
        x += pen.label(x, y, name, 12 if area.width > 95 else 11, ink, bold=True, width=room) + 8
        if own:
            row = Area(x, area.y + 9, right - score - 12 - x, 16)
        else:
            row = Area(left, area.y + 0.52 * area.height, area.x + area.width - 8 - left, 0.42 * area.height)
        self._facts(seat, row, fill == FELT_DARK, soft)

    def _facts(self, seat: SeatView, area: Area, dark: bool, ink: str) -> None:
        """The second line of a plate: as the game draws it, or the note and the cards taken."""
        if seat.facts:
            draw_facts(self.view, seat.facts, self.pen, area, dark, ink)
            return
        told = seat.note or f"{len(seat.taken)} taken"
        self.pen.label(area.x, area.y + area.height / 2, told, 11, ink, width=area.width)

    def _dim(self, seat: SeatView, kind: int | None) -> bool:
        """Whether the seat to act may not name this card of its hand."""
        return seat.seat == self.view.acting and bool(self.view.legal) and kind not in self.view.legal

    def _hand(self, seat: SeatView, area: Area) -> None:
        """The hand of another seat: what is known of it in two rows, or backs."""
        held = seat.hand
        if not held:
            return
        if held[0] is None and area.height < 50:
            width = area.height / RATIO
            step = min(9.0, (area.width - width - 30) / max(len(held) - 1, 1))
            for i in range(len(held)):
                self._card(area.x + i * step, area.y, width, None)
            x = area.x + (len(held) - 1) * step + width + 7
            self.pen.label(x, area.y + area.height / 2, str(len(held)), 12, MIST, bold=True)
            return
        per_row = ceil(max(self.view.hand_size, len(held)) / 2)
        width = min(28, (area.height - 2) / 2 / RATIO)
        step = min(width + 1, (area.width - width) / max(per_row - 1, 1))
        for i, kind in enumerate(held):
            row, column = divmod(i, per_row)
            self._card(area.x + column * step, area.y + row * (RATIO * width + 2), width, kind, self._dim(seat, kind))

    def _own_hand(self, seat: SeatView, area: Area) -> None:
        """The hand at the bottom, and what else may be played from there; cards that may be named stand out."""
        plan = self.plan
        width = plan.own_card
        hand_places = game_type(self.view.game).hand_places
        besides = [kind for place in hand_places if place != "hand" for kind in seat.places[place]]
        held = [*seat.hand, *besides]
        most = max(self.view.hand_size, len(held)) - 1 + 0.3 * bool(besides)
        step = min(width + 3, (area.width - width) / max(most, 1))
        some = any(self._dim(seat, kind) for kind in held)
        gap = 0.3 * width if besides and seat.hand else 0
        x = area.x + (area.width - step * (len(held) - 1) - width - gap) / 2
        for i, kind in enumerate(held):
            dim = self._dim(seat, kind)
            at = x + i * step + (gap if i >= len(seat.hand) else 0)
            self._card(at, area.y - (6 if some and not dim else 0), width, kind, dim)

    def _trick(self) -> None:
        view, plan, pen = self.view, self.plan, self.pen
        width, height = plan.trick_card, RATIO * plan.trick_card
        shown = view.lying
        taking = view.taking if shown is view.trick else view.previous_taker
        led = view.led if shown is view.trick else shown[0][0]
        of: dict[int, list[int]] = {}
        remarks, pills = dict(view.remarks), []
        for seat, kind in shown:
            of.setdefault(seat, []).append(kind)
        for distance, spot in enumerate(plan.spots):
            seat = (self.bottom + distance) % view.num_players
            x, y = spot.card[0] - width / 2, spot.card[1] - height / 2
            cards = of.get(seat, [])
            if seat == view.acting and not cards:
                pen.box(x, y, width, height, None, 6, stroke=CREAM, line=2)
            for i, kind in enumerate(cards):
                at = x + (i - (len(cards) - 1) / 2) * (width + 4)
                self._card(at, y, width, kind)
                if seat == taking:
                    pen.box(round(at) - 1, round(y) - 1, width + 2, height + 2, None, 7, stroke=GOLD, line=3)
            if seat == led:
                pills.append((spot.card[0], y - 1, "led", LED))
            elif seat in remarks:
                pills.append((spot.card[0], y - 1, remarks[seat], MIST))
            if seat == taking:
                pills.append((spot.card[0], y + height, "takes", GOLD))
        for pill in pills:  # above all cards
            self._pill(*pill)

    def _pill(self, x: float, y: float, text: str, fill: str) -> None:
        wide = measure(text, 10, True) + 10
        self.pen.box(x - wide / 2, y - 7, wide, 14, fill, 7)
        self.pen.label(x, y, text, 10, INK, bold=True, anchor=0.5)

    def _prompt(self) -> None:
        view, area, pen = self.view, self.plan.prompt, self.pen
        yours = view.acting is not None and view.acting == view.spoken_to
        pen.box(area.x, area.y, area.width, area.height, CREAM if yours else FELT_DARK, area.height / 2)
        text = view.prompt[:1].upper() + view.prompt[1:] if view.prompt.startswith(("you", "the")) else view.prompt
        lines, size, ink = [text], 14.0, INK if yours else CREAM
        if measure(text, size, yours) > area.width - 20:
            size = 12.0
            lines = _two_lines(text, size, yours, area.width - 20)
        for i, line in enumerate(lines):
            y = area.y + area.height / 2 + (i - (len(lines) - 1) / 2) * 1.2 * size
            pen.label(area.x + area.width / 2, y, line, size, ink, bold=yours, anchor=0.5, width=area.width - 20)


def _two_lines(text: str, size: float, bold: bool, width: float) -> list[str]:
    """A sentence in two lines of about the same length, if it is too long for one."""
    words = text.split()
    if measure(text, size, bold) <= width or len(words) < 2:
        return [text]
    cuts = [(" ".join(words[:at]), " ".join(words[at:])) for at in range(1, len(words))]
    return list(min(cuts, key=lambda lines: max(measure(line, size, bold) for line in lines)))
