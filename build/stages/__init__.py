"""The stages of a build, from the scan of a raw copy to the checks between sources."""
