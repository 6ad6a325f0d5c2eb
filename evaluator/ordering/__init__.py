"""What runs after what on a device with streams: a model of submissions, waits and storage. Pure: no torch, no clock.

``calls`` are what a host can call, and ``program`` has them in order; ``order`` which operations every run of it keeps apart; ``schedule`` the
earliest times for given durations; ``conflicts`` who relies on an order that nothing makes; ``storage`` whose memory is
given away too early; ``presets`` small programs to look at; ``reading`` programs as plain data.
"""
