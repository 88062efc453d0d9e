package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/chant-bot/chant/forges"
)

// answer is a canned response of a fake network.
func answer(status int, body string, header ...string) *http.Response {
	h := http.Header{}
	for i := 0; i < len(header); i += 2 {
		h.Set(header[i], header[i+1])
	}
	return &http.Response{
		StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body)), ContentLength: -1,
		Request: &http.Request{URL: &url.URL{Path: "/x"}},
	}
}

func request(t interface{ Fatal(args ...any) }, method, address string) *http.Request {
	req, err := http.NewRequestWithContext(context.Background(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func network(answers ...*http.Response) (http.RoundTripper, *int) {
	calls := new(int)
	return roundTripper(func(*http.Request) (*http.Response, error) {
		resp := answers[min(*calls, len(answers)-1)]
		*calls++
		return resp, nil
	}), calls
}

func TestABodyBeyondTheBoundIsAnErrorAndOneAtTheBoundIsWhole(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		most := rapid.Int64Range(0, 64).Draw(t, "most")
		length := rapid.IntRange(0, 128).Draw(t, "length")
		tr, _ := network(answer(200, strings.Repeat("x", length)))
		resp, err := Bound(tr, most).RoundTrip(request(t, "GET", "http://forge.test/"))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		if tooLong := int64(length) > most; tooLong != errors.Is(err, ErrTooLarge) || !tooLong && len(got) != length {
			t.Fatalf("read %d of %d bytes, bound %d: %v", len(got), length, most, err)
		}
	})
}

func TestADeclaredLengthBeyondTheBoundIsNotRead(t *testing.T) {
	t.Parallel()
	big := answer(200, "x")
	big.ContentLength = 100
	tr, _ := network(big)
	if _, err := Bound(tr, 10).RoundTrip(request(t, "GET", "http://forge.test/")); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("got %v", err)
	}
}

func TestTheCredentialGoesToTheAPIHostOnly(t *testing.T) {
	t.Parallel()
	api := &url.URL{Scheme: "https", Host: "api.forge.test"}
	seen := ""
	tr := Authenticate(roundTripper(func(req *http.Request) (*http.Response, error) {
		seen = req.Header.Get("Authorization")
		return answer(200, ""), nil
	}), api, func(context.Context) (string, error) { return "Bearer secret", nil })
	for address, want := range map[string]string{
		"https://api.forge.test/x": "Bearer secret", "http://api.forge.test/x": "",
		"https://api.forge.test:8443/x": "", "https://evil.test/x": "",
	} {
		req := request(t, "GET", address)
		req.Header.Set("Authorization", "Bearer left over")
		if _, err := tr.RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		if seen != want {
			t.Errorf("%s got %q", address, seen)
		}
	}
}

func TestRedirectsStayOnTheHostAndKeepWritesWhole(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		method, to string
		status     int
		followed   bool
	}{
		{"GET", "/new", 301, true}, {"GET", "/new", 302, true}, {"GET", "/new", 307, true},
		{"POST", "/new", 307, true}, {"POST", "/new", 308, true},
		{"POST", "/new", 301, false}, {"POST", "/new", 302, false}, {"PATCH", "/new", 303, false},
		{"GET", "http://other.test/new", 302, false},
	} {
		t.Run(c.method+strconv.Itoa(c.status)+c.to, func(t *testing.T) {
			t.Parallel()
			reached := ""
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/old" {
					w.Header().Set("Location", c.to)
					w.WriteHeader(c.status)
					return
				}
				body, _ := io.ReadAll(r.Body)
				reached = r.Method + " " + string(body)
			}))
			defer server.Close()
			client := &http.Client{CheckRedirect: CheckRedirect}
			req, err := http.NewRequestWithContext(t.Context(), c.method, server.URL+"/old", strings.NewReader("body"))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			var refused *RedirectError
			if errors.As(err, &refused) == c.followed || !c.followed && refused.Status != c.status {
				t.Fatalf("got %v", err)
			}
			if resp != nil {
				defer func() { _ = resp.Body.Close() }()
			}
			if c.followed && !strings.HasPrefix(reached, c.method) || c.method == "POST" && c.followed && reached != "POST body" {
				t.Fatalf("reached the new address with %q", reached)
			}
		})
	}
}

