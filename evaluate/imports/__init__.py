"""Result files of other harnesses: their replies, and a run of ours made of them."""
