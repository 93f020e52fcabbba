"""``render()`` of all environments: modes, whose view it is, a window, and what happens without Pillow or a display."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import RenderCollection
from helpers import every_game, make

from trick_envs.interfaces import rendering, window
from trick_envs.interfaces.window import Window
from trick_envs.matches.viewing import match_view
from trick_envs.view import ansi, rgb_array, table_view

PEPPER = "trick_envs/Pepper-v0"


def seat_env(**options):
    return gymnasium.make(PEPPER, opponents="random", **options).unwrapped


def vector_env(**options):
    return gymnasium.make_vec(PEPPER, 2, "vector_entry_point", **options)


@pytest.fixture
def without(monkeypatch):
    """A function that lets a library be missing."""

    def remove(library):
        def find_spec(name):
            return None if name == library else object()

        for module in (rendering, window):
            monkeypatch.setattr(module, "find_spec", find_spec)
        monkeypatch.setattr(Window, "_told", False)

    return remove


# --- whose view ---------------------------------------------------------------------------------------------------


@every_game
def test_the_aec_environment_shows_everything_or_what_a_seat_sees(name):
    for chosen, observer in (("all", None), (1, 1)):
        env = make(name, render_mode="ansi", render_view=chosen)
        env.reset(seed=3)
        for _ in range(30):
            assert env.render() == ansi(match_view(env._match, observer))
            env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))
    env = make(name, render_mode="ansi")
    env.reset(seed=3)
    assert env.render() == ansi(match_view(env._match))


def test_a_learner_sees_its_own_seat_unless_another_is_asked_for():
    for chosen, observer in ((None, "own"), (2, 2), ("all", None)):
        env = seat_env(render_mode="ansi", render_view=chosen)
        for seed in range(5):
            env.reset(seed=seed)
            assert env.render() == ansi(match_view(env._played(), env.seat if observer == "own" else observer))


def test_learners_of_vector_environments_see_their_own_seats():
    for mode, draw in (("ansi", ansi), ("rgb_array", rgb_array)):
        for chosen in (None, 3, "all"):
            env = vector_env(render_mode=mode, render_view=chosen)
            env.reset(seed=4)
            for i, picture in enumerate(env.render()):
                observer = {None: int(env.seats[i]), 3: 3, "all": None}[chosen]
                expected = draw(table_view(env.game, env.states[i : i + 1], observer))
                np.testing.assert_array_equal(picture, expected)


@pytest.mark.parametrize("made", [seat_env, vector_env, lambda **options: make("pepper", **options)])
@pytest.mark.parametrize("wrong", ["me", 5, -1, True, 1.0])
def test_an_unknown_view_is_an_error_that_says_what_there_is(made, wrong):
    with pytest.raises(ValueError, match=f"render_view: expected 'all' or a seat of 0 to 4, not {wrong!r}"):
        made(render_view=wrong)


# --- pixels -------------------------------------------------------------------------------------------------------


@every_game
def test_pixels_follow_the_conventions(name):
    env = make(name, raw=False, render_mode="rgb_array")
    env.reset(seed=1)
    np.testing.assert_array_equal(env.render(), rgb_array(match_view(env._match)))


def test_gymnasiums_wrappers_collect_pictures():
    env = RenderCollection(gymnasium.make(PEPPER, render_mode="rgb_array", num_deals=1))
    _, info = env.reset(seed=1)
    env.step(int(info["action_mask"].argmax()))
    first, second = env.render()
    assert first.shape == second.shape == (600, 800, 3)
    assert (first != second).any()


def test_without_pillow_the_error_names_the_extra_and_is_one_that_sb3_waits_for(without):
    without("PIL")
    for made in (seat_env, vector_env, lambda **options: make("pepper", **options)):
        for kind in (TypeError, ModuleNotFoundError):
            with pytest.raises(kind, match=r"needs Pillow: pip install 'trick_envs\[render\]'"):
                made(render_mode="rgb_array")
    env_util = pytest.importorskip("stable_baselines3.common.env_util")
    assert env_util.make_vec_env(PEPPER).render_mode is None


def test_stable_baselines_gets_pictures():
    env_util = pytest.importorskip("stable_baselines3.common.env_util")
    from trick_envs.interfaces.sb3 import make_vec_env

    theirs, ours = env_util.make_vec_env(PEPPER, 2), make_vec_env(PEPPER, 2, env_kwargs={"render_mode": "rgb_array"})
    for env in (theirs, ours):
        env.reset()
        assert [picture.shape for picture in env.get_images()] == [(600, 800, 3)] * 2


# --- a window -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["pygame", "PIL"])
def test_without_a_library_people_get_text_and_are_told_once(without, capsys, library):
    without(library)
    with pytest.warns(UserWarning, match=f"prints text, because {library} is not installed"):
        seat_env(render_mode="human").reset(seed=1)
    assert "player_0" in capsys.readouterr().out
    with warnings.catch_warnings(action="error"):
        env = make("pepper", render_mode="human")
        env.reset(seed=1)
        env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))
    assert capsys.readouterr().out == ansi(match_view(env._match)) + "\n"


def test_without_a_display_people_get_text(monkeypatch, capsys):
    """SDL takes an invisible driver then, and says nothing."""
    pytest.importorskip("pygame")
    for variable in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(Window, "_told", False)
    env = make("pepper", render_mode="human")
    env.reset(seed=1)
    with pytest.warns(UserWarning, match="prints text, because there is no display"):
        assert env.render() is None
    assert "player_0" in capsys.readouterr().out


def test_a_window_shows_the_picture_and_can_be_closed_and_copied(monkeypatch, capsys):
    pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    env = make("pepper", render_mode="human")
    env.reset(seed=1)
    env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))
    np.testing.assert_array_equal(on_screen(env), rgb_array(match_view(env._match)))
    assert capsys.readouterr().out == ""
    twins = copy.deepcopy(env), pickle.loads(pickle.dumps(env))
    env.close()
    assert not window._open
    for twin in twins:
        twin.render()
        assert on_screen(twin) is not None
        twin.close()
        twin.close()
    assert not window._open


def on_screen(env):
    """What the window of an environment shows."""
    pygame = pytest.importorskip("pygame")
    surface = env._rendering._window._window.get_surface()
    return pygame.surfarray.array3d(surface).swapaxes(0, 1)


def two_windows(monkeypatch):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pair = [make("pepper", render_mode="human") for _ in range(2)]
    for seed, env in enumerate(pair):
        env.reset(seed=seed)
        step(env)
    return pair


def step(env):
    env.step(int(env.observe(env.agent_selection)["action_mask"].argmax()))


def test_a_window_is_nothing_to_the_other_windows_of_a_process(monkeypatch, capsys):
    pygame = pytest.importorskip("pygame")
    one, other = two_windows(monkeypatch)
    for env in (one, other):
        np.testing.assert_array_equal(on_screen(env), rgb_array(match_view(env._match)))
    other.close()
    step(one)
    np.testing.assert_array_equal(on_screen(one), rgb_array(match_view(one._match)))
    pygame.quit()  # somebody else's close()
    step(one)
    np.testing.assert_array_equal(on_screen(one), rgb_array(match_view(one._match)))
    one.close()
    assert capsys.readouterr().out == ""


def test_who_presses_the_cross_of_a_window_closes_this_one_and_the_match_goes_on(monkeypatch, capsys):
    pygame = pytest.importorskip("pygame")
    one, other = two_windows(monkeypatch)
    pygame.event.post(pygame.event.Event(pygame.WINDOWCLOSE, window=one._rendering._window._window))
    step(other)
    assert one._rendering._window.shut
    assert one._rendering._window._window is None
    step(one)
    assert one._rendering._window._window is None
    np.testing.assert_array_equal(on_screen(other), rgb_array(match_view(other._match)))
    one.close()
    one.render()  # asked for again
    np.testing.assert_array_equal(on_screen(one), rgb_array(match_view(one._match)))
    one.close()
    other.close()
    assert capsys.readouterr().out == ""


def test_text_and_notebooks_need_no_graphical_library():
    code = (
        "import sys; from trick_envs import pepper_v0; env = pepper_v0.env(render_mode='ansi'); env.reset(seed=1); "
        "env.render(); env._repr_html_(); assert not {'PIL', 'pygame', 'matplotlib'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
