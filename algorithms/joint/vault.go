package joint

import (
	"fmt"
	"slices"
)

// FilePrefix begins the names of an algorithm's files in a vault that are removed once the job is done.
const FilePrefix = "sealed-"

// Vault keeps what a killed party needs; package vault implements it on a disk.
type Vault interface {
	Load(name string) ([]byte, error)    // nil when there is none
	Save(name string, data []byte) error // it is on the disk when Save returns
	Append(name string, record []byte) error
	// Records passes the first most records of a log, all where most is negative, and drops those behind them. It returns
	// how many it passed.
	Records(name string, most int, each func(record []byte) error) (int, error)
	Remove(name string) error
}

// Memory is a vault in memory, for one goroutine: what it has ends with the program, and a party that was killed cannot
// go on. It implements Vault.
type Memory struct {
	States map[string][]byte
	Logs   map[string][][]byte
}

// NewMemory returns an empty vault.
func NewMemory() *Memory {
	return &Memory{States: make(map[string][]byte), Logs: make(map[string][][]byte)}
}

// Load implements Vault.
func (m *Memory) Load(name string) ([]byte, error) { return slices.Clone(m.States[name]), nil }

// Save implements Vault.
func (m *Memory) Save(name string, data []byte) error {
	m.States[name] = slices.Clone(data)
	return nil
}

// Append implements Vault.
func (m *Memory) Append(name string, record []byte) error {
	m.Logs[name] = append(m.Logs[name], slices.Clone(record))
	return nil
}

// Records implements Vault.
func (m *Memory) Records(name string, most int, each func(record []byte) error) (int, error) {
	log := m.Logs[name]
	if most >= 0 && most < len(log) {
		log = log[:most]
	}
	for _, record := range log {
		if err := each(record); err != nil {
			return 0, err
		}
	}
	m.Logs[name] = slices.Clone(log)
	return len(log), nil
}

// Remove implements Vault.
func (m *Memory) Remove(name string) error {
	delete(m.States, name)
	delete(m.Logs, name)
	return nil
}

// Scratch is a file of blocks that lasts as long as a session's part; package vault implements it on a disk. What it
// reads back is what was written, or an error.
type Scratch interface {
	Append(block []byte) error
	Read(i int) ([]byte, error) // the block that was appended after i others; valid until the next call
	Close() error               // there is no file any more
}

// DrawnOnce reads a secret of a job from its file in a vault; where there is none, draw draws it, and it is kept.
func DrawnOnce(v Vault, name string, secret []byte, draw func()) error {
	data, err := v.Load(name)
	switch {
	case err != nil:
		return err
	case data == nil:
		draw()
		return v.Save(name, secret)
	case len(data) != len(secret):
		return fmt.Errorf("%s in the vault has %d bytes, want %d", name, len(data), len(secret))
	}
	copy(secret, data)
	return nil
}
