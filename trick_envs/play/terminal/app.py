"""The terminal application: the table, the hand, advice, and the keys that play."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import ClassVar, TypeVar

from rich.markdown import Markdown
from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Footer, Static

from trick_envs.errors import InputError
from trick_envs.matches.events import Changed, DealScored, Play, TrickTaken, items_told, plays_of, tell, tell_all
from trick_envs.play.advice import summary
from trick_envs.play.hints import Hint
from trick_envs.play.session import Question, Session
from trick_envs.play.terminal.card_input import Choice, choices, named
from trick_envs.play.terminal.drawing import FAINT, Drawing
from trick_envs.view import TableView
from trick_envs.view.guide import guide_markdown
from trick_envs.view.words import sentence, signed

TALL = 36  # lines from which seats stand apart
WIDE, LOG = 110, 46  # columns from which the tricks are listed beside the table, and for them
LEAST = (80, 24)  # columns and lines from which the figures of a hint leave the seats in sight
TAKE_BACK = -1  # instead of a card
CARD_PAUSE = 0.2  # share of the pause after a trick

T = TypeVar("T")


async def _in_thread(call: Callable[[], T]) -> T:
    """What a call returns. Who leaves the application does not wait for it, as ``asyncio.to_thread`` would."""
    answer: Future[T] = Future()
    answer.set_running_or_notify_cancel()

    def run() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return await asyncio.wrap_future(answer)


class Page(ModalScreen[None]):
    """Something to read; any of a few keys closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,enter,space,f1,f2,q", "dismiss", "Back")]

    def __init__(self, text: Text | Markdown) -> None:
        super().__init__()
        self._text = text

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="page"):
            yield Static(self._text)
        yield Footer()


class Hand(Static):
    """The cards to choose from; a click on one highlights it, a second one plays it."""

    def on_click(self, event: events.Click) -> None:
        place = event.style.meta.get("place")
        if place is not None:
            self.app.action_choose(place)  # type: ignore[attr-defined]


