package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Secret is a value that is never printed. It is written as itself, as
// "file:/path" or as "env:NAME". Formatting, logging and encoding it show the
// reference, or a placeholder for a literal.
type Secret struct {
	text  string // as written
	value string // what it stands for, after resolve
}

const redacted = "[redacted]"

// Value is what the secret stands for, without the line end a file closes with.
func (s Secret) Value() []byte { return []byte(s.value) }

// IsZero tells that no secret was given.
func (s Secret) IsZero() bool { return s.text == "" }

func (s Secret) String() string {
	if s.text == "" || strings.HasPrefix(s.text, "file:") || strings.HasPrefix(s.text, "env:") {
		return s.text
	}
	return redacted
}

// GoString keeps %#v from showing the fields.
func (s Secret) GoString() string { return s.String() }

// MarshalText shows what String shows.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText takes a secret as written; it means nothing before resolve.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = Secret{text: string(text)}
	return nil
}

// UnmarshalYAML reads one text. It never quotes it in an error.
func (s *Secret) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.ScalarNode {
		return mistake(node, "a secret is one text: the value, file:/path or env:NAME")
	}
	return s.UnmarshalText([]byte(node.Value))
}

// mistake is one the YAML library reports together with the others it finds.
func mistake(node *yaml.Node, text string) error {
	return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: %s", node.Line, text)}}
}

// resolve reads what the secret refers to. Relative files stand beside the
// configuration file in dir.
func (s *Secret) resolve(dir string, env map[string]string) error {
	if name, ok := strings.CutPrefix(s.text, "env:"); ok {
		if s.value = env[name]; s.value == "" {
			return fmt.Errorf("the environment variable %s is not set", name)
		}
		return nil
	}
	path, ok := strings.CutPrefix(s.text, "file:")
	if !ok {
		s.value = s.text
		return nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	s.value = strings.TrimRight(string(content), "\r\n")
	if s.value == "" {
		return fmt.Errorf("the file %s is empty", path)
	}
	return nil
}
