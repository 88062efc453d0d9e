package store

import (
	"os"
	"syscall"
)

// syncData takes the content of a file to the disk, as SQLite does: without its
// times, which would cost a second write.
func syncData(file *os.File) error {
	for {
		err := syscall.Fdatasync(int(file.Fd()))
		if err != syscall.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
