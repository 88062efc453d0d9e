-- What is old is found without reading everything, and so are the plans of one
-- pull request.

-- +goose Up
CREATE INDEX plans_pull ON plans (repo_key, number, head);
CREATE INDEX plans_created ON plans (created_at);
CREATE INDEX runs_updated ON runs (updated_at);
CREATE INDEX run_merges_run ON run_merges (run_id);
CREATE INDEX audit_at ON audit (at);

-- +goose Down
DROP INDEX audit_at;
DROP INDEX run_merges_run;
DROP INDEX runs_updated;
DROP INDEX plans_created;
DROP INDEX plans_pull;
