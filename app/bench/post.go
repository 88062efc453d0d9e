package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// postOffice stands between the forge and the server: it passes deliveries on,
// or keeps those somebody wants to hand over at a time of their own.
type postOffice struct {
	server *http.Server
	to     string

	mu   sync.Mutex
	keep func(letter) bool // nil passes everything on
	kept []letter
}

// letter is one signed delivery.
type letter struct {
	header http.Header
	body   []byte
}

func (l letter) event() string { return l.header.Get("X-Github-Event") }

// again is the same letter as another delivery.
func (l letter) again(guid string) letter {
	l.header = l.header.Clone()
	l.header.Set("X-Github-Delivery", guid)
	return l
}

// with is the letter with another body, signed.
func (l letter) with(body []byte) letter {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	l.header, l.body = l.header.Clone(), body
	l.header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	return l
}

// open listens and returns the address the forge is given.
func (p *postOffice) open(to string) (string, error) {
	p.to = to
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // as long as the world
	if err != nil {
		return "", err
	}
	p.server = &http.Server{Handler: http.HandlerFunc(p.take), ReadHeaderTimeout: time.Minute}
	go func() { _ = p.server.Serve(listener) }()
	return "http://" + listener.Addr().String(), nil
}

func (p *postOffice) close() {
	if p.server != nil {
		_ = p.server.Close()
	}
}

func (p *postOffice) take(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	l := letter{header: r.Header.Clone(), body: body}
	p.mu.Lock()
	keep := p.keep != nil && p.keep(l)
	if keep {
		p.kept = append(p.kept, l)
	}
	p.mu.Unlock()
	if keep {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if _, err := p.hand(r.Context(), l); err != nil {
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	w.WriteHeader(http.StatusAccepted)
}

// hold keeps what matches from now on; nil keeps nothing.
func (p *postOffice) hold(keep func(letter) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep = keep
}

// all keeps every letter.
func all(letter) bool { return true }

// fetch returns what was kept, oldest first.
func (p *postOffice) fetch() []letter {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := p.kept
	p.kept = nil
	return kept
}

// hand delivers a letter and returns how long its acknowledgement took.
func (p *postOffice) hand(ctx context.Context, l letter) (time.Duration, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.to, bytes.NewReader(l.body))
	if err != nil {
		return 0, err
	}
	r.Header = l.header.Clone()
	begin := time.Now()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	took := time.Since(begin)
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0, err
	}
	if resp.StatusCode != http.StatusAccepted {
		return 0, fmt.Errorf("the server answered %d to a %s", resp.StatusCode, l.event())
	}
	return took, nil
}
