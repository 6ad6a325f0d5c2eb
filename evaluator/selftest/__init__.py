"""Workloads in the plain form with planted properties, for ``doctor --selftest``; only a worker loads them."""
