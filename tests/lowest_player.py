"""A program that plays: the lowest legal card, in any game. ``docs/external_players.md`` shows it."""

import json
import sys

RANKS: dict[str, int] = {}

for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "start":
        RANKS.update({card: number for number, card in enumerate(message["cards"])})
        answer = {"type": "ready", "name": "lowest"}
    else:
        answer = {"type": "card", "card": min(message["legal"], key=RANKS.__getitem__)}
    print(json.dumps(answer), flush=True)
