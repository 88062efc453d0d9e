//go:build !e2e

package main

// scripts are the journeys that make test plays. The slow lane plays the others.
const scripts = "testdata/script"
