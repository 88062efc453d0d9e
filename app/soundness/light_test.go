//go:build !e2e

package soundness_test

// heavy is the slow lane, which leaves nothing out.
const heavy = false
