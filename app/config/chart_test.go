package config_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// secretFile is a key of the secret that the chart mounts.
var secretFile = regexp.MustCompile(`/etc/chant/secrets/([\w.-]+)`)

// What the chart renders, as recorded in charts/testdata, is a configuration that
// the server starts with.
func TestTheChartWritesAConfigurationThatLoads(t *testing.T) {
	t.Parallel()
	rendered, err := filepath.Glob("../../charts/testdata/*.golden.yaml")
	if err != nil || len(rendered) < 2 {
		t.Fatalf("%d renderings, %v", len(rendered), err)
	}
	for _, path := range rendered {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			text := renderedConfig(t, path)
			secrets := t.TempDir()
			for _, key := range secretFile.FindAllStringSubmatch(text, -1) {
				if err := os.WriteFile(filepath.Join(secrets, key[1]), []byte("-----BEGIN SECRET-----"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			text = strings.ReplaceAll(text, "/etc/chant/secrets/", secrets+"/")
			text = strings.ReplaceAll(text, "/var/lib/chant/", t.TempDir()+"/")
			c, err := load(t, text, nil, nil)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			if c.OnLoopback() || c.Pages.Token.IsZero() {
				t.Error("nobody reaches the server, or everybody reads its pages")
			}
			if store := strings.Contains(path, "postgresql"); store == c.DBPassword.IsZero() {
				t.Errorf("database %q, its password is set: %v", c.Database, !c.DBPassword.IsZero())
			}
		})
	}
}

func renderedConfig(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for documents := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var d struct{ Data map[string]string }
		if err := documents.Decode(&d); errors.Is(err, io.EOF) {
			t.Fatalf("%s has no chant.yaml", path)
		} else if err != nil {
			t.Fatal(err)
		}
		if text := d.Data["chant.yaml"]; text != "" {
			return text
		}
	}
}
