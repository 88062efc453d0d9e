-- What lists show of a run, in the words of whoever runs it: so that a list needs no
-- state. '' for a run of an earlier version.

-- +goose Up
ALTER TABLE runs ADD COLUMN summary TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE runs DROP COLUMN summary;
