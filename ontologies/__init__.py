"""Concepts, their relations, and when a distractor is safe."""
