-- How often a run was saved: whoever saves it says after which save, so that a server
-- that stood still does not write over what another carried on.

-- +goose Up
ALTER TABLE runs ADD COLUMN saves BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE runs DROP COLUMN saves;
