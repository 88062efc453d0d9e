-- name: InsertDelivery :many
-- No row: the instance has sent this delivery before.
INSERT INTO deliveries (
    instance, guid, event, action, installation, repo_id, repo_owner, repo_name,
    sender_id, sender, sender_bot, received_at, state, outcome, outcome_at
) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)
ON CONFLICT (instance, guid) DO NOTHING
RETURNING id;

-- name: InsertDeliveryContent :exec
-- The body is packed.
INSERT INTO delivery_contents (delivery_id, header, body, packed) VALUES ($1, $2, $3, TRUE);

-- name: PendingDeliveries :many
SELECT d.id, d.instance, d.guid, d.event, d.action, d.installation, d.repo_id, d.repo_owner, d.repo_name,
    d.sender_id, d.sender, d.sender_bot, d.received_at, d.state, d.outcome, d.outcome_at, c.header, c.body, c.packed
FROM deliveries d JOIN delivery_contents c ON c.delivery_id = d.id
WHERE d.state = 'pending'
ORDER BY d.id
LIMIT $1;

-- name: WaitingDeliveries :many
SELECT d.id, d.instance, d.guid, d.event, d.action, d.installation, d.repo_id, d.repo_owner, d.repo_name,
    d.sender_id, d.sender, d.sender_bot, d.received_at, d.state, d.outcome, d.outcome_at, c.header, c.body, c.packed
FROM deliveries d JOIN delivery_contents c ON c.delivery_id = d.id
WHERE d.state = 'waiting' AND d.instance = $1 AND d.repo_id = $2
ORDER BY d.id
LIMIT $3;

-- name: ReposWithWaitingDeliveries :many
SELECT DISTINCT instance, repo_id FROM deliveries WHERE state = 'waiting';

-- name: GetDelivery :one
SELECT d.id, d.instance, d.guid, d.event, d.action, d.installation, d.repo_id, d.repo_owner, d.repo_name,
    d.sender_id, d.sender, d.sender_bot, d.received_at, d.state, d.outcome, d.outcome_at, c.header, c.body, c.packed
FROM deliveries d JOIN delivery_contents c ON c.delivery_id = d.id
WHERE d.id = $1;

-- name: ListDeliveries :many
SELECT * FROM deliveries
WHERE id < sqlc.arg(before) AND (CAST(sqlc.arg(state) AS TEXT) = '' OR state = sqlc.arg(state))
ORDER BY id DESC
LIMIT sqlc.arg(count);

-- name: FinishDelivery :execrows
UPDATE deliveries SET state = $2, outcome = $3, outcome_at = $4
WHERE id = $1 AND state IN ('pending', 'waiting');

-- name: ReplayDelivery :execrows
UPDATE deliveries SET state = 'pending', outcome = '', outcome_at = 0
WHERE id = $1 AND state <> 'pending';

-- name: DeleteOldDeliveries :many
DELETE FROM deliveries WHERE state NOT IN ('pending', 'waiting') AND id IN (
    SELECT d.id FROM deliveries d
    WHERE d.received_at < $1 AND d.state NOT IN ('pending', 'waiting')
    ORDER BY d.received_at
    LIMIT $2
)
RETURNING id;

-- name: DeleteDeliveryContent :exec
DELETE FROM delivery_contents WHERE delivery_id = $1;

-- name: CountPendingDeliveries :one
SELECT count(*) FROM deliveries WHERE state IN ('pending', 'waiting');
