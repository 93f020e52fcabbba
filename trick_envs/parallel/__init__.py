"""Work in several processes or on a Ray cluster, and compiling once for all of them."""
