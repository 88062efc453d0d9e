package exec

import "errors"

// systemdRun would be a transient service. It is refused until it can pass a
// child's environment without showing it to every local user as a unit
// property, and can stop a service whose starter died.
type systemdRun struct{}

func newSystemd() systemdRun { return systemdRun{} }

func (systemdRun) Name() string { return WallSystemd }

func (systemdRun) Mounts() bool { return false }

func (systemdRun) Wrap(Cmd, View) (Cmd, error) {
	return Cmd{}, errors.New("isolation by systemd-run is not available in this version; install bubblewrap, or run the server as root for isolation by user")
}