class PlayApp(App[Exception | None]):
    """A person plays a match.

    Args:
        session: the match.
        drawing: how cards are written.
        pause: seconds for which a finished trick stays, unless space is pressed.
    """

    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - as the base class declares it
        (0, "-narrow"),
        (WIDE, "-wide"),
    ]
    CSS = """
    Screen { layout: vertical; }
    #title { height: 1; background: $primary-background; padding: 0 1; }
    #middle { height: 1fr; }
    #left { height: auto; max-height: 100%; scrollbar-size: 0 0; }
    #table { height: auto; padding: 1 0; }
    #table.dense { padding: 0; }
    #prompt { height: auto; padding: 0 3; text-style: bold; }
    #hand { height: auto; }
    #message { height: auto; max-height: 4; padding: 0 3; }
    #log { height: 1fr; padding: 0 3; scrollbar-size: 0 0; }
    .-wide #middle { layout: horizontal; }
    .-wide #left { width: 1fr; }
    .-wide #log { width: 46; height: 100%; padding: 1; }
    .-wide #message { max-height: 100%; }
    Page { align: center middle; }
    #page { width: 90%; max-width: 100; height: 90%; background: $surface; padding: 1 3; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "enter", "Play", key_display="← → ⏎"),
        Binding("space", "go_on", "Go on"),
        Binding("left", "move(-1)", show=False),
        Binding("right", "move(1)", show=False),
        Binding("question_mark", "advise", "Hint", key_display="?"),
        Binding("ctrl+z", "take_back", "Take back"),
        Binding("f1", "rules", "Rules"),
        Binding("f2", "tricks", "Tricks"),
        Binding("escape", "clear", show=False),
        Binding("backspace", "rub_out", show=False),
        Binding("ctrl+q", "quit", "Quit", priority=True),
        Binding("ctrl+c", "quit", show=False, priority=True),
    ]

    def __init__(self, session: Session, drawing: Drawing, pause: float) -> None:
        super().__init__()
        self.session, self._drawing, self._pause = session, drawing, pause
        self.view = session.view()  # what is shown
        self.typed, self.selected = "", 0
        self.message = Text()
        self.log_lines: list[Text] = []
        self.advice: Question | None = None  # the last one of which the hint is known
        self._tallest = 0  # lines of the table: it never shrinks, so that the hand stays where it is
        self._advises = False
        self.waits = False  # for a key or the end of a pause
        texts = ("title", "table", "prompt", "message", "tricks")
        self._parts = {name: Static(id=name) for name in texts}
        self._parts["hand"] = Hand(id="hand")
        self._listed = VerticalScroll(id="log", can_focus=False)
        self._going_on = asyncio.Event()
        self._answer: asyncio.Future[int] | None = None

    def compose(self) -> ComposeResult:
        parts = self._parts
        yield parts["title"]
        with Container(id="middle"):
            with VerticalScroll(id="left", can_focus=False):
                yield from (parts[name] for name in ("table", "prompt", "hand", "message"))
            with self._listed:
                yield parts["tricks"]
        yield Footer(compact=True)

    def on_mount(self) -> None:
        self.title = self.session.game.title
        self._log_anew()
        self.query_one("#left", VerticalScroll).anchor()  # what does not fit is missing at the top
        self.run_worker(self._play_on(), name="match", exit_on_error=False)

    def on_resize(self) -> None:
        self._tallest = 0
        self.call_after_refresh(self._draw)

    # --- the match --------------------------------------------------------------------------------------------------

    async def _play_on(self) -> None:
        """Plays until the match is over. An error of a player ends the application."""
        try:
            while not self.session.match.over:
                own = self.session.asks
                action = await (self._ask() if own else _in_thread(self.session.choose))
                if action == TAKE_BACK:
                    self.session.take_back()
                    self._log_anew()
                    continue
                done = self.session.play(action)
                if done.ends:
                    await self._show_end(done)
                elif self._pause and not self.session.asks:
                    self._show(self.session.view())
                    await self._wait(0.0 if own else self._pause * CARD_PAUSE)
            self.exit(None)
        except Exception as error:
            self.exit(error)

    async def _ask(self) -> int:
        """The card that the person plays."""
        self._answer = asyncio.get_running_loop().create_future()
        self._show(self.session.view())
        if self._advises:
            self._start_advice()
        try:
            return await self._answer
        finally:
            self._answer, self.message = None, Text()

    async def _show_end(self, done: Play) -> None:
        """Shows a finished trick and why it is taken, and after the last one of a deal what the scores consist of."""
        view, waits_for_key = done.look(self.session.seat), False
        self.log_lines += self._logged(done)
        for event in done.events(self.session.seat):
            if isinstance(event, TrickTaken):
                self.message = Text(f"{tell_all([event], view)}.")
            elif isinstance(event, Changed):
                self.message.append(f" {tell(event, view)}.")
            elif isinstance(event, DealScored):
                told, waits_for_key = tell(event, view), True
                ending = self.session.view().prompt if self.session.match.over else "space goes on"
                own = event.items[self.session.seat] if event.items else ()
                why = f"\nYou: {', '.join(f'{item.words} {signed(item.points)}' for item in own)}." if own else ""
                self.message = Text.assemble((f"{told}; {ending}.", "bold"), why)
        if self._pause or waits_for_key:
            self._show(view)
            await self._wait(None if waits_for_key else self._pause)
        self.message = Text()

    def _logged(self, done: Play) -> list[Text]:
        """The lines of a play in the list of tricks: of one that ends a trick, and of one that ends a deal."""
        view, lines = done.look(self.session.seat), list[Text]()
        for event in done.events(self.session.seat):
            if isinstance(event, TrickTaken):
                line = Text.assemble((f"{event.number:>2} ", "dim"), self._drawing.plays(view, event.plays))
                lines.append(Text.assemble(line, (f" > {view.you(event.taker)}", "bold")))
                lines += [Text(f"   {event.why}", FAINT)] if event.why else []
            elif isinstance(event, DealScored):
                told = items_told(event, view)
                lines += [Text(tell(event, view), "bold"), *(Text(f"   {line}", FAINT) for line in told)]
        return lines

    def _log_anew(self) -> None:
        """Lists the tricks of the match as it stands: of one that goes on, and after a card was taken back."""
        self.log_lines = [line for done in plays_of(self.session.match) if done.ends for line in self._logged(done)]

    async def _wait(self, seconds: float | None) -> None:
        """Waits for a key, at most so many seconds."""
        self._going_on.clear()
        self.waits = True
        with suppress(TimeoutError):
            await asyncio.wait_for(self._going_on.wait(), seconds)
        self.waits = False

    # --- what is shown ----------------------------------------------------------------------------------------------

    def _show(self, view: TableView) -> None:
        """Shows a table; the first legal card is highlighted."""
        self.view, self.typed = view, ""
        self.selected = next((i for i, each in enumerate(self.choices) if each.legal), 0)
        self._draw()

    @property
    def asked(self) -> bool:
        """Whether the person is to name a card."""
        return self._answer is not None and not self._answer.done()

    @property
    def choices(self) -> list[Choice]:
        """The cards to choose from."""
        return choices(self.view)

    @property
    def _columns(self) -> int:
        """The width of table and hand."""
        return self.size.width - (LOG if self.size.width >= WIDE else 0)

    @property
    def _small(self) -> bool:
        return self.size.width < LEAST[0] or self.size.height < LEAST[1]

    def _draw(self) -> None:
        view, drawing = self.view, self._drawing
        title = f"{view.title}, deal {view.deal}{view.length}, trick {max(view.trick_number, 1)}"
        self._parts["title"].update(title)
        table = drawing.table(view, self._columns, self.size.height >= TALL)
        self._tallest = max(self._tallest, table.plain.count("\n") + 1)
        self._parts["table"].set_class(self._small, "dense")
        self._parts["table"].update(table.append("\n" * (self._tallest - table.plain.count("\n") - 1)))
        self._parts["tricks"].update(Text("\n").join(self.log_lines))
        self._draw_hand()

    def _draw_hand(self) -> None:
        view, small = self.view, self._small
        prompt = Text(sentence(view.prompt))
        if self.typed:
            prompt.append("   ").append(f" {self.typed} ", "reverse")
        hint = self._hint() if self._advises else None
        found = self.choices
        selected = self.selected if self.asked else -1
        self._parts["prompt"].update(prompt)
        self._parts["hand"].update(self._drawing.hand(view, found, selected, None if small else hint, self._columns))
        message = self.message
        if not message and self._advises and self.asked:
            told = summary(view, hint, small) if hint else "thinking …"
            message = Text(told, "italic")
        self._parts["message"].update(message)
        self.refresh_bindings()
        self._parts["message"].display = bool(message)  # else its lines are for the tricks so far
        self.call_after_refresh(self._listed.scroll_end, animate=False)

    def _hint(self) -> Hint | None:
        """The hint for what is asked, once it is known."""
        return self.advice.hint if self.asked and self.advice is self.session.question() else None

    # --- keys -------------------------------------------------------------------------------------------------------

    def on_key(self, event: events.Key) -> None:
        """Letters and digits name a card."""
        if event.character and event.character.isalnum() and self.asked and len(self.screen_stack) == 1:
            self._type(self.typed + event.character.upper())
            event.stop()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool:
        """The footer names the keys that do something now: all of them in 60 columns."""
        return {"enter": self.asked, "take_back": self.asked, "go_on": not self.asked}.get(action, True)

    def action_rub_out(self) -> None:
        self._type(self.typed[:-1])

    def action_clear(self) -> None:
        self._type("")

    def _type(self, text: str) -> None:
        """Takes what has been typed; highlights the card that it names already."""
        self.typed, self.message = text, Text()
        with suppress(ValueError):
            self._select(named(self.view, text))
        self._draw_hand()

    def _select(self, kind: int) -> None:
        places = [i for i, each in enumerate(self.choices) if each.kind == kind]
        legal = [i for i in places if self.choices[i].legal]
        if places:
            self.selected = (legal or places)[0]

    def action_move(self, step: int) -> None:
        """Highlights the next legal card to the left or right."""
        legal = [i for i, each in enumerate(self.choices) if each.legal]
        if not self.asked or not legal:
            return
        beyond = [i for i in legal if (i - self.selected) * step > 0]
        self.selected = (min(beyond) if step > 0 else max(beyond)) if beyond else legal[0 if step > 0 else -1]
        self.typed, self.message = "", Text()
        self._draw_hand()

    def action_choose(self, place: int) -> None:
        """A click on a card: highlights it, the second one plays it."""
        if self.asked and place < len(self.choices):
            again = self.selected == place
            self.selected, self.typed, self.message = place, "", Text()
            if again:
                self.action_enter()
            else:
                self._draw_hand()

    def action_enter(self) -> None:
        """Plays what is typed, or else the highlighted card."""
        if self._answer is None or self._answer.done():  # not asked
            return
        try:
            kind = named(self.view, self.typed) if self.typed else self.choices[self.selected].kind
            if kind not in self.view.legal:
                raise InputError(self.session.why_illegal(kind))
        except ValueError as error:
            self.typed, self.message = "", Text(str(error), "yellow")
            self._draw_hand()
        else:
            self._answer.set_result(kind)

    def action_go_on(self) -> None:
        """Ends a pause."""
        self._going_on.set()

    def action_advise(self) -> None:
        """Shows advice at every decision, or no more."""
        self._advises, self.message = not self._advises, Text()
        if self._advises and self.asked:
            self._start_advice()
        self._draw_hand()

    def _start_advice(self) -> None:
        if self._hint() is None:
            self.run_worker(self._advise(), group="advice", exclusive=True, exit_on_error=False)

    async def _advise(self) -> None:
        """Asks the advisor in a thread."""
        question = self.session.question()
        try:
            await _in_thread(lambda: question.hint)
            self.advice = question
        except Exception as error:
            self._advises, self.message = False, Text(f"no hints: {error}", "yellow")
        self._draw_hand()

    def action_take_back(self) -> None:
        """Returns to the decision before this one."""
        if self.asked and self._answer is not None and self.session.begun:
            self._answer.set_result(TAKE_BACK)

    def action_rules(self) -> None:
        """The rules of the game for people."""
        self.push_screen(Page(Markdown(guide_markdown(self.session.game.name))))

    def action_tricks(self) -> None:
        """All tricks so far."""
        self.push_screen(Page(Text("\n").join(self.log_lines) or Text("no tricks yet")))


def play_in_terminal(session: Session, symbols: bool, pause: float) -> None:
    """Plays in the terminal until the match is over or the person quits."""
    error = PlayApp(session, Drawing(symbols), pause).run()
    if error is not None:
        raise error
