"""Private experiments for a team: a database, an HTTP API and a dashboard around the epochs of an algorithm.

    http/          the API: operations, keys of requests; the application and its server
    dashboard/     pages for people
    experiments/   the rules: descriptions, assignments, closing, budgets, keys, views, restoring from backups
    storage/       the database: all SQL, for SQLite and PostgreSQL; transactions shared by many requests
    messages, errors    what the API takes, answers and refuses

Each of these imports only from those below it.

`discreet serve` starts it. The algorithm of an experiment is rebuilt from its options and its releases; what is stored
of an open epoch are exact sums, which are deleted when it closes. `lab` and `service` never import each other.
"""
