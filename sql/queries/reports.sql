-- A report tells all so far, so one that tells less than the stored one was on its
-- way for longer, and changes nothing.

-- name: PutReport :execrows
INSERT INTO reports (repo, run_id, progress, received_at, updated_at, body)
VALUES ($1, $2, $3, $4, $4, $5)
ON CONFLICT (repo, run_id) DO UPDATE SET
    progress = excluded.progress, updated_at = excluded.updated_at, body = excluded.body
WHERE reports.progress < excluded.progress;

-- name: GetReport :one
SELECT * FROM reports WHERE id = $1;

-- name: ListReports :many
SELECT * FROM reports ORDER BY id DESC LIMIT $1;

-- name: DeleteOldReports :execrows
DELETE FROM reports WHERE id IN (SELECT r.id FROM reports r WHERE r.updated_at < $1 ORDER BY r.updated_at LIMIT $2);
