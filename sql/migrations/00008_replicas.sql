-- Who shares this database: each process of a PostgreSQL database says again and
-- again that it lives, by the database's clock, and which job locks it holds.
-- SQLite has one process, whose locks are in its memory.

-- +goose Up
CREATE TABLE replicas (
    id TEXT PRIMARY KEY,
    seen_at BIGINT NOT NULL
);

CREATE TABLE job_locks (
    name TEXT PRIMARY KEY,
    replica_id TEXT NOT NULL
);

-- +goose Down
DROP TABLE job_locks;
DROP TABLE replicas;
