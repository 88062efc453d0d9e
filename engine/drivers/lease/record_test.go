package lease

import (
	"strings"
	"testing"
	"time"
)

func TestKeys(t *testing.T) {
	t.Parallel()
	for k, good := range map[string]bool{
		"ci-apply/prod": true, "_members/a/ci-apply/a/prod": true, "work/T-1.2": true,
		"": false, "/": false, "a//b": false, "../x": false, "a..b": false, "x.lock": false, "a b": false,
		"-x": false, ".x": false, "x.": false, "a/*": false, "x:y": false, strings.Repeat("a", 101): false,
	} {
		if err := checkKey(k); (err == nil) != good {
			t.Errorf("%q: %v", k, err)
		}
	}
}

func TestRecordTTL(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		r    Record
		want time.Duration
	}{
		{"as taken", Record{AcquiredAt: "2026-11-30T10:00:00.000Z", ExpiresAt: "2026-11-30T10:05:00.000Z"}, 5 * time.Minute},
		{"as renewed", Record{AcquiredAt: "2026-11-30T09:00:00.000Z", RenewedAt: "2026-11-30T10:00:00.000Z", ExpiresAt: "2026-11-30T10:03:00.000Z"}, 3 * time.Minute},
		{"renewed by one that does not say when", Record{AcquiredAt: "2026-11-30T09:00:00.000Z", ExpiresAt: "2026-11-30T10:03:00.000Z"}, MaxTTL},
		{"backwards", Record{AcquiredAt: "2026-11-30T10:00:00.000Z", ExpiresAt: "2026-11-30T09:00:00.000Z"}, MaxTTL},
		{"no times", Record{}, MaxTTL},
	}
	for _, tt := range tests {
		if got := tt.r.ttl(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
