-- What is old goes a batch at a time, so that no transaction is long. What an open
-- pull request, or one that was raised and not settled since, still looks at
-- stays; so does the newest run of every target, where gates wait, and one that
-- is not over.

-- name: DeleteOldPlans :execrows
DELETE FROM plans WHERE id IN (
    SELECT p.id FROM plans p
    WHERE p.created_at < $1 AND NOT EXISTS (
        SELECT 1 FROM subjects s
        WHERE s.repo_key = p.repo_key AND s.kind = 'pull' AND s.name = CAST(p.number AS TEXT)
            AND (s.open OR s.generation > s.settled_generation)
    )
    ORDER BY p.created_at
    LIMIT $2
);

-- name: OldRuns :many
SELECT r.id FROM runs r
WHERE r.updated_at < sqlc.arg(before) AND r.status = sqlc.arg(ended) AND EXISTS (
    SELECT 1 FROM runs n
    WHERE n.repo_key = r.repo_key AND n.env = r.env AND n.member = r.member AND n.id > r.id
)
ORDER BY r.updated_at
LIMIT sqlc.arg(count);

-- name: DeleteRun :exec
DELETE FROM runs WHERE id = $1;

-- name: DeleteRunEvents :exec
DELETE FROM run_events WHERE run_id = $1;

-- name: DeleteRunMerges :exec
DELETE FROM run_merges WHERE run_id = $1;

-- name: DeleteOldAudit :execrows
DELETE FROM audit WHERE id IN (SELECT a.id FROM audit a WHERE a.at < $1 ORDER BY a.at LIMIT $2);
