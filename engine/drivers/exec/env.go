package exec

// systemPath is where a child looks for programs; the server's own PATH is not
// passed on.
const systemPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// BaseEnv is the environment every child starts from: a fixed PATH, the given
// home and temporary directories, a UTF-8 locale, and the given KEY=VALUE
// pairs. Nothing of the server's own environment is in it. A later pair wins
// over an earlier one of the same key.
func BaseEnv(home, tmp string, extra ...string) []string {
	env := []string{"PATH=" + systemPath, "HOME=" + home, "TMPDIR=" + tmp, "LANG=C.UTF-8", "LC_ALL=C.UTF-8"}
	return append(env, extra...)
}
