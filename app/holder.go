package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/chant-bot/chant/engine/drivers/lease"
)

// keptHolder is the name under which leases are taken, and what tells its state
// directory from a copy of it.
type keptHolder struct {
	Holder string `json:"holder"`
	Host   string `json:"host"`
	Boot   string `json:"boot"`
	Device uint64 `json:"device"`
	Inode  uint64 `json:"inode"`
}

// holderFile keeps it in the state directory.
const holderFile = "holder.json"

// holderOf names the holder of leases for a state directory whose lock the
// caller has. One process at a time has it, so a lease under the same name is
// left from a process that is dead and is taken over at once, instead of after
// it expired. A copy of the directory, and one on another machine or after a
// reboot, is another holder: there nobody knows that the earlier one is dead.
func holderOf(dir string) (string, error) {
	path := filepath.Join(dir, holderFile)
	here, err := identityOf(path)
	if err != nil {
		return "", err
	}
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("reading who holds leases: %w", err)
	}
	var kept keptHolder
	if json.Unmarshal(data, &kept) == nil && kept.Holder != "" {
		if here.Holder = kept.Holder; here == kept {
			return kept.Holder, nil
		}
	}
	if here.Holder, err = lease.NewHolder(); err != nil {
		return "", err
	}
	if data, err = json.Marshal(here); err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		return "", fmt.Errorf("keeping who holds leases: %w", err)
	}
	return here.Holder, nil
}

// identityOf is where a file is, which no copy of it shares. The file is made if
// absent.
func identityOf(path string) (keptHolder, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return keptHolder{}, fmt.Errorf("opening who holds leases: %w", err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return keptHolder{}, fmt.Errorf("opening who holds leases: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		return keptHolder{}, fmt.Errorf("naming this machine: %w", err)
	}
	here := keptHolder{Host: host}
	if boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id"); err == nil { // Linux only
		here.Boot = strings.TrimSpace(string(boot))
	}
	if at, ok := info.Sys().(*syscall.Stat_t); ok {
		here.Device, here.Inode = uint64(at.Dev), at.Ino //nolint:unconvert // its type differs between systems
	}
	return here, nil
}
