-- A delivery whose repository could not be looked at waits for it, out of the
-- way of the others. Few do at a time.

-- +goose Up
CREATE INDEX deliveries_waiting ON deliveries (instance, repo_id, id) WHERE state = 'waiting';

-- +goose Down
DROP INDEX deliveries_waiting;
