-- Repositories by their forge's id, and what settle works on in them.

-- +goose Up
CREATE TABLE repos (
    key TEXT PRIMARY KEY,
    instance TEXT NOT NULL,
    forge_id BIGINT NOT NULL,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    installation BIGINT NOT NULL,
    default_branch TEXT NOT NULL,
    clone_url TEXT NOT NULL,
    html_url TEXT NOT NULL,
    updated_at BIGINT NOT NULL
);

-- A subject is a pull request or a branch. generation rises with every fact
-- about it; settled_generation is the newest one a settle has seen whole.
CREATE TABLE subjects (
    repo_key TEXT NOT NULL,
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    generation BIGINT NOT NULL,
    settled_generation BIGINT NOT NULL,
    open BOOLEAN NOT NULL,
    updated_at BIGINT NOT NULL,
    PRIMARY KEY (repo_key, kind, name)
);

-- +goose Down
DROP TABLE subjects;
DROP TABLE repos;
