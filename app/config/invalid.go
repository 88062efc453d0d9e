package config

import "strings"

// Invalid is what is wrong with a configuration, or with the machine it is to
// work on. Its text is ours: it names keys, variables, lines and files and quotes
// no value that may be a secret, so it can be shown as it is.
type Invalid struct { //nolint:errname // reads as what it is
	// Path of the file; empty where there is none.
	Path string
	Err  error
}

// Error has one mistake a line.
func (i *Invalid) Error() string {
	lead := "configuration"
	if i.Path != "" {
		lead += " " + i.Path
	}
	mistakes := strings.Split(i.Err.Error(), "\n")
	if len(mistakes) == 1 {
		return lead + ": " + mistakes[0]
	}
	return lead + ":\n  " + strings.Join(mistakes, "\n  ")
}

func (i *Invalid) Unwrap() error { return i.Err }
