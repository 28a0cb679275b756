package pebble

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tsdbridge/tsdbridge/storage"
)

// sumsName is the list of a backup's files with their SHA-256 sums, as sha256sum writes and checks
// it.
const sumsName = "SHA256SUMS"

// ErrNoSums means that a folder has no list of sums: an earlier version made it, or it is no
// backup.
var ErrNoSums = errors.New("has no " + sumsName + " to compare it with")

// writeSums lists the files of a folder.
func writeSums(ctx context.Context, files vfs.FS, dir string) error {
	names, err := listBelow(files, dir, "")
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, name := range names {
		sum, err := sumOf(ctx, files, files.PathJoin(dir, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&list, "%s  %s\n", sum, name)
	}
	f, err := files.Create(files.PathJoin(dir, sumsName), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, list.String())
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return syncFolder(files, dir)
}

// listBelow lists the files in a folder and those below, without the list itself and what is not
// copied, in ascending order.
func listBelow(files vfs.FS, dir, prefix string) (list []string, err error) {
	names, err := files.List(files.PathJoin(dir, prefix))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if prefix == "" && (name == sumsName || notCopied(name)) {
			continue
		}
		below := name
		if prefix != "" {
			below = prefix + "/" + name
		}
		info, err := files.Stat(files.PathJoin(dir, below))
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			list = append(list, below)
			continue
		}
		more, err := listBelow(files, dir, below)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	slices.Sort(list)
	return list, nil
}

func sumOf(ctx context.Context, files vfs.FS, name string) (string, error) {
	f, err := files.Open(name, vfs.SequentialReadsOption)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	for {
		n, err := io.CopyN(sum, f, 8<<20)
		switch {
		case errors.Is(err, io.EOF) && n >= 0:
			return hex.EncodeToString(sum.Sum(nil)), nil
		case err != nil:
			return "", fmt.Errorf("%s: %w", name, err)
		case ctx.Err() != nil:
			return "", ctx.Err()
		}
	}
}

// readSums reads the list of a folder, by name.
func readSums(files vfs.FS, dir string) (map[string]string, error) {
	f, err := files.Open(files.PathJoin(dir, sumsName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%q %w", dir, ErrNoSums)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	sums := map[string]string{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		sum, name, ok := strings.Cut(lines.Text(), "  ")
		if !ok || len(sum) != 2*sha256.Size {
			return nil, fmt.Errorf("%w: %s: line %q", storage.ErrDamaged, files.PathJoin(dir, sumsName), lines.Text())
		}
		sums[name] = sum
	}
	return sums, lines.Err()
}

// Verify reads all files of a backup and compares them with the sums that were taken when it was
// made, and reads all blocks of its tables: the store may have been damaged before. It returns
// storage.ErrDamaged with all that is wrong, or ErrNoSums.
func Verify(ctx context.Context, dir string) error { return verify(ctx, onDisk(), dir) }

func verify(ctx context.Context, files vfs.FS, dir string) error {
	unlock, err := openBackup(dir, files)
	if err != nil {
		return err
	}
	err = compareSums(ctx, files, dir)
	if err == nil || errors.Is(err, storage.ErrDamaged) || errors.Is(err, ErrNoSums) {
		err = errors.Join(err, checkTables(ctx, files, dir))
	}
	return errors.Join(err, unlock())
}

// compareSums returns every difference between a backup and its list.
func compareSums(ctx context.Context, files vfs.FS, dir string) error {
	sums, err := readSums(files, dir)
	if err != nil {
		return err
	}
	names, err := listBelow(files, dir, "")
	if err != nil {
		return err
	}
	var wrong []error
	for _, name := range names {
		want, listed := sums[name]
		delete(sums, name)
		if !listed {
			wrong = append(wrong, fmt.Errorf("%w: %s is not in %s", storage.ErrDamaged, files.PathJoin(dir, name), sumsName))
			continue
		}
		got, err := sumOf(ctx, files, files.PathJoin(dir, name))
		if err != nil {
			return err
		}
		if got != want {
			wrong = append(wrong, fmt.Errorf("%w: %s is not what was written", storage.ErrDamaged, files.PathJoin(dir, name)))
		}
	}
	for name := range sums {
		wrong = append(wrong, fmt.Errorf("%w: %s is missing", storage.ErrDamaged, files.PathJoin(dir, name)))
	}
	return errors.Join(wrong...)
}
