"""The service's own health: its journal, restores from backups, readiness, and checks of what is kept."""
