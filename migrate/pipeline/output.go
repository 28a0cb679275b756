package pipeline

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/klauspost/compress/gzip"
)

// partSuffix ends the name of a file that is not complete.
const partSuffix = ".part"

// An output is what an export writes to: a file, or a stream such as the standard output. A file is
// made when something is written.
type output struct {
	name string // empty: a stream
	make func() (*os.File, error)
	file *os.File // nil: a stream, or not made yet
	to   *bufio.Writer
	at   int64 // bytes that were written

	compress bool
	zip      *gzip.Writer
	member   bool // a member of gzip has begun
}

// newStream returns the output to a stream.
func newStream(to io.Writer, compress bool) *output {
	o := &output{compress: compress}
	o.into(to)
	return o
}

// newOutput returns the output to a new file.
func newOutput(name string, compress bool) (*output, error) {
	for _, name := range []string{name, name + partSuffix} {
		if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return nil, errors.Join(err, fmt.Errorf("%s: %w", name, fs.ErrExist))
		}
	}
	return &output{name: name, compress: compress, make: func() (*os.File, error) {
		return os.OpenFile(name+partSuffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // no secret is in it
	}}, nil
}

// openOutput returns the output to a file of which the first bytes are there, and are to stay.
func openOutput(name string, bytes int64, compress bool) (*output, error) {
	part := name + partSuffix
	o := &output{name: name, compress: compress, make: func() (*os.File, error) {
		return os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o644) //nolint:gosec // no secret is in it
	}}
	info, err := os.Stat(part)
	if errors.Is(err, fs.ErrNotExist) {
		if info, err = os.Stat(name); err == nil && info.Size() == bytes { // it was complete, and nobody noted that
			err = os.Rename(name, part)
		}
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && bytes == 0:
		return o, nil
	case err != nil:
		return nil, err
	case info.Size() < bytes:
		return nil, fmt.Errorf("%s has %d bytes where %d were written: it is another file", part, info.Size(), bytes)
	}
	if err = o.open(); err == nil {
		err = o.back(bytes)
	}
	return o, err
}

func (o *output) open() (err error) {
	if o.to != nil {
		return nil
	}
	if o.file, err = o.make(); err == nil {
		o.into(o.file)
	}
	return err
}

func (o *output) into(w io.Writer) { o.to = bufio.NewWriterSize(written{w, &o.at}, 256<<10) }

// written counts what is written.
type written struct {
	io.Writer
	n *int64
}

// Write implements io.Writer.
func (w written) Write(b []byte) (int, error) {
	n, err := w.Writer.Write(b)
	*w.n += int64(n)
	return n, err
}

// write writes text.
func (o *output) write(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	if err := o.open(); err != nil {
		return err
	}
	if !o.compress {
		_, err := o.to.Write(text)
		return err
	}
	if o.zip == nil {
		o.zip, _ = gzip.NewWriterLevel(o.to, gzip.BestSpeed) // the level is valid
	} else if !o.member {
		o.zip.Reset(o.to)
	}
	o.member = true
	_, err := o.zip.Write(text)
	return err
}

// whole hands on what was written, so that a reader of the bytes up to here has all of it, and returns
// how many there are.
func (o *output) whole() (bytes int64, err error) {
	if o.to == nil {
		return 0, nil
	}
	if o.member {
		o.member = false
		if err := o.zip.Close(); err != nil {
			return 0, err
		}
	}
	err = o.to.Flush()
	return o.at, err
}

// errStream means that what was written cannot be taken back.
var errStream = errors.New("a part of the answer was written already")

// back takes back what follows the first bytes.
func (o *output) back(bytes int64) error {
	o.member = false
	switch {
	case o.to == nil:
		return nil
	case o.file == nil && (o.at != bytes || o.to.Buffered() > 0):
		return errStream
	case o.file == nil:
		return nil
	}
	o.to.Reset(written{o.file, &o.at})
	o.at = bytes
	if err := o.file.Truncate(bytes); err != nil {
		return err
	}
	_, err := o.file.Seek(bytes, io.SeekStart)
	return err
}

// finish gives a file, which is complete and durable, its name.
func (o *output) finish() error {
	if o.file == nil {
		return nil
	}
	if err := o.file.Close(); err != nil {
		return err
	}
	return os.Rename(o.name+partSuffix, o.name)
}

// leave closes a file that is not complete.
func (o *output) leave() error {
	if o.file == nil {
		return nil
	}
	return o.file.Close()
}
