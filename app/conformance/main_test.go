// Package conformance_test proves that a team gets the same on every forge. One
// table of cases runs against the whole server and each dialect of the fake
// forge: the same steps, the same expectations, real git and real deliveries. A
// case that does not exist on a forge says why in its row.
//
// Every forge has one server for all of its cases, and every case a repository
// of its own. The planner is a stand-in that answers at once, except where a
// case says that terraform itself plans. What a forge sends goes through a relay
// of ours, which decodes it as the server does and can lose, double, keep and
// reorder what one repository sends.
//
// The table of results is printed at the end; `make conformance` shows it.
package conformance_test

import (
	"flag"
	"os"
	"testing"

	"github.com/chant-bot/chant/engine/drivers/exec"
)

func TestMain(m *testing.M) {
	exec.SupervisorMain(os.Args)
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given { // most of a case is waiting for others
		_ = flag.Set("test.parallel", "8") // it is a number
	}
	os.Exit(m.Run())
}
