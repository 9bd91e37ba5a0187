"""Wrong options that a language model proposes: which are needed, and which are safe."""
