-- name: NewestAttempt :one
SELECT * FROM plans
WHERE repo_key = $1 AND env = $2 AND member = $3 AND number = $4 AND head = $5 AND base_branch = $6 AND base_tip = $7
ORDER BY attempt DESC
LIMIT 1;

-- name: InsertPlan :many
-- No row: another transaction made this attempt.
INSERT INTO plans (
    repo_key, env, member, number, head, base_branch, base_tip, attempt, tree,
    status, digest, error, created_at, finished_at, document, report, sources
) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, '', 'queued', '', '', $9, 0, $10, $10, $10)
ON CONFLICT (repo_key, env, member, number, head, base_branch, base_tip, attempt) DO NOTHING
RETURNING id;

-- name: StartPlan :execrows
UPDATE plans SET status = 'running', tree = $2
WHERE id = $1 AND status IN ('queued', 'running');

-- name: FinishPlan :execrows
UPDATE plans SET status = $2, digest = $3, error = $4, finished_at = $5, document = $6, report = $7, sources = $8
WHERE id = $1 AND status IN ('queued', 'running');

-- name: GetPlan :one
SELECT * FROM plans WHERE id = $1;

-- name: NewestPlansOfHead :many
-- The newest finished plan of every env and member, oldest first.
SELECT CAST(max(id) AS BIGINT) AS id FROM plans
WHERE repo_key = $1 AND number = $2 AND head = $3 AND base_branch = $4 AND status = 'done'
GROUP BY env, member
ORDER BY 1;

-- name: NewestPlanOfHead :one
-- Whatever its base branch.
SELECT * FROM plans
WHERE repo_key = $1 AND env = $2 AND member = $3 AND number = $4 AND head = $5 AND status = 'done'
ORDER BY id DESC
LIMIT 1;

-- name: EarlierPlans :many
-- The newest plan of each other digest.
SELECT CAST(max(id) AS BIGINT) AS id FROM plans
WHERE repo_key = $1 AND env = $2 AND member = $3 AND number = $4 AND digest <> '' AND digest <> $5
GROUP BY digest
ORDER BY 1 DESC
LIMIT $6;

-- name: ListPlans :many
SELECT id, repo_key, env, member, number, head, base_branch, base_tip, attempt, tree,
    status, digest, error, created_at, finished_at
FROM plans
WHERE id < sqlc.arg(before)
ORDER BY id DESC
LIMIT sqlc.arg(count);
