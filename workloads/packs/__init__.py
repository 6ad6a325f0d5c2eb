"""The built-in workloads, one file a theme. A workload's name starts with its file's name."""
