"""The built-in games, one folder each: ``pepper/__init__.py`` declares Pepper, ``pepper/rules.py`` has the rules."""
