"""How fast images are made of raw data, against other programs and against what is possible."""
