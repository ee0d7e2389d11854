"""Settings: one typed registry, loading for hooks, and a writer that keeps the rest of a file as it is."""
