"""Search, compiled: sampling hidden worlds (``worlds.py``), play-outs (``playouts.py``), the tree (``tree.py``), and
what roll-outs of a policy need (``rollouts.py``).

These are kernels like those in ``engine/kernels``, and are bound to each game together with them.
"""
