package admin

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
)

// Long answers of the admin API are frames: a line of JSON, the head, and so many bytes as that says. The last head says that
// the answer is complete, or why it is not.

// writeFrame writes a head, which tells the length of data, and data.
func writeFrame(w io.Writer, head any, data []byte) error {
	line, err := json.Marshal(head)
	if err != nil {
		return err
	}
	if _, err := w.Write(append(line, '\n')); err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// readHead reads the head of a frame, of at most the bytes that the reader's buffer has.
func readHead(from *bufio.Reader, head any) error {
	line, err := from.ReadSlice('\n')
	if err != nil {
		return unexpectedEnd(err)
	}
	return json.Unmarshal(line, head)
}

// readData fills data with the bytes after a head.
func readData(from *bufio.Reader, data []byte) error {
	_, err := io.ReadFull(from, data)
	return unexpectedEnd(err)
}

// unexpectedEnd returns an error that is not taken for the end of an answer.
func unexpectedEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
