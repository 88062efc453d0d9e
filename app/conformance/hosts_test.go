package conformance_test

import (
	"strings"
	"testing"
)

// Two servers of one kind give out the same numbers for repositories, pull
// requests and comments. What is known of one says nothing of the other.
func TestTwoHostsOfOneKindAreKeptApart(t *testing.T) {
	t.Parallel()
	for _, d := range dialects() {
		t.Run(string(d.kind), func(t *testing.T) {
			t.Parallel()
			const name = "acme/infra"
			first, second := newHost(t, d), newHost(t, d)
			second.secret = "another secret of the second"
			s := newServer(t, first, setup{repositories: []string{name}, others: []*host{second}})
			one, two := newWorld(t, first, s, name, policy{}), newWorld(t, second, s, name, policy{})
			if one.repo.ID != two.repo.ID {
				t.Fatalf("the repositories are %d and %d, and were to have one number", one.repo.ID, two.repo.ID)
			}
			here, there := one.propose("second"), two.propose("second")
			one.planned(here)
			two.planned(there)
			one.approved(here)
			two.handled(there)
			if note := two.note(there); strings.Contains(note, "Approved by") || two.approvals(opOf(there)) != 0 {
				t.Errorf("an approval on one host counts on the other:\n%s", note)
			}

			p := one.sample()
			two.refused(two.relay.target, p, 401, "not authenticated")
			if status, _ := deliver(t.Context(), one.relay.target, p); status != 202 {
				t.Errorf("the endpoint of its own host answered %d", status)
			}

			one.green(one.merges(here, "merge"))
			one.applied(here, "second")
			two.holds("first")
			two.merges(there, "merge")
			one.relay.understood(t)
			two.relay.understood(t)
		})
	}
}
