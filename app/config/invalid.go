package config

import "strings"

// Invalid is what is wrong with a configuration, or with the machine it is to
// work on. Its text is ours: it names keys, variables, lines and files and quotes
// no value that may be a secret, so it can be shown as it is.
type Invalid struct { //nolint:errname // reads as what it is
	// What is wrong, such as "configuration chant.yaml".
	What string
	Err  error
}

// Error has one mistake a line.
func (i *Invalid) Error() string {
	mistakes := strings.Split(i.Err.Error(), "\n")
	if len(mistakes) == 1 {
		return i.What + ": " + mistakes[0]
	}
	return i.What + ":\n  " + strings.Join(mistakes, "\n  ")
}

func (i *Invalid) Unwrap() error { return i.Err }
