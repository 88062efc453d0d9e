-- Bodies are compressed from now on: they are JSON full of addresses, and what is
-- not written need not reach the disk before the forge gets its answer.

-- +goose Up
ALTER TABLE delivery_contents ADD COLUMN packed BOOLEAN NOT NULL DEFAULT FALSE;

-- +goose Down
ALTER TABLE delivery_contents DROP COLUMN packed;
