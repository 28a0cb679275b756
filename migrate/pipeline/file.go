package pipeline

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
)

// Stdin is the name of the standard input among files.
const Stdin = "-"

// A source is an open file, or the standard input, of which the text is read. What is compressed with
// gzip is recognized by its first bytes.
type source struct {
	text  io.Reader
	file  io.ReadCloser
	size  int64        // bytes of the file; 0: unknown
	taken atomic.Int64 // bytes of the file that were read
	plain bool         // not compressed
}

// gzipMagic begins a file of gzip.
const gzipMagic = "\x1f\x8b"

func open(name string, stdin io.Reader) (*source, error) {
	s := &source{file: io.NopCloser(stdin)}
	if name != Stdin {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		s.file = f
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			s.size = info.Size()
		}
	}
	read := bufio.NewReaderSize(counted{s}, 256<<10)
	s.text = read
	first, err := read.Peek(len(gzipMagic))
	if s.plain = string(first) != gzipMagic; s.plain {
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, errors.Join(plainCause(err), s.file.Close())
		}
		return s, nil
	}
	if s.text, err = gzip.NewReader(read); err != nil {
		return nil, errors.Join(plainCause(err), s.file.Close())
	}
	return s, nil
}

// OpenText opens a file, or the standard input, whose text is compressed with gzip or not.
func OpenText(name string, stdin io.Reader) (io.ReadCloser, error) {
	s, err := open(name, stdin)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{s.text, s.file}, nil
}

// EachBlock calls use with the text of a file in blocks of whole lines, which are used again when it returns.
func EachBlock(ctx context.Context, name string, bytes int, use func(block []byte) error) error {
	text, err := OpenText(name, nil)
	if err != nil {
		return err
	}
	defer func() { _ = text.Close() }() // it was only read
	cut, block := cutter{text: text}, make([]byte, 0, bytes)
	for ctx.Err() == nil {
		var end error
		if block, end = cut.next(block); len(block) > 0 {
			if err := use(block); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(end, io.EOF):
			return nil
		case end != nil:
			return end
		}
	}
	return ctx.Err()
}

// counted counts what is read of a source's file.
type counted struct{ *source }

// Read implements io.Reader.
func (c counted) Read(b []byte) (int, error) {
	n, err := c.file.Read(b)
	c.taken.Add(int64(n))
	return n, err
}

// skip reads over so many bytes of the text.
func (s *source) skip(n int64) error {
	skipped, err := io.CopyN(io.Discard, s.text, n)
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("it has %d bytes of text where %d were imported: it is another file", skipped, n)
	}
	return err
}

func (s *source) close() error { return s.file.Close() }

// plainCause returns an error of the system without the name of the file.
func plainCause(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err
	}
	return err
}

// sizeOf returns the size of a regular file, 0 for anything else.
func sizeOf(name string) int64 {
	if info, err := os.Stat(name); name != Stdin && err == nil && info.Mode().IsRegular() {
		return info.Size()
	}
	return 0
}

// sizesOf returns the sizes of files that are to be read; nil: one of them is unknown.
func sizesOf(names []string, states []*fileState) (sizes []int64) {
	for i, name := range names {
		switch size := sizeOf(name); {
		case size == 0:
			return nil
		case !states[i].Done || states[i].Size != size:
			sizes = append(sizes, size)
		}
	}
	return sizes
}
