-- name: UpsertRepo :exec
-- Names follow the forge; what a caller does not know (installation 0, empty
-- text) keeps its stored value.
INSERT INTO repos (key, instance, forge_id, owner, name, installation, default_branch, clone_url, html_url, updated_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
ON CONFLICT (key) DO UPDATE SET
    owner = excluded.owner,
    name = excluded.name,
    installation = CASE WHEN excluded.installation = 0 THEN repos.installation ELSE excluded.installation END,
    default_branch = CASE WHEN excluded.default_branch = '' THEN repos.default_branch ELSE excluded.default_branch END,
    clone_url = CASE WHEN excluded.clone_url = '' THEN repos.clone_url ELSE excluded.clone_url END,
    html_url = CASE WHEN excluded.html_url = '' THEN repos.html_url ELSE excluded.html_url END,
    updated_at = excluded.updated_at;

-- name: GetRepo :one
SELECT * FROM repos WHERE key = $1;

-- name: ListRepos :many
SELECT * FROM repos ORDER BY owner, name, key;

-- name: RaiseSubject :one
INSERT INTO subjects (repo_key, kind, name, generation, settled_generation, open, updated_at)
VALUES ($1, $2, $3, 1, 0, TRUE, $4)
ON CONFLICT (repo_key, kind, name) DO UPDATE SET
    generation = subjects.generation + 1,
    updated_at = excluded.updated_at
RETURNING generation, settled_generation;

-- name: GetSubject :one
SELECT * FROM subjects WHERE repo_key = $1 AND kind = $2 AND name = $3;

-- name: EndSettle :one
UPDATE subjects SET settled_generation =
    CASE WHEN settled_generation < CAST(sqlc.arg(seen) AS BIGINT) THEN CAST(sqlc.arg(seen) AS BIGINT) ELSE settled_generation END
WHERE repo_key = $1 AND kind = $2 AND name = $3
RETURNING generation;

-- name: SetSubjectOpen :exec
UPDATE subjects SET open = $4 WHERE repo_key = $1 AND kind = $2 AND name = $3;

-- name: ListSubjectsToSettle :many
-- Open subjects, and closed ones whose last facts no settle has seen.
SELECT * FROM subjects
WHERE open OR generation > settled_generation
ORDER BY repo_key, kind, name;
