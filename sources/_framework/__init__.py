"""What a dataset folder must keep: its card, its contract, its layout."""
