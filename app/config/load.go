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
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Source is where a configuration comes from. Later sources win: file,
// environment, flags.
type Source struct {
	// Path of the file; empty for none.
	Path string
	// Environ holds KEY=VALUE pairs, os.Environ() outside tests. A variable that
	// is set to nothing counts as not set.
	Environ []string
	// Set holds values of flags by the key Fields names.
	Set map[string]string
}

// Load reads, merges, resolves and checks. What is wrong with the configuration
// is an *Invalid that names every mistake, those of the file's form with their
// line and before any other.
func Load(src Source) (*Config, error) {
	c := Default()
	what := "configuration without a file (--config or CHANT_CONFIG names one)"
	if src.Path != "" {
		what = "configuration " + src.Path
		text, err := os.ReadFile(src.Path)
		if err != nil {
			return nil, fmt.Errorf("reading the configuration: %w", err)
		}
		if err := decode(text, &c); err != nil {
			return nil, &Invalid{What: what, Err: err}
		}
	}
	env := variables(src.Environ)
	errs := slices.Concat(c.overlay(src.Set, env), c.resolve(filepath.Dir(src.Path), env), c.strangers(env))
	for _, err := range c.mistakes() {
		if !toldAlready(errs, err) {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return nil, &Invalid{What: what, Err: errors.Join(errs...)}
	}
	return &c, nil
}

// toldAlready tells whether a key is among those named before: a secret that
// cannot be read is not also one of the wrong form.
func toldAlready(errs []error, err error) bool {
	key, _, _ := strings.Cut(err.Error(), ": ")
	return slices.ContainsFunc(errs, func(told error) bool { return strings.HasPrefix(told.Error(), key+": ") })
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
		return plain(err, text)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return errors.New("it holds more than one document")
	}
	return nil
}

var (
	unknownField = regexp.MustCompile(`^(line \d+): field (.+) not found in type config\.(\w+)$`)
	inLine       = regexp.MustCompile(`(?s)^(line \d+): (.*)$`)
	unlikeKind   = regexp.MustCompile(`(?s)^cannot unmarshal .* into (\S+)$`)
	quotedValue  = regexp.MustCompile("(?s)`.*`")
	anchor       = regexp.MustCompile(`(?s)unknown anchor '.*' referenced`)
)

// plain says in our words what the YAML library found in a file, by line and key,
// without the values that it quotes: one may be a secret.
func plain(err error, file []byte) error {
	var te *yaml.TypeError
	if !errors.As(err, &te) {
		text := anchor.ReplaceAllString(err.Error(), "a value that starts with * needs quotes around it")
		return errors.New(quotedValue.ReplaceAllString(text, "(a value)"))
	}
	var errs []error
	wrong := wrongKinds(file)
	for _, text := range te.Errors {
		key := ""
		if i := slices.IndexFunc(wrong, func(w wrongKind) bool { return w.text == text }); i >= 0 {
			key = wrong[i].key + ": "
			wrong = slices.Delete(wrong, i, i+1)
		}
		if m := unknownField.FindStringSubmatch(text); m != nil {
			text = fmt.Sprintf("%s: unknown key %q; known here: %s", m[1], m[2], strings.Join(keysOf(m[3]), ", "))
		} else if m := inLine.FindStringSubmatch(text); m != nil {
			text = m[1] + ": " + key + inOurWords(m[2])
		}
		errs = append(errs, errors.New(text))
	}
	return errors.Join(errs...)
}

func inOurWords(text string) string {
	if m := unlikeKind.FindStringSubmatch(text); m != nil {
		return "want " + kindName(m[1])
	}
	return text
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
	for _, t := range []any{Config{}, Forge{}, OtherForges{}, Credentials{}, CredentialsSet{}, Deliveries{}, Pages{}, Reports{}} {
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
func (c *Config) overlay(set, env map[string]string) []error {
	var errs []error
	var keys []string
	for _, f := range c.leaves() {
		keys = append(keys, f.Key)
		if text := env[f.Env]; text != "" {
			if err := f.set(text); err != nil {
				errs = append(errs, fmt.Errorf("environment variable %s: %w", f.Env, err))
			}
		}
		if text, ok := set[f.Key]; ok {
			if err := f.set(text); err != nil {
				errs = append(errs, fmt.Errorf("flag %s: %w", f.Key, err))
			}
		}
	}
	for key := range set {
		if !slices.Contains(keys, key) {
			errs = append(errs, fmt.Errorf("flag %s: there is no such setting%s", key, meant(key, keys)))
		}
	}
	return sorted(errs)
}

func sorted(errs []error) []error {
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errs
}

// resolve reads what secrets refer to.
func (c *Config) resolve(dir string, env map[string]string) []error {
	var errs []error
	c.secrets(func(key string, s *Secret) {
		if err := s.resolve(dir, env); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", key, err))
		}
	})
	return sorted(errs)
}

// secrets visits every secret by its key.
func (c *Config) secrets(secret func(key string, s *Secret)) {
	secret("pages.token", &c.Pages.Token)
	secret("reports.token", &c.Reports.Token)
	secret("databasePassword", &c.DBPassword)
	secret("groupKey", &c.GroupKey)
	for _, f := range c.all() {
		secret(f.Key+".privateKey", &f.PrivateKey)
		secret(f.Key+".token", &f.Token)
		for i := range f.WebhookSecrets {
			secret(fmt.Sprintf("%s.webhookSecrets[%d]", f.Key, i), &f.WebhookSecrets[i])
		}
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
}

// Redacted is the configuration in force, as YAML, without its secrets.
func (c *Config) Redacted() string {
	text, err := yaml.Marshal(c)
	if err != nil { // every field marshals
		return "the configuration cannot be shown: " + err.Error() + "\n"
	}
	return string(text)
}
