-- name: CarryMerge :exec
INSERT INTO run_merges (repo_key, env, member, commit_sha, run_id)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (repo_key, env, member, commit_sha) DO UPDATE SET run_id = excluded.run_id;

-- name: RunCarrying :one
SELECT r.*
FROM run_merges m JOIN runs r ON r.id = m.run_id
WHERE m.repo_key = $1 AND m.env = $2 AND m.member = $3 AND m.commit_sha = $4;

-- name: RunsInStatus :many
SELECT * FROM runs
WHERE status = $1
ORDER BY id;
