"""The pages that the code knows: one per game, with its picture; the keys of a config; the ``trick`` command.

``conf.py`` calls ``write`` at every build. The files are not committed. A game's page is its ``describe_game``, with
the picture above it, and below it how strong its trained policies are, the versions, and the rules as code.
"""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cards import cards_page, interval, ladder_drawing, manifests
from pydantic import BaseModel
from pydantic_core import PydanticUndefined

import trick_envs
from training.config import RunConfig
from trick_envs.agents import GreedyAgent
from trick_envs.agents.pretrained import pretrained_players
from trick_envs.engine.game import Game, GameType
from trick_envs.engine.registry import game_names, game_type, load_game
from trick_envs.engine.state import State, fields
from trick_envs.interfaces.describe import describe_game, number_range
from trick_envs.matches.match import Match
from trick_envs.matches.viewing import match_view
from trick_envs.view import svg
from trick_envs.view.guide import Guide, guide_markdown, guide_of, rule_svg, rule_words

ROOT = Path(__file__).parent.parent
TRICK = "The trick command"
USAGE = """## Usage

```python
from {package} import {module}

env = {module}.env()
env.reset(seed=7)
for agent in env.agent_iter():
    observation, reward, termination, truncation, info = env.last()
    mask = observation["action_mask"]
    env.step(None if termination else env.action_space(agent).sample(mask))
print(env.unwrapped.record()["score"])
```

[Environments](../environments.md) has the other interfaces.
"""
SEED = 3  # of the matches in the pictures


