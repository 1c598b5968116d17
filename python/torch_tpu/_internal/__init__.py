"""Names inside the official package that other projects import."""
