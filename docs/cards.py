"""A card for every released policy, and drawings of their ladders, from the manifests that lie next to the policies."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from trick_envs.agents.pretrained import load_manifest, pretrained_file, pretrained_players
from trick_envs.engine.game import GameType
from trick_envs.engine.registry import game_names, game_type

ROOT = Path(__file__).parent.parent
COLOURS = ("#8a8f94", "#3f7f5f", "#1f6f8b", "#b5482f")  # by rung of the ladder
HEAD = """# Trained policies

A card for every policy that comes with the package, written from its manifest. All of them play their best action in
one forward pass, see what the [observation](../../environments.md) holds and remember nothing else, and were trained by
the game's default rules, in single deals. Margins are points per seat and deal on duplicate deals that nothing was
tuned on, with 95 % intervals.

- *Margin*: the policy against the opponent, the mean of both ways. *As the only one*: a single such policy among
  opponents.
- *Not beaten*: players of the ladder over which the interval includes 0 or is below it.
- *Exploitability found*: the most that any deviator has won from copies of the policy, as the only one of its kind,
  over the mean of the others, where that is more than its interval. It is a lower bound; *nothing found* does not prove
  that there is nothing.

```bash
trick policies
trick evaluate pretrained ismcts:1000 --game pepper --num-players 5 --deals 200 --split test
```

"""


def manifests(kind: GameType) -> list[dict[str, Any]]:
    """Those of a game's policies, by number of players."""
    return [load_manifest(pretrained_file(kind, players)) for players in pretrained_players(kind)]


def interval(result: dict[str, Any], kind: str = "") -> str:
    """A margin with its interval; ``kind`` is empty or ``_as_one``."""
    return f"{result[f'margin{kind}']:+.2f} ± {result[f'half_width{kind}']:.2f}"


def cards_page() -> str:
    """The page with all cards, as Markdown."""
    parts = [HEAD]
    for name in game_names():
        kind = game_type(name)
        found = manifests(kind)
        if found:
            parts += [f"## {kind.title}\n", f"```{{image}} ../../games/{name}-ladder.svg\n:alt: {_told(kind)}\n```\n"]
            parts += [_card(kind, each) for each in found]
    return "\n".join(parts)


def _told(kind: GameType) -> str:
    return f"Margins of the trained policies of {kind.title} over the players of the ladder, with 95 % intervals"


def _card(kind: GameType, manifest: dict[str, Any]) -> str:
    name = f"{manifest['game']}-{manifest['num_players']}"
    config = manifest["config"]
    layers = f"shared over suits, {config['depth']} layers of {config['width']}"
    start = f", from the weights of `{config['init_from']}`" if config.get("init_from") else ""
    versions = ", ".join(f"{library} {version}" for library, version in manifest["versions"].items())
    results = manifest["ladder"]["results"]
    weak = [f"`{each['opponent']}` ({interval(each)})" for each in results if each["margin"] <= each["half_width"]]
    licence = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["license"]
    rows = {
        "plays": f"{kind.title}, {manifest['num_players']} players",
        "network": f"{layers}: {manifest['parameters']:,} parameters, {manifest['size'] / 1000:.0f} kB",
        "training": f"PPO by self-play{start}: {manifest['samples'] / 1e6:.1f} million samples in "
        f"{manifest['seconds'] / 60:.0f} minutes, seed {manifest['seeds']['training']}",
        "command": f"`{manifest['command']}`",
        "versions": versions,
        "not beaten": ", ".join(weak) or "none of the ladder",
        "exploitability found": _exploited(manifest),
        "SHA-256": f"`{manifest['sha256']}`",
        "licence": f"{licence}, as the package",
    }
    lines = [f"### {name}", "", "| | |", "| --- | --- |", *(f"| {key} | {value} |" for key, value in rows.items()), ""]
    lines += ["| over | margin | as the only one | deals |", "| --- | --- | --- | --- |"]
    lines += [
        f"| `{one['opponent']}` | {interval(one)} | {interval(one, '_as_one')} | {one['deals']} |" for one in results
    ]
    return "\n".join([*lines, "", "```bash", manifest["ladder"]["command"], "```", ""])


def _exploited(manifest: dict[str, Any]) -> str:
    """What deviators have won, from the manifest's ``exploitability``."""
    tried = manifest.get("exploitability", [])
    if not tried:
        return "not measured"
    won = [one for one in tried if one["margin"] > one["half_width"]]
    if not won:
        most = max(tried, key=lambda one: one["margin"])
        return f"nothing found ({most['deviator']}: {interval(most)})"
    best = max(won, key=lambda one: one["margin"])
    return f"{interval(best)} points a deal, by `{best['deviator']}` (`{best['command']}`)"


def ladder_drawing(kind: GameType) -> str:
    """The margins of a game's policies over the ladder, as SVG: rows of dots and intervals."""
    rows = [(f"{one['num_players']} players", one["ladder"]["results"]) for one in manifests(kind)]
    rungs = [result["opponent"] for result in rows[0][1]]
    ends = [end for _, found in rows for one in found for end in _ends(one)]
    low, high = min(0.0, *ends), max(0.0, *ends)
    left, width, row, top = 90, 600, 18 * len(rungs) + 14, 34
    height = top + row * len(rows) + 34

    def x(value: float) -> float:
        return round(left + (value - low) / (high - low) * width, 1)

    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 30} {height}" '
        f'width="{left + width + 30}" font-family="system-ui, sans-serif" font-size="13">',
        f'<rect width="100%" height="100%" rx="8" fill="#fbfaf7"/><title>{escape(_told(kind))}</title>',
    ]
    out += _axis(x, low, high, top, height)
    at = left
    for rung, colour in zip(rungs, COLOURS, strict=False):
        out.append(f'<circle cx="{at + 6}" cy="17" r="5" fill="{colour}"/>')
        out.append(f'<text x="{at + 16}" y="21.5" fill="#22272b">over {escape(rung)}</text>')
        at += 46 + 8 * (len(rung) + 5)
    for number, (title, found) in enumerate(rows):
        y = top + number * row + 14
        out.append(f'<text x="10" y="{y + (row - 14) / 2}" fill="#22272b">{title}</text>')
        for one, colour in zip(found, COLOURS, strict=False):
            begin, end = map(x, _ends(one))
            out.append(f'<path d="M{begin} {y}H{end}" stroke="{colour}" stroke-width="3" stroke-opacity=".45"/>')
            out.append(f'<circle cx="{x(one["margin"])}" cy="{y}" r="5" fill="{colour}"/>')
            y += 18
    return "\n".join([*out, "</svg>\n"])


def _ends(result: dict[str, Any]) -> tuple[float, float]:
    return result["margin"] - result["half_width"], result["margin"] + result["half_width"]


def _axis(x: Any, low: float, high: float, top: int, height: int) -> Iterator[str]:
    step = next(each for each in (0.5, 1, 2, 5) if (high - low) / each <= 10)
    tick = -(-low // step) * step
    while tick <= high:
        zero = abs(tick) < 1e-9
        yield (
            f'<path d="M{x(tick)} {top}V{height - 28}" stroke="#22272b" stroke-opacity="{0.6 if zero else 0.12}"/>'
            f'<text x="{x(tick)}" y="{height - 10}" fill="#65707a" text-anchor="middle">'
            f"{'0' if zero else format(tick, '+g')}</text>"
        )
        tick += step
