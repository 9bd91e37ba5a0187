"""The commands of ``medrcube sources``, one module each."""
