"""The database: all SQL, for SQLite and PostgreSQL."""
