"""What one observer sees of a table, as plain data, and drawings of it."""

from trick_envs.view.look import table_view
from trick_envs.view.picture import avatar_svg, card_svg, icon_svg, image_tag, rgb_array, svg
from trick_envs.view.table import SeatView, TableView
from trick_envs.view.text import ansi

TableView._repr_html_ = image_tag

__all__ = ["SeatView", "TableView", "ansi", "avatar_svg", "card_svg", "icon_svg", "rgb_array", "svg", "table_view"]
