"""One file per published method, in a folder per family."""
