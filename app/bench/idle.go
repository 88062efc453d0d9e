package main

import (
	"context"
	"time"
)

// idle starts a server on an empty state directory and again on the one it
// left, and reads what memory it holds when nothing is left to do.
func idle(ctx context.Context, b *bench) error {
	var fresh, again, memory []float64
	for range b.of(5, 2) {
		w, err := newWorld(ctx, b, settings{roots: 2, terraform: b.terraform})
		if err != nil {
			return err
		}
		err = func() error {
			defer w.close()
			if err := w.server.stop(); err != nil {
				return err
			}
			took, err := w.server.start(ctx)
			if err != nil {
				return err
			}
			again = append(again, took.Seconds())
			if err := w.quiet(ctx); err != nil {
				return err
			}
			time.Sleep(time.Duration(b.of(10, 1)) * time.Second)
			held, err := w.server.memory()
			memory = append(memory, held/1e6)
			return err
		}()
		if err != nil {
			return err
		}
		fresh = append(fresh, w.firstStart.Seconds())
	}
	b.atMost("start with an empty state directory", fresh, 0.4, " s")
	b.atMost("start again", again, 0.4, " s")
	b.atMost("memory when idle", memory, 50, " MB")
	return nil
}
