package transport

import (
	"fmt"
	"net/url"
	"strings"
)

// Address reads where a forge's API is: plain http or https, and no credentials
// in it, for they would show in errors. Its path ends with a slash.
func Address(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		return nil, fmt.Errorf("API address %q is no plain http(s) URL", text)
	}
	u.Path = strings.TrimRight(u.Path, "/") + "/"
	return u, nil
}

// Root is where a forge is whose API is at text, which must end with path; it has
// no slash at its end.
func Root(text, path string) (*url.URL, error) {
	u, err := Address(text)
	if err != nil {
		return nil, err
	}
	root, found := strings.CutSuffix(u.Path, path)
	if !found {
		return nil, fmt.Errorf("API address %q does not end in %s", text, path)
	}
	u.Path = root
	return u, nil
}
