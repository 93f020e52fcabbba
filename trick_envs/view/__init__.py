"""What one observer sees of a table, as plain data, and drawings of it."""

from trick_envs.view.picture import card_svg, rgb_array, svg
from trick_envs.view.table import SeatView, TableView, table_view
from trick_envs.view.text import ansi

__all__ = ["SeatView", "TableView", "ansi", "card_svg", "rgb_array", "svg", "table_view"]