def write(docs: Path) -> None:
    """Writes all generated pages to their folders, and removes those of games that are gone."""
    files = dict(_files())
    for old in (*(docs / "games").glob("*"), *(docs / "reference" / "generated").glob("*")):
        if old.relative_to(docs).as_posix() not in files:
            old.unlink()
    for name, text in files.items():
        path = docs / name
        path.parent.mkdir(exist_ok=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:  # Sphinx reads again what is newer
            path.write_text(text, encoding="utf-8")


def _files() -> Iterator[tuple[str, str]]:
    """Every generated file, by its path in ``docs/``, with its text."""
    for name in game_names():
        yield f"games/{name}.md", game_page(name)
        yield f"games/{name}.svg", picture(load_game(name))
        if pretrained_players(game_type(name)):
            yield f"games/{name}-ladder.svg", ladder_drawing(game_type(name))
        if guide := guide_of(name):
            for number, rule in enumerate(guide.pages):
                yield f"games/{name}-{number}.svg", rule_svg(guide, rule)
    yield "games/gallery.txt", gallery()
    yield "reference/generated/fields.txt", fields_table()
    yield "reference/generated/config.md", config_page()
    yield "reference/generated/examples.md", examples_page()
    yield "reference/generated/trick.md", trick_page()
    yield "reference/generated/policies.md", cards_page()
    yield "reference/generated/cite.md", cite_page()


# --- games --------------------------------------------------------------------------------------------------------


def game_page(name: str) -> str:
    """The page of a game, as Markdown.

    Raises:
        ValueError: if ``CHANGELOG.md`` does not mention one of its versions after the first.
    """
    kind = game_type(name)
    title, _, rest = describe_game(name).partition("\n")
    picture = f"```{{figure}} {name}.svg\n:alt: A table of {kind.title} as player_0 sees it\n:class: table\n```"
    guide = guide_of(name)
    if guide is not None:  # the docstring stands with the code, below
        rest = rest.replace(
            inspect.getdoc(kind.modules[0]) or "", f"## How to play\n\n{guide_markdown(name, _rule_figure)}"
        )
    rest = rest.replace(" … ", "\N{NO-BREAK SPACE}…\N{NO-BREAK SPACE}")
    parts = [title, picture, rest, _usage(kind), _policies(kind), _versions(kind), _rules(kind)]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _rule_figure(guide: Guide, number: int) -> str:
    """The picture of a rule in a page."""
    return f"![{rule_words(guide, guide.pages[number])}]({guide.game}-{number}.svg)"


def _usage(kind: GameType) -> str:
    """A match, played at random."""
    return USAGE.format(package=kind.package, module=kind.versioned_name, name=kind.name)


def _policies(kind: GameType) -> str:
    """How strong the trained policies are, from their manifests, and a deal between them."""
    found = manifests(kind)
    if not found:
        return ""
    rungs = list(dict.fromkeys(result["opponent"] for one in found for result in one["ladder"]["results"]))
    rows = []
    for one in found:
        over = {result["opponent"]: result for result in one["ladder"]["results"]}
        margins = [interval(over[rung]) if rung in over else "" for rung in rungs]
        deals = max(result["deals"] for result in over.values())
        cells = [str(one["num_players"]), f"{one['samples'] / 1e6:.1f} M", str(deals), *margins]
        rows.append(f"| {' | '.join(cells)} |")
    head = ["players", "samples", "deals", *(f"over `{rung}`" for rung in rungs)]
    return "\n".join(
        [
            "## Trained policies",
            "",
            "The player `pretrained` in points per seat and deal, with 95 % intervals over "
            "[duplicate deals](../evaluation.md#duplicate-deals). Each has "
            "[a card](../reference/generated/policies.md): its training, what it does not beat, what was won from it.",
            "",
            f"```{{image}} {kind.name}-ladder.svg\n:alt: The same as a drawing\n```",
            "",
            f"| {' | '.join(head)} |",
            f"| {' | '.join('---' for _ in head)} |",
            *rows,
            "",
            "Measured with:",
            "",
            "```bash",
            *(manifest["ladder"]["command"] for manifest in found),
            "```",
            *(_replay(kind) if kind.default_players in pretrained_players(kind) else ()),
        ]
    )


def _replay(kind: GameType) -> list[str]:
    """The frame for the deal that ``replays.py`` writes."""
    return [
        "",
        "## A deal of the trained policies",
        "",
        "Step by step: the arrows, or a click on a card in the list. `trick replay RECORD --html FILE` writes such a "
        "page of any match, with what policy and search think of every decision.",
        "",
        "```{raw} html",
        f'<div class="replay"><iframe src="{kind.name}-replay.html" loading="lazy" title="A deal of {kind.title}">'
        "</iframe></div>",
        f'<p><a href="{kind.name}-replay.html">The replay on a page of its own</a></p>',
        "```",
    ]


def _versions(kind: GameType) -> str:
    """The version history: every version of a game here, but the first, has an entry in the changelog."""
    if kind.package != "trick_envs":
        return ""
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    entries = [
        " ".join(entry.split()) for entry in re.findall(r"^- (.*?)(?=^- |^#|\Z)", changelog, re.DOTALL | re.MULTILINE)
    ]
    rows = [f"- `{kind.name}_v0`: the first version."]
    for version in range(1, kind.version + 1):
        module = f"{kind.name}_v{version}"
        told = [entry for entry in entries if module in entry]
        if not told:
            raise ValueError(f"CHANGELOG.md says nothing of {module}")
        rows.append(f"- `{module}`: {' '.join(told)}")
    return "\n".join(["## Version history", "", *rows])


def _rules(kind: GameType) -> str:
    """The rules as code: what the environment does, in the order of the rule page."""
    file = Path(inspect.getfile(kind.modules[0]))
    return "\n".join(
        [
            "## The rules as code",
            "",
            "This is what the environment does, in the order of the rule page.",
            "",
            '```{raw} html\n<details class="source"><summary>rules.py</summary>\n```',
            "",
            f"```{{code-block}} python\n{file.read_text(encoding='utf-8')}```",
            "",
            "```{raw} html\n</details>\n```",
        ]
    )


def picture(game: Game) -> str:
    """The table as ``player_0`` sees it in the middle of a deal between greedy players, as SVG."""
    number = min(1, int(game.template["num_deals"][0]) - 1)  # the second deal: there are scores
    plays = len(_play(game, number).deals[number].actions)
    return svg(match_view(_play(game, number, plays // 2), 0))


def _play(game: Game, number: int, plays: int | None = None) -> Match:
    """A match up to the end of a deal, or up to player_0's turn in a trick after some plays of that deal."""
    match, player = Match(game, SEED), GreedyAgent(game)
    while len(match.deals) <= number or match.deals[number].score is None:
        state, made = match.states[0], len(match.deals[number].actions) if len(match.deals) > number else -1
        if plays is not None and made >= plays and state.seat == 0 and state.trick_size > 0:
            break
        match.step(int(player.act(None, None, match.states)[0]))
    return match


def gallery() -> str:
    """All games side by side, for the start page."""
    figures = []
    for name in game_names():
        kind = game_type(name)
        figures.append(
            f":::{{figure}} games/{name}.svg\n:alt: A table of {kind.title}\n:target: games/{name}.html\n\n"
            f"[{kind.title}](games/{name}.md) {number_range(kind.players)} players\n:::"
        )
    return "\n".join(["::::{container} gallery", *figures, "::::", ""])


def fields_table() -> str:
    """The fields that every game has."""
    rows = [f"| `{name}` | {each.lasts} | {each.meaning} |" for name, each in fields(State).items()]
    return "\n".join(["| field | lasts for | meaning |", "| --- | --- | --- |", *rows, ""])


def cite_page() -> str:
    """How to cite, from ``CITATION.cff`` and the version."""
    found = dict(re.findall(r'^(title|license): "?(.*?)"?$', (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.M))
    fields = {"title": f"{{{found['title']}}}", "author": "{{The trick\\_envs developers}}"}
    fields |= {"version": f"{{{trick_envs.__version__}}}", "note": f"{{Software, {found['license']} licence}}"}
    entry = ",\n".join(f"  {key} = {value}" for key, value in fields.items())
    return f"# How to cite\n\n```bibtex\n@software{{trick_envs,\n{entry}\n}}\n```\n\n" + (
        "Name the version: rules, observations and released policies have versions of their own, and the page of every "
        "game lists them. A number from this site stands next to the command that measured it; cite both.\n"
    )


# --- training -----------------------------------------------------------------------------------------------------


def config_page() -> str:
    """Every key of a config, with its default."""
    parts = ["# Keys of a config", "", "See [Training](../../training.md#configs).", "", *_keys(RunConfig), ""]
    return "\n".join(parts)


def _keys(model: type[BaseModel]) -> list[str]:
    rows = ["| key | default | meaning |", "| --- | --- | --- |"]
    for key, field in model.model_fields.items():
        if not field.description:
            continue
        default = field.default
        shown = "" if default is PydanticUndefined else f"`{_as_yaml(default)}`"
        rows.append(f"| `{key}` | {shown} | {field.description} |")
    return rows


def _as_yaml(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return str(value)


def trick_page() -> str:
    """The commands and their options, as typer documents them; its list of the commands with whole sentences."""
    command = [sys.executable, "-m", "typer", "trick_envs.cli", "utils", "docs", "--name", "trick", "--title", TRICK]
    text = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout
    told = dict(re.findall(r"^## `trick (\S+)`\n\n(.*)$", text, re.MULTILINE))
    return re.sub(
        r"^\* `(\w[\w-]*)`: .*$",
        lambda line: f"* [`{line[1]}`](#trick-{line[1]}): {told[line[1]]}",
        text,
        flags=re.MULTILINE,
    )


def examples_page() -> str:
    """The programs in ``examples/``, with what each says of itself."""
    parts = ["# Examples", "", "The programs in `examples/`, for the [frameworks](../../frameworks.md).", ""]
    for file in sorted((ROOT / "examples").glob("*.py")):
        code = file.read_text(encoding="utf-8")
        program = ast.parse(code)
        told = ast.get_docstring(program)
        begins = program.body[0].end_lineno if told else 0
        parts += [f"## {file.name}", "", told or "", "", "```python", *code.splitlines()[begins:], "```", ""]
    return "\n".join(parts)
