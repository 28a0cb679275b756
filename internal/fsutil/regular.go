package fsutil

import (
	"fmt"
	"io"
	"io/fs"
	"os"
)

// MaxBytes bounds a file that is read, unless a format has a smaller bound.
const MaxBytes = 16 << 20

// ReadRegular returns the content of a regular file.
func ReadRegular(name string) ([]byte, error) { return ReadRegularUpTo(name, MaxBytes) }

// ReadRegularUpTo returns the content of a regular file that has so many bytes at most. The null device is an
// empty file.
func ReadRegularUpTo(name string, most int64) ([]byte, error) {
	if err := check(name, most); err != nil {
		return nil, err
	}
	text, err := readUpTo(name, most)
	if err == nil && int64(len(text)) > most { // it grows
		err = tooLong(name, int64(len(text)), most)
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}

// ReadPipe returns what is written into a pipe, at most MaxBytes, when its last writer has closed it.
func ReadPipe(name string) ([]byte, error) {
	text, err := readUpTo(name, MaxBytes)
	if err == nil && len(text) > MaxBytes {
		err = fmt.Errorf("%s has more than %d bytes; at most so many are read", name, MaxBytes)
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}

// readUpTo returns the first bytes of a file, one more than most.
func readUpTo(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most+1))
}

// CheckRegular reports why a file that other code reads cannot be read as ReadRegular would. An empty name is no file.
func CheckRegular(name string) error {
	if name == "" {
		return nil
	}
	return check(name, MaxBytes)
}

func check(name string, most int64) error {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return err
	case name == os.DevNull:
		return nil
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is %s; want a regular file", name, kind(info.Mode()))
	case info.Size() > most:
		return tooLong(name, info.Size(), most)
	}
	return nil
}

func tooLong(name string, size, most int64) error {
	return fmt.Errorf("%s has %d bytes; at most %d are read", name, size, most)
}

func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeNamedPipe != 0:
		return "a pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "no file"
}
