-- name: InsertPlan :many
-- No row: another transaction made this attempt. status, error and finished_at are
-- what a server of an earlier version, beside this one, goes by.
INSERT INTO plans (
    repo_key, env, member, number, head, base_branch, base_tip, attempt, tree,
    status, digest, error, created_at, finished_at, document, report, sources
) VALUES (
    $1, $2, $3, $4, $5, $6, $7, (
        SELECT coalesce(max(p.attempt), 0) + 1 FROM plans p
        WHERE p.repo_key = $1 AND p.env = $2 AND p.member = $3 AND p.number = $4 AND p.head = $5
            AND p.base_branch = $6 AND p.base_tip = $7
    ), $8, 'done', $9, '', $10, $10, $11, $12, $13
)
ON CONFLICT (repo_key, env, member, number, head, base_branch, base_tip, attempt) DO NOTHING
RETURNING id;

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
