package lease

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Record is what the lease's blob holds, compact JSON in this order (pr-loop
// §9).
type Record struct {
	Op         string `json:"op"`
	Holder     string `json:"holder"` // "<host>:<pid>:<8 hex>"
	Token      string `json:"token"`  // changes only when the lease changes hands
	AcquiredAt string `json:"acquiredAt"`
	ExpiresAt  string `json:"expiresAt"`
	// RenewedAt is ours and absent until the first renewal: with it the length
	// of the lease can be read by the holder's clock alone.
	RenewedAt string `json:"renewedAt,omitempty"`
}

// timeLayout is ISO 8601 in UTC with milliseconds.
const timeLayout = "2006-01-02T15:04:05.000Z"

func stamp(t time.Time) string { return t.UTC().Format(timeLayout) }

func (r Record) encode() ([]byte, error) { return json.Marshal(r) }

var errBadRecord = errors.New("the lease's record can't be read")

func parseRecord(data []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(data, &r); err != nil {
		return Record{}, fmt.Errorf("%w: %w", errBadRecord, err)
	}
	if r.Holder == "" || r.Token == "" {
		return Record{}, fmt.Errorf("%w: it names no holder or no token", errBadRecord)
	}
	return r, nil
}

// ttl is how long the holder took the lease for at its last word, by its own
// clock. A renewal that does not say when it was made stretches the span, so
// that MaxTTL bounds it.
func (r Record) ttl() time.Duration {
	from := r.RenewedAt
	if from == "" {
		from = r.AcquiredAt
	}
	start, startErr := time.Parse(time.RFC3339, from)
	end, endErr := time.Parse(time.RFC3339, r.ExpiresAt)
	if startErr != nil || endErr != nil || !end.After(start) {
		return MaxTTL
	}
	return min(end.Sub(start), MaxTTL)
}

// keyPattern is one part of a key; "_members" starts with an underscore.
var keyPattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`)

// checkKey refuses what could not be a ref name or would hide in another one.
func checkKey(key string) error {
	for part := range strings.SplitSeq(key, "/") {
		if !keyPattern.MatchString(part) || strings.Contains(part, "..") ||
			strings.HasSuffix(part, ".lock") || strings.HasSuffix(part, ".") {
			return fmt.Errorf("lease key %q: %q is no valid part of a key", key, part)
		}
	}
	return nil
}
