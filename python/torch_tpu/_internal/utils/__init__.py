"""Small helpers under the official package's names."""
