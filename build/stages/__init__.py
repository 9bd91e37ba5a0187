"""Build stages, from the scan of a raw copy to checks between sources."""
