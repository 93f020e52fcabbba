"""Import paths of before version 1.0. For one version, each still gives the module at its new path, and warns.

Old policies need them as well: the pickle in a ``policy.zip`` names classes by their modules.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import CodeType, ModuleType
from typing import Any

from trick_envs.deprecation import warn_renamed

MOVED = {  # modules and packages; what is in a package moves with it
    "training.arena": "trick_envs.evaluation.arena",
    "training.arena.plan": "trick_envs.evaluation.arena.schedule",
    "training.best_response": "training.ppo.best_response",
    "training.cli": "trick_envs.cli",
    "training.describe": "trick_envs.cli.catalogue",
    "training.evaluation": "trick_envs.evaluation.duplicate",
    "training.executor": "trick_envs.parallel.executor",
    "training.files": "trick_envs.files",
    "training.hints": "trick_envs.play.hints",
    "training.labels": "training.expert.labels",
    "training.measure": "training.bench",
    "training.monitor": "training.report.tracker",
    "training.network": "training.networks.policy",
    "training.past": "training.report.snapshots",
    "training.play": "trick_envs.play.terminal",
    "training.play.advice": "trick_envs.play.advice",
    "training.play.choices": "trick_envs.play.terminal.card_input",
    "training.play.session": "trick_envs.play.session",
    "training.plots": "trick_envs.evaluation.plots",
    "training.policy_files": "trick_envs.agents.policy_files",
    "training.progress": "trick_envs.cli.progress",
    "training.ray_executor": "trick_envs.parallel.ray_executor",
    "training.rollouts": "training.ppo.rollouts",
    "training.selfplay": "training.ppo.self_play",
    "training.serve": "trick_envs.play.web",
    "training.serve.asking": "trick_envs.play.web.validation",
    "training.start": "training.networks.initial",
    "training.suits": "training.networks.suits",
    "trick_envs.agents.lockstep": "trick_envs.agents.rollout_kernels",
    "trick_envs.engine.lowlevel": "trick_envs.engine.intrinsics",
    "trick_envs.games.double_deck_whist.hidden": "trick_envs.games.double_deck_whist.determinization",
    "trick_envs.games.tricky_express.hidden": "trick_envs.games.tricky_express.determinization",
    "trick_envs.interfaces.arguments": "trick_envs.engine.arguments",
    "trick_envs.interfaces.batch": "trick_envs.engine.batch",
    "trick_envs.interfaces.checked": "trick_envs.interfaces.env",
    "trick_envs.interfaces.forfeit": "trick_envs.interfaces.illegal_penalty",
    "trick_envs.matches.given": "trick_envs.matches.fixed_deals",
    "trick_envs.matches.reading": "trick_envs.engine.inspect",
    "trick_envs.matches.telling": "trick_envs.matches.transcript",
    "trick_envs.view.plan": "trick_envs.view.geometry",
}

_BENCH, _LEARNER = "trick_envs.evaluation.bench", "training.expert.learner"
_PPO, _PAGE = "training.ppo.algorithm", "training.report.page"

# What was in a module whose name another module has now, and where it is.
ELSEWHERE = {
    "training.bench": {
        name: f"{_BENCH}.{name}"
        for name in ("MIN_DECISIONS", "RUNS", "SECONDS", "SECTIONS", "bench_table", "run_bench")
    },
    "training.expert": {
        "Learner": f"{_LEARNER}.ExpertTrainer",
        "Shelf": f"{_LEARNER}.ReplayBuffer",
        **{name: f"{_LEARNER}.{name}" for name in ("ROUNDS_BEFORE", "SPREAD", "standard_scores", "train_by_search")},
    },
    "training.ppo": {
        name: f"{_PPO}.{name}" for name in ("SelfPlayPPO", "new_ppo", "prepare", "self_play_games", "train_ppo")
    },
    "training.report": {name: f"{_PAGE}.{name}" for name in ("FIGURES", "Finished", "TEMPLATE", "write_report")},
    "training.seeds": {
        name: f"trick_envs.evaluation.seeds.{name}"
        for name in ("MAX_RUN_SEED", "Purpose", "match_seeds", "player_seeds")
    },
}


def new_path(path: str) -> str | None:
    """The path that a module has now; ``None`` if it has not moved."""
    package, rest = path, ""
    while package not in MOVED:
        package, dot, last = package.rpartition(".")
        if not dot:
            return None
        rest = f".{last}{rest}"
    return MOVED[package] + rest


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(("training.", "trick_envs.")) or (new := new_path(fullname)) is None:
            return None
        return ModuleSpec(fullname, _Alias(new), is_package=fullname in ("training.play", "training.serve"))


class _Alias(Loader):
    """Loads the module at another path, so that both paths give the same object."""

    def __init__(self, path: str) -> None:
        self._path = path

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        warn_renamed(f"the module {module.__name__}", self._path)
        sys.modules[module.__name__] = importlib.import_module(self._path)

    def get_code(self, name: str) -> CodeType:
        """What ``python -m`` runs."""
        warn_renamed(f"the module {name}", self._path)
        run = f"import runpy; runpy.run_module({self._path!r}, run_name='__main__', alter_sys=True)"
        return compile(run, name, "exec")


def attributes(module: str) -> Callable[[str], Any]:
    """``__getattr__`` for a module of ``ELSEWHERE``: what was in it before, with a warning."""

    def __getattr__(name: str) -> Any:
        path = ELSEWHERE[module].get(name)
        if path is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        warn_renamed(f"{module}.{name}", path)
        home, _, new = path.rpartition(".")
        return getattr(importlib.import_module(home), new)

    return __getattr__


def install() -> None:
    """Makes the old paths importable."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())  # before the others, which would load modules of a moved package twice
