package model

// promise is the invariant that a play with a planted fault was found to break.
type promise string

// broken ends the play: an invariant does not hold.
func (w *world) broken(invariant, format string, args ...any) {
	w.t.Helper()
	if w.planted != "" {
		panic(promise(invariant))
	}
	w.t.Fatalf(invariant+": "+format, args...)
}
