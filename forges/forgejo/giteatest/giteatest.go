// Package giteatest runs a real Gitea on loopback for tests of the slow lane, and
// speaks to its API as its people do.
package giteatest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Admin is the account that administers the server.
const Admin = "boss"

// password is everybody's.
const password = "secret-secret"

// Server is a real Gitea. It ends with the test.
type Server struct {
	URL string // without a slash at its end

	tokens map[string]string // by login
}

// Object is one JSON object.
type Object = map[string]any

// Start runs a Gitea that has Admin and some more users. It may post webhooks to
// loopback.
func Start(t testing.TB, users ...string) *Server {
	t.Helper()
	binary, static, dir := find(t)
	port := freePort(t)
	s := &Server{URL: "http://127.0.0.1:" + port, tokens: map[string]string{}}
	config := filepath.Join(dir, "app.ini")
	if err := os.WriteFile(config, fmt.Appendf(nil, appINI, dir, static, port), 0o600); err != nil {
		t.Fatal(err)
	}
	command := func(args ...string) *exec.Cmd {
		// What ends before it may still ask it, when the test's context is over.
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), binary, append([]string{"--config", config}, args...)...)
		cmd.Env = append(cmd.Environ(), "HOME="+dir)
		return cmd
	}
	Output(t, command("migrate"))
	Output(t, command("admin", "user", "create", "--admin", "--username", Admin, "--password", password, "--email", Admin+"@example.com", "--must-change-password=false"))
	web := command("web")
	if err := web.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = web.Process.Kill(); _ = web.Wait() })
	Eventually(t, "the server to answer", func() bool {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/api/v1/version", nil)
		if err != nil {
			return false
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return false
		}
		return resp.Body.Close() == nil && resp.StatusCode == http.StatusOK
	})
	s.tokens[Admin] = s.Token(t, Admin, "all")
	for _, user := range users {
		s.AddUser(t, user)
	}
	return s
}

const appINI = `I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
WORK_PATH = %[1]s
[server]
STATIC_ROOT_PATH = %[2]s
HTTP_ADDR = 127.0.0.1
HTTP_PORT = %[3]s
ROOT_URL = http://127.0.0.1:%[3]s/
OFFLINE_MODE = true
DISABLE_SSH = true
[database]
DB_TYPE = sqlite3
SQLITE_JOURNAL_MODE = WAL
SQLITE_TIMEOUT = 20000
[security]
INSTALL_LOCK = true
[webhook]
ALLOWED_HOST_LIST = loopback
[log]
LEVEL = Error
`

// find finds what make builds from .tools/gitea, once, in some minutes, the files
// its pages are made of, and a directory for what it keeps.
func find(t testing.TB) (binary, static, dir string) {
	t.Helper()
	root := filepath.Dir(strings.TrimSpace(Output(t, exec.CommandContext(t.Context(), "go", "env", "GOMOD"))))
	binary = filepath.Join(root, ".cache", "bin", "gitea")
	if _, err := os.Stat(binary); err != nil {
		t.Fatalf("no Gitea to test with; build it with: make .cache/bin/gitea (%v)", err)
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-C", filepath.Join(root, ".tools", "gitea"), "-m", "-f", "{{.Dir}}", "code.gitea.io/gitea")
	return binary, strings.TrimSpace(Output(t, list)), t.TempDir()
}

func freePort(t testing.TB) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err == nil {
		err = listener.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// Output runs a command and returns what it prints.
func Output(t testing.TB, cmd *exec.Cmd) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %v\n%s%s", cmd.Args, err, out, stderr.Bytes())
	}
	return string(out)
}

// patience is how long anything may take on a machine that is busy.
const patience = 2 * time.Minute

// Eventually waits for what a server does in the background.
func Eventually(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if done() {
			return
		}
	}
	t.Fatalf("waited %s for %s", patience, what)
}

// AddUser makes a user, and a token for it that may do anything the user may.
func (s *Server) AddUser(t testing.TB, login string) {
	t.Helper()
	s.Do(t, Admin, "POST", "admin/users", Object{"username": login, "password": password, "email": login + "@example.com", "must_change_password": false}, nil)
	s.tokens[login] = s.Token(t, login, "all")
}

// Token makes a token of a user with some scopes.
func (s *Server) Token(t testing.TB, login string, scopes ...string) string {
	t.Helper()
	var made struct{ SHA1 string }
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte(login+":"+password))
	if err := s.send(t, basic, "POST", "users/"+login+"/tokens", Object{"name": strings.Join(scopes, " "), "scopes": scopes}, &made); err != nil {
		t.Fatal(err)
	}
	return made.SHA1
}

// Remote is the address a user clones from and pushes to.
func (s *Server) Remote(login, path string) string {
	return strings.Replace(s.URL, "://", "://"+url.UserPassword(login, s.tokens[login]).String()+"@", 1) + "/" + path + ".git"
}

// Do sends one request to the API as a user, and decodes the answer into `into`
// unless that is nil.
func (s *Server) Do(t testing.TB, login, method, path string, body, into any) {
	t.Helper()
	if err := s.Try(t, login, method, path, body, into); err != nil {
		t.Fatal(err)
	}
}

// Try is Do where the server may refuse.
func (s *Server) Try(t testing.TB, login, method, path string, body, into any) error {
	t.Helper()
	return s.send(t, "token "+s.tokens[login], method, path, body, into)
}

func (s *Server) send(t testing.TB, authorization, method, path string, body, into any) error {
	t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+"/api/v1/"+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", authorization)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %d %s", method, path, resp.StatusCode, answer)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(answer, into)
}
