"""How methods scale: time and memory of a fit against rows, columns, depth and units, and speed of predictions.

sizes        sizes of drawn problems, and the axes along which they grow
methods      how each method and contender is fitted at a size
memory       how much the peak memory of a process grows
training     one run per method and size: CPU time and memory of a fit
inference    one run per method: batches, single rows and sessions
growth       exponents, their table and their picture
"""
