package exec

import "testing"

func TestDetect(t *testing.T) {
	for _, w := range []string{"auto", "bwrap", "systemd", "user", "none", "x"} {
		wall, err := DetectWall(w)
		t.Log(w, wall, err)
	}
}
