"""The problems of the race: data, prices, and the split of each seed."""
