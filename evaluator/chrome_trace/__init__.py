"""Reads the Chrome trace that torch's profiler exports, without torch: what was launched when, and what the device did.

``events`` gets the events out of the file, ``recording`` sorts them into lanes, ``launches`` matches what the host launched
with what ran, ``intervals`` is arithmetic of spans, ``account`` says what a region of the trace cost and why.

Times are microseconds on the trace's own clock, as in the file. What a trace does not say is None, never 0.
"""
