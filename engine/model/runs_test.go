//go:build !e2e

package model

// How much is played in the fast lane.
const (
	runs       = "10000"
	leastSteps = 0
)
