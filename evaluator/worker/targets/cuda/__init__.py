"""A CUDA device that is there: time on its own clock, what holds for it, what it keeps.

`device` and what else talks to torch or to the driver is thin; the rules stand beside it, and take whatever has the
same methods, so that they are tested without a device.
"""
