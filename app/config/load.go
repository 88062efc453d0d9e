package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"sort"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Source is where a configuration comes from. Later sources win: file,
// environment, flags.
type Source struct {
	// Path of the file; empty for none.
	Path string
	// Env reads one environment variable, os.LookupEnv outside tests.
	Env func(name string) (string, bool)
	// Set holds values of flags by the key Fields names.
	Set map[string]string
}

// Load reads, merges, resolves and checks. The error names every mistake, with
// its line where the file made it.
func Load(src Source) (*Config, error) {
	c := Default()
	if src.Path != "" {
		text, err := os.ReadFile(src.Path)
		if err != nil {
			return nil, fmt.Errorf("reading the configuration: %w", err)
		}
		if err := decode(text, &c); err != nil {
			return nil, fmt.Errorf("configuration %s: %w", src.Path, err)
		}
	}
	if err := c.overlay(src); err != nil {
		return nil, err
	}
	if err := c.resolve(filepath.Dir(src.Path), src.Env); err != nil {
		return nil, err
	}
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &c, nil
}

// decode is strict: a key nobody reads is a mistake, not a comment.
func decode(text []byte, c *Config) error {
	dec := yaml.NewDecoder(bytes.NewReader(text))
	dec.KnownFields(true)
	err := dec.Decode(c)
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return plain(err)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return errors.New("it holds more than one document")
	}
	return nil
}

var (
	unknownField = regexp.MustCompile(`^(line \d+): field (.+) not found in type config\.(\w+)$`)
	wrongKind    = regexp.MustCompile(`^(line \d+): cannot unmarshal .* into (.+)$`)
)

// plain says in our words what the YAML library found.
func plain(err error) error {
	var te *yaml.TypeError
	if !errors.As(err, &te) {
		return err
	}
	var errs []error
	for _, text := range te.Errors {
		if m := unknownField.FindStringSubmatch(text); m != nil {
			text = fmt.Sprintf("%s: unknown key %q; known here: %s", m[1], m[2], strings.Join(keysOf(m[3]), ", "))
		}
		if m := wrongKind.FindStringSubmatch(text); m != nil {
			text = fmt.Sprintf("%s: want %s", m[1], kindName(m[2])) // the value may be a secret
		}
		errs = append(errs, errors.New(text))
	}
	return errors.Join(errs...)
}

// kindName says what a Go type is written as.
func kindName(goType string) string {
	switch {
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	case strings.HasPrefix(goType, "int"):
		return "a whole number"
	case goType == "string":
		return "one text"
	}
	return "keys with values"
}

// keysOf lists the keys of one of our structs by its Go name.
func keysOf(name string) []string {
	var keys []string
	for _, t := range []any{Config{}, GitHub{}, Credentials{}, CredentialsSet{}, Deliveries{}, Pages{}} {
		if t := reflect.TypeOf(t); t.Name() == name {
			for f := range t.Fields() {
				if key := f.Tag.Get("yaml"); key != "" {
					keys = append(keys, key)
				}
			}
		}
	}
	return keys
}

// overlay puts environment and flags over what the file said.
func (c *Config) overlay(src Source) error {
	var errs []error
	known := map[string]bool{}
	for _, f := range c.leaves() {
		known[f.Key] = true
		if text, ok := src.Env(f.Env); ok && text != "" {
			if err := f.set(text); err != nil {
				errs = append(errs, fmt.Errorf("environment variable %s: %w", f.Env, err))
			}
		}
		if text, ok := src.Set[f.Key]; ok {
			if err := f.set(text); err != nil {
				errs = append(errs, fmt.Errorf("flag %s: %w", f.Key, err))
			}
		}
	}
	for key := range src.Set {
		if !known[key] {
			errs = append(errs, fmt.Errorf("flag %s: there is no such setting", key))
		}
	}
	sort.Slice(errs, func(i, j int) bool { return errs[i].Error() < errs[j].Error() })
	return errors.Join(errs...)
}

// resolve reads what secrets refer to.
func (c *Config) resolve(dir string, env func(string) (string, bool)) error {
	var errs []error
	secret := func(key string, s *Secret) {
		if err := s.resolve(dir, env); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", key, err))
		}
	}
	secret("github.privateKey", &c.GitHub.PrivateKey)
	secret("github.token", &c.GitHub.Token)
	secret("pages.token", &c.Pages.Token)
	for i := range c.GitHub.WebhookSecrets {
		secret(fmt.Sprintf("github.webhookSecrets[%d]", i), &c.GitHub.WebhookSecrets[i])
	}
	for i := range c.Credentials {
		set := &c.Credentials[i]
		for kind, pairs := range map[string]map[string]Secret{"plan": set.Plan.Env, "apply": set.Apply.Env} {
			for name, s := range pairs {
				secret(fmt.Sprintf("credentials[%d].%s.env.%s", i, kind, name), &s)
				pairs[name] = s
			}
		}
	}
	sort.Slice(errs, func(i, j int) bool { return errs[i].Error() < errs[j].Error() })
	return errors.Join(errs...)
}

// Redacted is the configuration in force, as YAML, without its secrets.
func (c *Config) Redacted() string {
	text, err := yaml.Marshal(c)
	if err != nil { // every field marshals
		return "the configuration cannot be shown: " + err.Error() + "\n"
	}
	return string(text)
}
