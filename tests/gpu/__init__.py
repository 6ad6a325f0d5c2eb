"""Checks that need an NVIDIA GPU: one script of ten stages, no part of the test command."""
