"""Workloads that are different on the two sides of an upgrade, or only look it, and what must be said of them."""
