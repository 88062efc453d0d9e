package queue

import (
	"context"
	"fmt"
	"strings"
)

// takeLock takes a lock that nobody has, or that this process gave up and could
// not say so, while this process counts as living.
const takeLock = `INSERT INTO job_locks (name, replica_id)
	SELECT $2, $3 FROM replicas r WHERE r.id = $3 AND ` + living + `
	ON CONFLICT (name) DO UPDATE SET replica_id = excluded.replica_id WHERE job_locks.replica_id = excluded.replica_id`

const isAlive = `SELECT EXISTS (SELECT 1 FROM replicas r WHERE r.id = $2 AND ` + living + `)`

const giveLock = `DELETE FROM job_locks WHERE name = $1 AND replica_id = $2`

// TryLock takes a key unless a job holds it, here or in another replica: then ok is
// false and err nil. It keeps two jobs of one key apart. The second does not wait in
// its place, which others need (soundness I11): it is put off.
func (r *Replica) TryLock(ctx context.Context, key ...string) (unlock func(), ok bool, err error) {
	name := strings.Join(key, " ")
	if !r.take(name) {
		return nil, false, nil
	}
	if r.db.Postgres == nil {
		return func() { r.give(name) }, true, nil
	}
	done, err := r.db.Write.ExecContext(ctx, takeLock, deadAfter.Milliseconds(), name, r.id)
	var rows int64
	if err == nil {
		rows, err = done.RowsAffected()
	}
	if err != nil {
		r.owe(name) // it may have been taken
		return nil, false, fmt.Errorf("taking the lock %q: %w", name, err)
	}
	if rows == 0 {
		r.give(name)
		return nil, false, r.alive(ctx)
	}
	return func() { r.unlock(context.WithoutCancel(ctx), name) }, true, nil
}

// alive is ErrSilent when others take this process for dead.
func (r *Replica) alive(ctx context.Context) error {
	var alive bool
	if err := r.db.Write.QueryRowContext(ctx, isAlive, deadAfter.Milliseconds(), r.id).Scan(&alive); err != nil {
		return fmt.Errorf("asking whether this process counts as living: %w", err)
	}
	if !alive {
		return ErrSilent
	}
	return nil
}

// unlock gives a lock back. Nobody who holds one waits for more than a moment.
func (r *Replica) unlock(ctx context.Context, name string) {
	ctx, cancel := context.WithTimeout(ctx, beatTime)
	defer cancel()
	if _, err := r.db.Write.ExecContext(ctx, giveLock, name, r.id); err != nil {
		r.log.Warn("giving a lock back", "lock", name, "error", err)
		r.owe(name)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.held, name)
	delete(r.owed, name)
}

// pay gives back what could not be when it was due.
func (r *Replica) pay(ctx context.Context) {
	r.mu.Lock()
	var names []string
	for name := range r.owed {
		if !r.held[name] {
			r.held[name] = true // so that nobody here takes it meanwhile
			names = append(names, name)
		}
	}
	r.mu.Unlock()
	for _, name := range names {
		_, err := r.db.Write.ExecContext(ctx, giveLock, name, r.id)
		r.mu.Lock()
		delete(r.held, name)
		if err == nil {
			delete(r.owed, name)
		}
		r.mu.Unlock()
	}
}

// take takes a name in this process.
func (r *Replica) take(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held[name] {
		return false
	}
	r.held[name] = true
	return true
}

func (r *Replica) give(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.held, name)
}

func (r *Replica) owe(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.held, name)
	r.owed[name] = true
}
