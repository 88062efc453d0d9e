-- name: GetPost :one
SELECT * FROM posts WHERE repo_key = $1 AND target = $2;

-- name: UpsertPost :exec
INSERT INTO posts (repo_key, target, hash, remote_id, posted_at)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (repo_key, target) DO UPDATE SET
    hash = excluded.hash, remote_id = excluded.remote_id, posted_at = excluded.posted_at;

-- name: ClaimPost :execrows
INSERT INTO posts (repo_key, target, hash, remote_id, posted_at)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (repo_key, target) DO NOTHING;

-- name: InsertComment :execrows
INSERT INTO comments (repo_key, kind, comment_id, outcome, detail, received_at, outcome_at)
VALUES ($1, $2, $3, 'received', '', $4, 0)
ON CONFLICT (repo_key, kind, comment_id) DO NOTHING;

-- name: GetComment :one
SELECT * FROM comments WHERE repo_key = $1 AND kind = $2 AND comment_id = $3;

-- name: FinishComment :execrows
UPDATE comments SET outcome = $4, detail = $5, outcome_at = $6
WHERE repo_key = $1 AND kind = $2 AND comment_id = $3 AND outcome = 'received';

-- name: InsertAudit :exec
INSERT INTO audit (at, repo_key, actor, delivery, action, digest, rule, result, detail)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: ListAudit :many
SELECT * FROM audit
WHERE id < sqlc.arg(before) AND (CAST(sqlc.arg(repo_key) AS TEXT) = '' OR repo_key = sqlc.arg(repo_key))
ORDER BY id DESC
LIMIT sqlc.arg(count);

-- name: GetSetting :one
SELECT value FROM settings WHERE name = $1;

-- name: PutSetting :exec
INSERT INTO settings (name, value, updated_at) VALUES ($1, $2, $3)
ON CONFLICT (name) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at;