func TestRateLimitsFollowTheOrderGitHubAsksFor(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	reset := strconv.FormatInt(now.Add(20*time.Minute).Unix(), 10)
	secondary := `{"message":"You have exceeded a secondary rate limit."}`
	for name, c := range map[string]struct {
		resp *http.Response
		wait time.Duration // 0: no rate limit
	}{
		"nothing remains": {answer(403, "{}", "X-Ratelimit-Remaining", "0", "X-Ratelimit-Reset", reset), 20*time.Minute + time.Second},
		"429 too":         {answer(429, "{}", "X-Ratelimit-Remaining", "0", "X-Ratelimit-Reset", reset), 20*time.Minute + time.Second},
		"retry-after first, even with nothing left": {answer(403, "{}", "Retry-After", "30", "X-Ratelimit-Remaining", "0", "X-Ratelimit-Reset", reset), 30 * time.Second},
		"retry-after as a date":                     {answer(429, "{}", "Retry-After", now.Add(time.Hour).UTC().Format(http.TimeFormat)), time.Hour},
		"by message":                                {answer(403, secondary), time.Minute},
		"GitLab's names of the headers":             {answer(429, "Retry later", "Ratelimit-Remaining", "0", "Ratelimit-Reset", reset), 20*time.Minute + time.Second},
		"a bare 429":                                {answer(429, "Retry later"), time.Minute},
		"an absurd time is capped":                  {answer(429, "", "Retry-After", "99999999"), maxWait},
		"a reset in the past":                       {answer(403, "{}", "X-Ratelimit-Remaining", "0", "X-Ratelimit-Reset", "1"), time.Second},
		"a missing permission":                      {answer(403, `{"message":"Resource not accessible by integration"}`, "X-Ratelimit-Remaining", "4999"), 0},
		"a success that spends the last":            {answer(200, "{}", "X-Ratelimit-Remaining", "0"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr, calls := network(c.resp, answer(200, "later"))
			limited := RateLimits(tr, func() time.Time { return now })
			resp, err := limited.RoundTrip(request(t, "GET", "http://forge.test/"))
			if c.wait == 0 {
				if err != nil {
					t.Fatalf("got %v", err)
				}
				if body, _ := io.ReadAll(resp.Body); len(body) == 0 {
					t.Fatal("the body was eaten")
				}
				return
			}
			var got *forges.RateLimited
			if !errors.As(err, &got) || got.Until.Sub(now) != c.wait {
				t.Fatalf("got %+v, want a wait of %s", got, c.wait)
			}
			if _, err := limited.RoundTrip(request(t, "POST", "http://forge.test/")); !errors.As(err, &got) || *calls != 1 {
				t.Fatalf("went on while limited: %v after %d calls", err, *calls)
			}
		})
	}
}

func TestASecondaryLimitWithoutATimeWaitsLongerEachTime(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_800_000_000, 0)
	refused := func() *http.Response { return answer(403, "secondary rate limit") }
	tr, _ := network(refused(), refused(), refused(), refused(), refused(), refused(), answer(200, ""), refused())
	limited := RateLimits(tr, func() time.Time { return now })
	var waits []time.Duration
	for range 8 {
		resp, err := limited.RoundTrip(request(t, "GET", "http://forge.test/"))
		if got, limited := errors.AsType[*forges.RateLimited](err); limited {
			waits = append(waits, got.Until.Sub(now).Round(time.Second))
			now = got.Until
			continue
		}
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("got %v", err)
		}
	}
	if got, want := fmt.Sprint(waits), "[1m0s 2m0s 4m0s 8m0s 15m0s 15m0s 1m0s]"; got != want {
		t.Fatalf("waited %s, want %s", got, want)
	}
}

func TestAnUnchangedAnswerIsReplayedWithItsLinks(t *testing.T) {
	t.Parallel()
	cache := NewCache(1 << 20)
	var asked []string
	tr := roundTripper(func(req *http.Request) (*http.Response, error) {
		asked = append(asked, req.Header.Get("If-None-Match"))
		if req.Header.Get("If-None-Match") == `"v1"` {
			return answer(304, "", "X-Ratelimit-Remaining", "7"), nil
		}
		return answer(200, "page one", "ETag", `"v1"`, "Link", "<next>", "X-Ratelimit-Remaining", "8"), nil
	})
	read := func(scope, method string) (string, http.Header) {
		resp, err := cache.Conditional(tr, scope).RoundTrip(request(t, method, "http://forge.test/list"))
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%v %v", resp, err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(body), resp.Header
	}
	read("installation 1", "GET")
	body, header := read("installation 1", "GET")
	if body != "page one" || header.Get("Link") != "<next>" || header.Get("X-Ratelimit-Remaining") != "7" {
		t.Fatalf("replayed %q with %v", body, header)
	}
	read("installation 2", "GET") // another installation shares nothing
	read("installation 1", "POST")
	cache.Forget("installation 1")
	read("installation 1", "GET")
	if got := strings.Join(asked, ","); got != `,"v1",,,` {
		t.Fatalf("asked with %q", got)
	}
}

func TestTheCacheStaysWithinItsSize(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cache := NewCache(800)
		for _, n := range rapid.SliceOfN(rapid.IntRange(0, 200), 1, 40).Draw(t, "sizes") {
			tr, _ := network(answer(200, strings.Repeat("x", n), "ETag", "e"))
			address := "http://forge.test/" + strconv.Itoa(rapid.IntRange(0, 20).Draw(t, "url"))
			resp, err := cache.Conditional(tr, "s").RoundTrip(request(t, "GET", address))
			if err != nil {
				t.Fatal(err)
			}
			if body, err := io.ReadAll(resp.Body); err != nil || len(body) != n {
				t.Fatalf("the caller read %d of %d bytes: %v", len(body), n, err)
			}
			held := int64(0)
			for _, e := range cache.byKey {
				held += int64(len(e.body))
			}
			if held != cache.size || cache.size > 800 {
				t.Fatalf("holds %d, says %d", held, cache.size)
			}
		}
	})
}
