//go:build e2e

package main

// scripts are the journeys that take longest, which make e2e plays.
const scripts = "testdata/slow"
