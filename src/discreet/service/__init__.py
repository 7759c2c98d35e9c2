"""Private experiments that a team can run: a database, an HTTP API and a dashboard around the same epochs.

    messages, problems          what travels over HTTP: requests, answers, errors
    experiments, course         what is run: a checked description, and the algorithm behind it as JSON
    dealing, tokens, units      who gets what: the order of arms, signed assignments, names that are not kept
    schema, migrations, store   where it is kept: SQLite or PostgreSQL
    traffic, writer             the hot path: assign and report, many requests in one transaction
    closing, journal            an epoch's end: one transaction, one draw, one release
    restoring                   after a restore from a backup
    budget, keys                what populations may lose, and who may do what
    views, planning             what anybody with a key may see, and how long it will take
    api, openapi, dashboard     faces
    server                      one process of it

`discreet serve` starts it. Arrows point down to the core; `lab` and `service` never import each other.
"""
