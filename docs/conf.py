"""The documentation: ``sphinx-build -W -n docs build/docs``, then open ``build/docs/index.html``.

Nothing is fetched, while building or reading: no intersphinx, no fonts from elsewhere; search works from the file
system. ``pages.py`` writes what the code knows: a page per game with its picture, the configs, the ``trick`` command.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

os.environ["TRICK_ENVS_COMPILE"] = "never"
sys.path.insert(0, str(Path(__file__).parent))

import pages
import replays
from sphinx.util import logging

import trick_envs

project = "trick_envs"
author = "the authors of trick_envs"
copyright = "the authors of trick_envs; MIT licence"
version = release = trick_envs.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode", "sphinx_copybutton"]
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = "trick_envs"
html_static_path = ["_static"]
html_css_files = ["style.css"]
html_logo = "_static/logo.svg"
html_favicon = "../trick_envs/play/web/static/icon.svg"
html_copy_source = html_show_sourcelink = False
html_show_sphinx = False
html_show_search_summary = False  # it would fetch the pages, which browsers refuse for files
html_theme_options = {"navigation_with_keys": True}

myst_enable_extensions = ["colon_fence", "attrs_block", "attrs_inline"]
myst_heading_anchors = 3  # as on GitHub: the pages link to headings
suppress_warnings = ["myst.header"]  # parts of README and CONTRIBUTING begin below the headings that they had there

autodoc_default_options = {"members": True, "member-order": "bysource"}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 140
python_trailing_comma_in_multi_line_signatures = False
autodoc_preserve_defaults = True
napoleon_numpy_docstring = False
napoleon_custom_sections = [("Attributes", "params_style")]

# Types of other packages: their documentation is not linked to, because the build fetches nothing.
OTHERS = (
    "Any|np|npt|numpy|os|gymnasium|pettingzoo|spaces|stable_baselines3|torch|collections|pathlib|types|typing|pyspiel"
)
nitpick_ignore_regex = [("py:.*", rf"({OTHERS})(\..*)?")]
nitpick_ignore = [
    ("py:class", "ArrayOf"),  # in annotations of kernels
    ("py:class", "trick_envs.engine.play_log.PlayLog"),
    ("py:class", "trick_envs.view.rows.Row"),
    ("py:exc", "PolicyError"),
    ("py:class", "trick_envs.engine.build.rule.F"),  # type variables
    ("py:class", "trick_envs.errors.T"),
    ("py:class", "trick_envs.engine.build.kernels.Kernels"),
    ("py:class", "Plays"),  # an alias
    ("py:class", "Table"),  # of rich
]

# Arrays in a signature; shapes and dtypes are in the docstrings.
ARRAY_LIKE = re.compile(r"~?numpy\._typing\._array_like\._Buffer.*?_NestedSequence\[complex \| bytes \| str\]")
NDARRAY = re.compile(r"~?numpy\.ndarray\[tuple\[~?typing\.Any, \.\.\.\], ~?numpy\.dtype\[[^]]*\]\]")

UNWRITABLE = re.compile(r"<factory>|<function [\w.]*<lambda>>|<class '[\w.]*'>")  # defaults

# Links of the repository, where the site has the same text elsewhere; others that leave docs/ become plain text.
LINKS = {
    r"\[!\[tests\][^\n]*\n": "",  # badges, which are the repository's
    r"\]\(\.\./CONTRIBUTING\.md#another-game\)": "](adding_a_game.md)",
    r"\]\((\.\./)?CONTRIBUTING\.md": "](contributing.md",
    r"\]\((\.\./)?examples/(\w+)\.py\)": r"](reference/generated/examples.md#\2py)",
    r"\]\((\.\./)?examples/?\)": "](reference/generated/examples.md)",
    r"\]\(docs/": "](",
    r"\[([^][]*)\]\(\.\./[^)]*\)": r"\1",
    r"\[(docs/)?[\w/]+\.md\](?=\()": "[]",  # named by its file: it gets the title of the page
}


def for_the_site(text: str) -> str:
    """A page of ``docs/``, or what it includes: links lead to pages of the site, margins stay in one line."""
    for link, here in LINKS.items():
        text = re.sub(link, here, text)
    return text.replace(" ± ", "\u00a0±\u00a0")


def setup(app: Any) -> None:
    """Sphinx calls this before it looks for pages."""
    pages.write(Path(app.srcdir))

    def shorten(_app: Any, what: str, _name: str, found: Any, _options: Any, signature: Any, returned: Any) -> Any:
        if what == "class" and getattr(found, "_is_protocol", False):
            return "", None
        texts = []
        for text in (signature, returned):
            text = text and ARRAY_LIKE.sub("~numpy.typing.ArrayLike", text)
            text = text and NDARRAY.sub("~numpy.ndarray", text)
            texts.append(text and UNWRITABLE.sub("...", text))
        return tuple(texts)

    kept: dict[str, list[str]] = {}

    def keep(_app: Any, what: str, name: str, _object: Any, _options: Any, lines: list[str]) -> None:
        if what in ("property", "attribute", "data"):  # napoleon takes whatever is before a colon for a type there
            kept[name] = lines[:]
            lines.clear()

    def restore(_app: Any, _what: str, name: str, _object: Any, _options: Any, lines: list[str]) -> None:
        lines[:] = kept.pop(name, lines)

    def read(_app: Any, name: str, content: list[str]) -> None:
        if "/" not in name:
            content[0] = for_the_site(content[0])

    def included(_app: Any, _path: Path, _parent: str, content: list[str]) -> None:
        content[0] = for_the_site(content[0])

    app.connect("autodoc-process-signature", shorten)
    app.connect("autodoc-process-docstring", keep, priority=400)  # napoleon has 500
    app.connect("autodoc-process-docstring", restore, priority=600)

    def check(app: Any, environment: Any) -> None:
        documented = {name for name, *_ in environment.get_domain("py").get_objects()}
        for name in trick_envs.__all__:
            if f"trick_envs.{name}" not in documented and name != "__version__":
                logging.getLogger(__name__).warning("trick_envs.%s is missing from docs/reference", name)

    app.connect("source-read", read)
    app.connect("include-read", included)
    app.connect("env-check-consistency", check)

    def built(app: Any, error: Exception | None) -> None:
        if error is None and app.builder.format == "html":
            replays.write(Path(app.outdir))

    app.connect("build-finished", built)
