"""Trees of linear nodes: the shared fitted structure, and the methods that learn one."""
