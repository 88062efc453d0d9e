-- Which apply carries a merge, looked up by the merge's commit.

-- +goose Up
CREATE TABLE run_merges (
    repo_key TEXT NOT NULL,
    env TEXT NOT NULL,
    member TEXT NOT NULL,
    commit_sha TEXT NOT NULL,
    run_id BIGINT NOT NULL,
    PRIMARY KEY (repo_key, env, member, commit_sha)
);

-- +goose Down
DROP TABLE run_merges;
