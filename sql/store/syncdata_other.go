//go:build !linux

package store

import "os"

// syncData takes the content of a file to the disk.
func syncData(file *os.File) error { return file.Sync() }
