package store

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/klauspost/compress/s2"
)

// keptScratch is the largest buffer kept for the next body, in bytes.
const keptScratch = 1 << 20

var scratch = sync.Pool{New: func() any { return new([]byte) }}

// pack compresses a body into memory of its own, so that its caller may use the
// body's again.
func pack(body []byte) []byte {
	buf := scratch.Get().(*[]byte) //nolint:forcetypeassert // its New makes no other
	*buf = s2.Encode((*buf)[:cap(*buf)], body)
	packed := bytes.Clone(*buf)
	if cap(*buf) <= keptScratch {
		scratch.Put(buf)
	}
	return packed
}

// unpack is the inverse of pack; packed is false for a row written before there
// was one.
func unpack(body []byte, packed bool) ([]byte, error) {
	if !packed {
		return body, nil
	}
	whole, err := s2.Decode(nil, body)
	if err != nil {
		return nil, fmt.Errorf("unpacking: %w", err)
	}
	return whole, nil
}
