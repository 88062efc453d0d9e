package exec

import (
	"bytes"
	"errors"
	"sync"
)

// errStopReading ends the copying of a stream that grew above its bound.
var errStopReading = errors.New("stream is above its bound")

// stream scrubs, bounds, keeps and splits one output stream of a child.
type stream struct {
	name  string
	limit int64
	scrub *scrubber
	kept  bytes.Buffer
	lines *lineSplitter
	over  chan<- error
}

func newStream(name string, limit int64, c Cmd, mu *sync.Mutex, over chan<- error) *stream {
	s := &stream{name: name, limit: limit, scrub: newScrubber(c.Scrub), over: over}
	if c.OnLine != nil {
		s.lines = &lineSplitter{emit: func(line string) {
			mu.Lock()
			defer mu.Unlock()
			c.OnLine(name, line)
		}}
	}
	return s
}

func (s *stream) Write(p []byte) (int, error) {
	if int64(s.kept.Len())+int64(s.scrub.pending())+int64(len(p)) > s.limit {
		select {
		case s.over <- &OutputLimitError{Stream: s.name, Limit: s.limit}:
		default:
		}
		return 0, errStopReading
	}
	s.keep(s.scrub.next(p))
	return len(p), nil
}

func (s *stream) keep(b []byte) {
	s.kept.Write(b)
	if s.lines != nil {
		s.lines.write(b)
	}
}

func (s *stream) close() {
	s.keep(s.scrub.rest())
	if s.lines != nil {
		s.lines.flush()
	}
}

func (s *stream) bytes() []byte { return s.kept.Bytes() }

// MaxLine bounds a line handed on in bytes; a longer one arrives in pieces.
const MaxLine = 64 << 10

// lineSplitter hands on whole lines without their line ends.
type lineSplitter struct {
	partial []byte
	emit    func(line string)
}

func (l *lineSplitter) write(b []byte) {
	for len(b) > 0 {
		line, rest, found := bytes.Cut(b, []byte{'\n'})
		l.partial = append(l.partial, line...)
		if found || len(l.partial) >= MaxLine {
			l.flushLine(found)
		}
		b = rest
	}
}

func (l *lineSplitter) flushLine(ended bool) {
	line := l.partial
	if ended {
		line = bytes.TrimSuffix(line, []byte{'\r'})
	}
	l.emit(string(line))
	l.partial = l.partial[:0]
}

func (l *lineSplitter) flush() {
	if len(l.partial) > 0 {
		l.flushLine(true)
	}
}
