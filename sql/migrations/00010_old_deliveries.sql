-- What is forgotten is found by when it was received.

-- +goose Up
CREATE INDEX deliveries_received ON deliveries (received_at);

-- +goose Down
DROP INDEX deliveries_received;
