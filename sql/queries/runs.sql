-- name: InsertRun :one
INSERT INTO runs (repo_key, env, member, commit_sha, status, created_at, updated_at, state, summary)
VALUES ($1, $2, $3, $4, $5, $6, $6, $7, $8)
RETURNING id;

-- name: SaveRun :execrows
UPDATE runs SET status = $2, state = $3, updated_at = $4, summary = $6, saves = saves + 1 WHERE id = $1 AND saves = $5;

-- name: GetRun :one
SELECT * FROM runs WHERE id = $1;

-- name: NewestRun :one
SELECT * FROM runs
WHERE repo_key = $1 AND env = $2 AND member = $3
ORDER BY id DESC
LIMIT 1;

-- name: ListRuns :many
SELECT r.id, r.repo_key, r.env, r.member, r.commit_sha, r.status, r.created_at, r.updated_at, r.summary, p.owner, p.name
FROM runs r LEFT JOIN repos p ON p.key = r.repo_key
WHERE r.id < sqlc.arg(before)
ORDER BY r.id DESC
LIMIT sqlc.arg(count);

-- name: NewestRuns :many
SELECT r.id, r.repo_key, r.env, r.member, r.commit_sha, r.status, r.created_at, r.updated_at, r.summary, p.owner, p.name
FROM runs r LEFT JOIN repos p ON p.key = r.repo_key
WHERE r.id IN (SELECT max(n.id) FROM runs n GROUP BY n.repo_key, n.env, n.member)
ORDER BY r.id DESC
LIMIT sqlc.arg(count);

-- name: AppendRunEvent :one
INSERT INTO run_events (run_id, seq, at, event)
VALUES ($1, (SELECT coalesce(max(e.seq), 0) + 1 FROM run_events e WHERE e.run_id = $1), $2, $3)
RETURNING seq;

-- name: RunEvents :many
SELECT * FROM run_events WHERE run_id = $1 AND seq > $2 ORDER BY seq LIMIT $3;

-- name: NewestRunCommits :many
SELECT DISTINCT commit_sha FROM runs
WHERE id IN (SELECT max(r.id) FROM runs r WHERE r.repo_key = $1 GROUP BY r.env, r.member)
ORDER BY commit_sha;

-- name: RunStatus :one
SELECT r.status, CAST((SELECT coalesce(max(e.seq), 0) FROM run_events e WHERE e.run_id = r.id) AS BIGINT) AS last_event
FROM runs r WHERE r.id = $1;
