"""Examples and adapters of the frameworks that are installed here, at a small size; ``tests/frameworks`` has all."""

from __future__ import annotations

import importlib.util
import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from trick_envs import make_agent

EXAMPLES = Path(__file__).parents[1] / "examples"
ADAPTERS = Path(__file__).parent / "frameworks" / "adapters.py"
RUN = Path(__file__).parent / "frameworks" / "run.py"
# Learner's decisions (or deals), and the modules that an example needs.
QUICK = {
    "textarena_match": (1, "textarena"),
    "trl_grpo": (1, "trl transformers datasets onnxruntime"),
    "minari_imitation": (40, "minari h5py torch onnxscript"),
    "recurrent_history": (500, "torch"),
    "sb3_single": (4096, "sb3_contrib onnxscript"),
    "sb3_vector": (8192, "sb3_contrib onnxscript"),
    "expert_iteration": (1, "sb3_contrib onnxscript"),
    "sb3_native_self_play": (32768, "sb3_contrib onnxscript"),
    "sb3_self_play": (8192, "sb3_contrib onnxscript"),
    "sb3_qrdqn": (6400, "sb3_contrib onnxscript"),
    "cleanrl_ppo": (8192, "torch onnxscript"),
    "openspiel_ismcts": (1, "pyspiel"),
    "openspiel_nfsp": (2, "pyspiel torch tree onnxscript"),
    "pettingzoo_converters": (1, "supersuit"),
    "torchrl_vector": (4096, "torchrl onnxscript"),
    "torchrl_aec": (100, "torchrl onnxscript"),
    "tianshou_dqn": (320, "tianshou onnxscript"),
    "tianshou_ppo": (2048, "tianshou onnxscript"),
    "rllib_vector": (512, "ray tree onnxscript"),
    "rllib_self_play": (512, "ray tree onnxscript"),
    "agilerl_dqn": (512, "agilerl onnxscript"),
}
LONGEST = {"recurrent_history": 85, "expert_iteration": 121, "trl_grpo": 160}  # lines, where it is not 60


def run(name: str, size: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    path = EXAMPLES / f"{name}.py"
    monkeypatch.setattr(sys, "argv", [str(path), str(size)])
    monkeypatch.chdir(folder)
    return runpy.run_path(str(path), run_name="__main__")


def test_every_example_is_run_and_short():
    files = {path.stem: path for path in EXAMPLES.glob("*.py")}
    assert files.keys() == QUICK.keys()
    assert {
        name: lines
        for name, path in files.items()
        if (lines := len(path.read_text().splitlines())) >= LONGEST.get(name, 60)
    } == {}


@pytest.mark.parametrize("name", QUICK)
@pytest.mark.filterwarnings("ignore")  # of the frameworks
def test_an_example_runs_and_its_policy_plays(name, tmp_path, monkeypatch, capsys):
    size, modules = QUICK[name]
    missing = [module for module in modules.split() if importlib.util.find_spec(module) is None]
    if missing:
        pytest.skip(f"without {missing[0]}")
    found = run(name, size, tmp_path, monkeypatch)
    if "export_policy(" not in (EXAMPLES / f"{name}.py").read_text():
        return
    game, result = found["game"], found["result"]
    assert (result.player, result.deals) == ("policy.onnx", 200)
    read = runpy.run_path(str(RUN))["learned"](capsys.readouterr().out)  # as --learn reads it
    assert read == (result.opponent, result.margin, result.half_width)
    assert make_agent(str(tmp_path / "policy.onnx"), game).metadata["game"] == game.name


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_tiny_language_model_learns(tmp_path, monkeypatch):
    for module in QUICK["trl_grpo"][1].split():
        pytest.importorskip(module)
    found = run("trl_grpo", 60, tmp_path, monkeypatch)
    assert found["legal"]["GRPO"] > 0.95
    result = found["results"]["GRPO", "random"]
    assert result.margin > result.half_width
    assert (tmp_path / "tiny_model" / "model.safetensors").is_file()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_imitation_of_a_dataset_ends_above_greedy(tmp_path, monkeypatch):
    for module in QUICK["minari_imitation"][1].split():
        pytest.importorskip(module)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path / "datasets"))
    result = run("minari_imitation", 800, tmp_path, monkeypatch)["result"]
    assert result.opponent == "greedy"
    assert result.margin > result.half_width


def test_the_examples_that_can_be_named_are_told(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["run.py", "--learn", "sb3_qrdqm"])
    with pytest.raises(SystemExit):
        runpy.run_path(str(RUN))["main"]()
    assert "sb3_qrdqn" in capsys.readouterr().err


def test_an_example_that_does_not_learn_leaves_its_row(tmp_path, monkeypatch):
    home = runpy.run_path(str(RUN))
    names, page = home["main"].__globals__, tmp_path / "page.md"
    about = ["AgileRL", "[agilerl_dqn.py](../examples/agilerl_dqn.py)", "200,000"]
    text = f"<!-- learning -->\n| h |\n| - |\n| {' | '.join([*about, '70', '`greedy`', '+2.00 ± 0.50'])} |\n"
    page.write_text(f"{text}<!-- end of learning -->\n")
    monkeypatch.setitem(names, "PAGE", page)
    monkeypatch.setitem(names, "build", lambda framework, folder: Path("python"))
    monkeypatch.setattr(sys, "argv", ["run.py", "--learn", "agilerl_dqn"])
    for margin, code, shown in [("-1.0", 1, "+2.00 ± 0.50"), ("3.0", 0, "+3.00 ± 0.25")]:
        result = f"Result(player='policy.onnx', opponent='greedy', deals=200, margin={margin}, half_width=0.25, x=0)"
        monkeypatch.setitem(names, "run", lambda *given, printed=result, **more: (printed, 9.0))
        assert home["main"]() == code
        assert shown in page.read_text()


def test_every_example_that_exports_a_policy_is_measured_at_its_default_size(monkeypatch):
    home = runpy.run_path(str(RUN))
    result = "Result(player='policy.onnx', opponent='greedy', deals=200, margin=3.0, half_width=0.25, x=0)"
    monkeypatch.setitem(home["main"].__globals__, "run", lambda *given, **more: (result, 9.0))
    for framework in home["FRAMEWORKS"].values():
        for name in framework.examples:
            rows = list(home["learning_rows"]([name], framework, Path("python")))
            assert len(rows) == ("export_policy(" in (EXAMPLES / f"{name}.py").read_text()), name


@pytest.mark.parametrize(
    ("framework", "module"), [("farama", "pettingzoo"), ("sb3", "sb3_contrib"), ("openspiel", "pyspiel")]
)
@pytest.mark.filterwarnings("ignore")
def test_no_action_is_illegal_and_no_reward_lost_in_an_adapter(framework, module):
    pytest.importorskip(module)
    home = runpy.run_path(str(ADAPTERS))
    for name, (_, check) in home["ADAPTERS"][framework].items():
        found = home["compare"](check, "donguri", 2)
        assert found >= 2, name
