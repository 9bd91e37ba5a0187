"""Profiles: target margins over the cube, planning towards them, distance to them."""
