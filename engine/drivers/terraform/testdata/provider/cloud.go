package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// cloud is a directory with a file NAME.json for each target. Beside it, others may
// put how the target behaves:
//
//   - NAME.fails, with "before create", "after update" or the like: that operation
//     fails, and has changed nothing or everything;
//   - NAME.fixed: it can't be updated, only replaced;
//   - the pipes NAME.here and NAME.on: whoever changes it says so on the first and
//     waits for a line on the second.
type cloud string

// object is a target as the cloud has it.
type object struct {
	ID     string `json:"id"`
	Value  string `json:"value"`
	Kind   string `json:"kind"`
	Serial int64  `json:"serial"` // grows with every change, over its replacements too
}

func (c cloud) path(name, what string) string { return filepath.Join(string(c), name+"."+what) }

// read tells what is there now.
func (c cloud) read(name string) (o object, there bool, err error) {
	data, err := os.ReadFile(c.path(name, "json"))
	if errors.Is(err, fs.ErrNotExist) {
		return object{}, false, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	return o, err == nil, err
}

// fixed tells whether a target can only be replaced.
func (c cloud) fixed(name string) bool {
	_, err := os.Stat(c.path(name, "fixed"))
	return err == nil
}

// change does one operation, "create", "update" or "delete", on a target.
func (c cloud) change(name, operation string, do func() error) error {
	if err := c.wait(name); err != nil {
		return err
	}
	data, err := os.ReadFile(c.path(name, "fails"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	fails := strings.TrimSpace(string(data))
	if fails == "before "+operation {
		return fmt.Errorf("the cloud refuses to %s %s", operation, name)
	}
	if err := do(); err != nil {
		return err
	}
	if fails == "after "+operation {
		return fmt.Errorf("the cloud broke off after the %s of %s", operation, name)
	}
	return nil
}

// wait holds a change where somebody asked for it.
func (c cloud) wait(name string) error {
	here, err := os.OpenFile(c.path(name, "here"), os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		_, err = here.WriteString("here\n")
		err = errors.Join(err, here.Close())
	}
	if err != nil {
		return err
	}
	on, err := os.Open(c.path(name, "on"))
	if err == nil {
		_, err = bufio.NewReader(on).ReadString('\n')
		err = errors.Join(err, on.Close())
	}
	return err
}

// put writes a target and counts the change.
func (c cloud) put(name string, o object) (object, error) {
	serial, err := c.next(name)
	if err != nil {
		return object{}, err
	}
	o.Serial = serial
	if o.ID == "" {
		o.ID = fmt.Sprintf("%s-%d", name, serial)
	}
	data, err := json.Marshal(o)
	if err == nil {
		err = os.WriteFile(c.path(name, "json"), data, 0o666)
	}
	return o, err
}

// next counts the changes of a target.
func (c cloud) next(name string) (int64, error) {
	data, err := os.ReadFile(c.path(name, "changes"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	data = append(data, '.')
	return int64(len(data)), os.WriteFile(c.path(name, "changes"), data, 0o666)
}

func (c cloud) remove(name string) error {
	err := os.Remove(c.path(name, "json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
