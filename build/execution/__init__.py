"""Where the jobs of a build run: on this machine, on a cluster, with which imports."""
