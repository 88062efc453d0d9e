//go:build !linux

package exec

import "os"

func awaitExit(int) bool { return false }

func standBack(int) {}

// childrenOf is only asked about launchers of walls, which are Linux programs.
func childrenOf(int) []int { return nil }

func selfExecutable() (string, error) { return os.Executable() }
