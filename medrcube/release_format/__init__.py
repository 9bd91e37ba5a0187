"""The format of a release on disk, as build, review and evaluate read it."""
