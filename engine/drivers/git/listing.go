package git

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A fetch that finds nothing new costs a process and several requests, and most
// of them do. So a clone of ours asks the remote for the same refs first, with
// one request of git's protocol version 2 (gitprotocol-v2, ls-refs), and
// fetches only when the answer is another one than before its last fetch.

const (
	listingTimeout = 10 * time.Second
	maxListing     = 16 << 20 // bytes
)

// remoteRefs remembers, by refspec, what the remote listed before its last
// fetch. Whoever moves refs here or there makes it forget.
type remoteRefs struct {
	client *http.Client

	mu     sync.Mutex
	before map[string]listing
	moves  int  // how often it was made to forget
	off    bool // the remote does not speak version 2
}

// listing are the lines of the refs a refspec names.
type listing struct {
	known bool // false: fetched before, and not known what of
	lines string
}

func newRemoteRefs() *remoteRefs {
	return &remoteRefs{
		before: map[string]listing{},
		client: &http.Client{
			Timeout: listingTimeout,
			// A redirect would show the credentials to somebody else.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// forget says that refs have moved, or may have.
func (r *remoteRefs) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.moves++
	for spec := range r.before {
		r.before[spec] = listing{}
	}
}

// answer is what the remote listed when it was asked, and how often anybody had
// been made to forget by then.
type answer struct {
	now   []listing // nil: it was not asked
	moves int
}

// key tells fetches that bring different things apart: who saw the remote moved
// on must not be content with a fetch that started before.
func (a answer) key(refspecs []string) string {
	var b strings.Builder
	for i, spec := range refspecs {
		b.WriteString(spec + "\n")
		if a.now != nil {
			b.WriteString(a.now[i].lines)
		}
	}
	return b.String()
}

// ask tells whether the remote holds something else than before the last fetch
// of these refspecs. Those fetched for the first time are not asked for: it may
// be the only one.
func (c *Clone) ask(ctx context.Context, refspecs []string) (a answer, moved bool) {
	before, moves := c.listed.snapshot(refspecs)
	a.moves = moves
	if before == nil {
		return a, true
	}
	a.now = c.list(ctx, refspecs)
	c.recall(ctx, refspecs, before, a)
	return a, !same(before, a.now)
}

// fetchMoved fetches, unless somebody else did since the remote was asked.
func (c *Clone) fetchMoved(ctx context.Context, refspecs []string, a answer) error {
	before, moves := c.listed.snapshot(refspecs)
	if moves == a.moves && same(before, a.now) {
		return nil
	}
	if !c.point(ctx, refspecs, before, a.now) {
		if err := c.fetch(ctx, refspecs); err != nil {
			return err
		}
	}
	c.listed.remember(refspecs, a.now, a.moves)
	return nil
}

// recall fills in what is not known of before, and what was made to be forgotten,
// where the refs here are those the remote lists.
func (c *Clone) recall(ctx context.Context, refspecs []string, before []listing, a answer) {
	for i, spec := range refspecs {
		if a.now != nil && !before[i].known && c.holds(ctx, spec, a.now[i]) {
			before[i] = a.now[i]
			c.listed.learn(spec, a.now[i], a.moves)
		}
	}
}

// holds tells whether a refspec's refs here are those listed. They were written by
// fetches and pushes that ended well, so that what they need is here too.
func (c *Clone) holds(ctx context.Context, spec string, now listing) bool {
	source, target, _ := strings.Cut(strings.TrimPrefix(spec, "+"), ":")
	source, target = strings.TrimSuffix(source, "*"), strings.TrimSuffix(target, "*")
	if !strings.HasSuffix(spec, "*") {
		here, err := c.Ref(ctx, target)
		return err == nil && here != "" && here == now.object()
	}
	out, err := c.git(ctx, "for-each-ref", "--format=%(objectname) %(refname)", target+"*", target+"*/**")
	if err != nil {
		return false
	}
	var there []string
	for line := range strings.Lines(now.lines) {
		object, rest, _ := strings.Cut(line, " ")
		name, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
		there = append(there, object+" "+target+strings.TrimPrefix(name, source))
	}
	here := strings.FieldsFunc(string(out), func(r rune) bool { return r == '\n' })
	slices.Sort(here)
	slices.Sort(there)
	return slices.Equal(here, there)
}

// object is what the only ref of a listing points at, "" where there is none.
func (l listing) object() string {
	object, _, _ := strings.Cut(l.lines, " ")
	return object
}

// point moves the refs here to what the remote lists where other refs here point
// there already: a pull request's head is the tip of its branch, and was fetched as
// the one of them. It is false where something has to be fetched.
func (c *Clone) point(ctx context.Context, refspecs []string, before, now []listing) bool {
	if now == nil || before == nil {
		return false
	}
	var input strings.Builder
	for i, spec := range refspecs {
		if before[i].known && before[i] == now[i] {
			continue
		}
		if strings.HasSuffix(spec, "*") {
			return false
		}
		object := now[i].object()
		if object == "" {
			return false
		}
		out, err := c.git(ctx, "for-each-ref", "--count=1", "--points-at="+object)
		if err != nil || len(out) == 0 {
			return false
		}
		_, target, _ := strings.Cut(spec, ":")
		fmt.Fprintf(&input, "update %s\x00%s\x00\x00", target, object)
	}
	res, err := c.run(ctx, call{args: []string{"update-ref", "--no-deref", "--stdin", "-z"}, stdin: strings.NewReader(input.String())})
	return err == nil && res.ExitCode == 0
}

// same tells whether two answers are known and equal.
func same(before, now []listing) bool {
	return now != nil && slices.Equal(before, now) && !slices.ContainsFunc(now, func(l listing) bool { return !l.known })
}

// snapshot is what is remembered of refspecs, nil when none was ever fetched or
// there is no asking.
func (r *remoteRefs) snapshot(refspecs []string) (before []listing, moves int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := false
	for _, spec := range refspecs {
		l, found := r.before[spec]
		asked = asked || found
		before = append(before, l)
	}
	if !asked || r.off {
		return nil, r.moves
	}
	return before, r.moves
}

// remember keeps what was listed before a fetch, and drops what other refspecs
// brought to the same refs here.
func (r *remoteRefs) remember(refspecs []string, now []listing, moves int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.moves != moves {
		return
	}
	for i, spec := range refspecs {
		for other := range r.before {
			if other != spec && sharesTarget(other, spec) {
				r.before[other] = listing{}
			}
		}
		r.before[spec] = listing{}
		if now != nil {
			r.before[spec] = now[i]
		}
	}
}

// learn keeps what the remote lists and the refs here are.
func (r *remoteRefs) learn(spec string, now listing, moves int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.moves == moves {
		r.before[spec] = now
	}
}

// sharesTarget tells whether two refspecs write one ref here.
func sharesTarget(a, b string) bool {
	_, a, _ = strings.Cut(a, ":")
	_, b, _ = strings.Cut(b, ":")
	return matches(a, b) || matches(b, a)
}

// matches tells whether a ref, or a pattern of them, is within a pattern.
func matches(pattern, ref string) bool {
	prefix, wild := strings.CutSuffix(pattern, "*")
	return pattern == ref || wild && strings.HasPrefix(ref, prefix)
}

// list is the remote's answer for the sources of refspecs, nil when it cannot
// be had this way. It is only compared, never believed: what is wrong with the
// remote, the fetch that follows says.
func (c *Clone) list(ctx context.Context, refspecs []string) []listing {
	if !c.owned || !strings.HasPrefix(c.remoteURL(), "http://") && !strings.HasPrefix(c.remoteURL(), "https://") {
		return nil
	}
	var body strings.Builder
	packet(&body, "command=ls-refs\n")
	body.WriteString("0001")
	packet(&body, "peel\n")
	sources := make([]string, len(refspecs))
	for i, spec := range refspecs {
		sources[i], _, _ = strings.Cut(strings.TrimPrefix(spec, "+"), ":")
		if !strings.HasPrefix(sources[i], "refs/") {
			return nil
		}
		packet(&body, "ref-prefix "+strings.TrimSuffix(sources[i], "*")+"\n")
	}
	body.WriteString("0000")
	text, err := c.postListing(ctx, body.String())
	if err != nil {
		return nil
	}
	lines, whole := packets(text)
	if !whole {
		c.listed.mu.Lock()
		defer c.listed.mu.Unlock()
		c.listed.off = true
		return nil
	}
	out := make([]listing, len(sources))
	for i, source := range sources {
		out[i].known = true
		for _, line := range lines {
			if fields := strings.Fields(line); len(fields) > 1 && matches(source, fields[1]) {
				out[i].lines += line
			}
		}
	}
	return out
}

// packet writes one line of git's protocol: its length in hex, itself included.
func packet(b *strings.Builder, line string) { fmt.Fprintf(b, "%04x%s", len(line)+4, line) }

func (c *Clone) postListing(ctx context.Context, body string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, listingTimeout)
	defer cancel()
	url := strings.TrimSuffix(c.remoteURL(), "/") + "/git-upload-pack"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Git-Protocol", "version=2")
	req.Header.Set("Content-Type", "application/x-git-upload-pack-request")
	req.Header.Set("Accept", "application/x-git-upload-pack-result")
	req.Header.Set("User-Agent", "git/2 (chant)")
	if c.auth.Header != nil {
		header, err := c.auth.Header(ctx)
		if err != nil {
			return "", err
		}
		if name, value, found := strings.Cut(header, ":"); found {
			req.Header.Set(name, strings.TrimSpace(value))
		}
	}
	resp, err := c.listed.client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the remote answered %d", resp.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxListing))
	return string(text), err
}

// packets splits text into lines up to its flush packet; whole is false for
// anything else, an error the remote reports included.
func packets(text string) (lines []string, whole bool) {
	for len(text) >= 4 {
		size, err := strconv.ParseUint(text[:4], 16, 16)
		switch {
		case err != nil:
			return nil, false
		case size == 0:
			return lines, len(text) == 4
		case size <= 4 || int(size) > len(text) || strings.HasPrefix(text[4:], "ERR "):
			return nil, false
		}
		lines, text = append(lines, text[4:size]), text[size:]
	}
	return nil, false
}
