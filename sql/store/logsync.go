package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
)

// logSync takes the write-ahead log to the disk for everyone who committed,
// many commits with one call, and without holding the write connection: the
// next transaction runs while the disk works. SQLite's own synchronous(FULL)
// makes the same call on the same file, once a commit and under its lock.
//
// The log is replayed in order up to the last whole commit, so once it is on
// the disk every commit written to it before is. What a checkpoint has copied
// is safe before the log starts again from its beginning: SQLite syncs both
// files for that at synchronous(NORMAL).
type logSync struct {
	file *os.File // one open file for the life of the database, to be told of every write error
	sync func(*os.File) error

	mu            sync.Mutex
	ended         *sync.Cond
	running       bool
	started, done int64 // syncs
	failed        error
}

// openLogSync opens the log of the database at path, which must be open: the
// log exists from the first access until the last connection is closed.
func openLogSync(path string) (*logSync, error) {
	file, err := os.OpenFile(path+"-wal", os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("opening the log of the database: %w", err)
	}
	// The log's name must be on the disk too.
	dir, err := os.Open(filepath.Dir(path))
	if err == nil {
		err = errors.Join(dir.Sync(), dir.Close())
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("syncing the directory of the database: %w", err), file.Close())
	}
	s := &logSync{file: file, sync: syncData}
	s.ended = sync.NewCond(&s.mu)
	return s, nil
}

// wait returns once everything committed before the call is on the disk. After
// one failure it fails for good: what was not written then may never be, and
// asking again does not tell. Without a log, on PostgreSQL, a commit that returned
// is on the disk.
func (s *logSync) wait() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for mine := s.started + 1; s.done < mine && s.failed == nil; {
		if s.running { // it may have begun before our commit
			s.ended.Wait()
			continue
		}
		s.running = true
		s.started++
		s.mu.Unlock()
		err := s.sync(s.file)
		s.mu.Lock()
		s.running = false
		s.done = s.started
		if err != nil {
			s.failed = fmt.Errorf("the database cannot be written to the disk: %w; restart the server", err)
		}
		s.ended.Broadcast()
	}
	return s.failed
}

func (s *logSync) close() error {
	if s == nil {
		return nil
	}
	return s.file.Close()
}
