package main

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	osexec "os/exec"
	"strconv"
	"strings"
	"time"
)

// helper runs what this program starts itself as: a floor, a measured run, or
// a stand-in for a planner. done is false for anything else.
func helper(args []string) (done bool, err error) {
	if planner, ok := actingPlanner(args); ok {
		return true, planner.run(args[1:])
	}
	if len(args) < 2 {
		return false, nil
	}
	switch args[1] {
	case "floor-signature":
		return true, serveFloor(func(string, []byte) error { return nil })
	case "floor-rows":
		keep, err := rowPerRequest(args[2])
		if err != nil {
			return true, err
		}
		return true, serveFloor(keep)
	case "digest-once":
		return true, digestOnce(args[2:])
	}
	return false, nil
}

// floorServer is a floor as a process of its own.
type floorServer struct {
	url string
	cmd *osexec.Cmd
}

// floor starts one; it says where it listens.
func (b *bench) floor(name string, args ...string) (*floorServer, error) {
	f := &floorServer{cmd: osexec.Command(b.self, append([]string{"floor-" + name}, args...)...)} //nolint:noctx // stopped below
	f.cmd.Stderr = os.Stderr
	out, err := f.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := f.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	f.url = strings.TrimSpace(line)
	if err != nil {
		f.stop()
		return nil, fmt.Errorf("starting the floor %s: %w", name, err)
	}
	return f, nil
}

func (f *floorServer) pid() string { return strconv.Itoa(f.cmd.Process.Pid) }

func (f *floorServer) stop() {
	_ = f.cmd.Process.Kill()
	_ = f.cmd.Wait()
}

// serveFloor checks signatures and hands the bodies to keep.
func serveFloor(keep func(guid string, body []byte) error) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // until it is killed
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(os.Stdout, "http://%s/\n", listener.Addr()); err != nil {
		return err
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write(body)
		given, _ := hex.DecodeString(strings.TrimPrefix(r.Header.Get("X-Hub-Signature-256"), "sha256="))
		switch {
		case err != nil || !hmac.Equal(mac.Sum(nil), given):
			w.WriteHeader(http.StatusUnauthorized)
		case keep(r.Header.Get("X-Github-Delivery"), body) != nil:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	})}
	return server.Serve(listener)
}

// rowPerRequest commits each body by itself, durably, as the simplest server
// on SQLite does: one table, one connection for writes, WAL, synchronous(FULL).
// It queues no job, so it does less than ours.
func rowPerRequest(path string) (func(guid string, body []byte) error, error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=busy_timeout(10000)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	_, err = db.Exec("CREATE TABLE bodies (id INTEGER PRIMARY KEY, guid TEXT NOT NULL UNIQUE, body BLOB NOT NULL)") //nolint:noctx // once
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	insert, err := db.Prepare("INSERT INTO bodies (guid, body) VALUES (?, ?)") //nolint:noctx,sqlclosecheck // once, and used until the bench ends
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return func(guid string, body []byte) error {
		_, err := insert.Exec(guid, body) //nolint:noctx // answered in any case
		return err
	}, nil
}
