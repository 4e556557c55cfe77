"""All Numba lives here; arrays in, arrays out."""
