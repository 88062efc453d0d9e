package store

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chant-bot/chant/engine"
)

// maxPage bounds what one list call reads.
const maxPage = 1000

// millis is how a time is stored: Unix milliseconds, 0 for the zero time.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

func clampLimit(n int) int32 { return int32(max(1, min(n, maxPage))) }

// notFound tells a missing row from a fault.
func notFound(err error, what string, args ...any) error {
	if errors.Is(err, sql.ErrNoRows) {
		err = ErrNotFound
	}
	return fmt.Errorf(what+": %w", append(args, err)...)
}

// parseInstance reads what engine.Instance.String wrote.
func parseInstance(s string) engine.Instance {
	kind, host, _ := strings.Cut(s, ":")
	return engine.Instance{Kind: engine.ForgeKind(kind), Host: host}
}

// blob makes an absent value an empty one: no column holds null.
func blob(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

func ignoreNotFound(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
