// Command strict reads Kubernetes documents from standard input and fails on what
// the API does not know: a field that is misspelled or stands in a wrong place.
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"

	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
)

func main() {
	if err := check(os.Stdin); err != nil {
		fmt.Fprintln(os.Stderr, "strict:", err)
		os.Exit(1)
	}
}

func check(in io.Reader) error {
	decoder := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict).UniversalDeserializer()
	documents := yaml.NewYAMLReader(bufio.NewReader(in))
	for n := 1; ; n++ {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) && n > 1 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("document %d: %w", n, err)
		}
		if _, _, err := decoder.Decode(text, nil, nil); err != nil {
			return fmt.Errorf("document %d: %w", n, err)
		}
	}
}
