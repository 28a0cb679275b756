package graphitefiles

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/tsdbridge/tsdbridge/graphite/conf"
	"github.com/tsdbridge/tsdbridge/migrate/ceres"
	"github.com/tsdbridge/tsdbridge/migrate/pipeline"
	"github.com/tsdbridge/tsdbridge/migrate/whisper"
)

// Ceres implements pipeline.FileStore for the series of ceres below Dir: data is what its file of properties holds. Its slices
// are read beside that.
func (f *Import) Ceres(ctx context.Context, path string, data []byte) (points int64, err error) {
	name, ok := ceres.NameOf(path)
	if !ok {
		return 0, pipeline.SkipError{Err: errors.New("the tree itself is no series")}
	}
	files, size, err := sliceFiles(filepath.Join(f.Dir, filepath.FromSlash(filepath.Dir(path))))
	if err != nil {
		return 0, pipeline.SkipError{Err: err}
	}
	back, err := f.held.take(ctx, []conf.Archive{{Step: 1, Points: 2 * size / 8}}) // as slices, and as points
	if err != nil {
		return 0, err
	}
	defer back()
	all, damaged := readSlices(files)
	node, err := ceres.ParseNode(data, all)
	if err != nil {
		return 0, pipeline.SkipError{Err: errors.Join(err, damaged)}
	}
	points, _, err = f.archives(ctx, name, &node.Header, node.Points)
	if n := node.Strange(); n > 0 {
		damaged = errors.Join(damaged, fmt.Errorf("%w: %d slices have a step that is in no retention, and are left out", ceres.ErrDamaged, n))
	}
	if err == nil && damaged != nil {
		err = pipeline.SkipError{Err: damaged, Points: points}
	}
	return points, err
}

// A sliceFile is a file of a slice.
type sliceFile struct {
	path        string
	start, step int64
}

// sliceFiles returns the slices in the directory of a series, and the bytes of all.
func sliceFiles(dir string) (files []sliceFile, size int64, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, 0, err
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".slice" {
			continue
		}
		start, step, ok := ceres.ParseSliceName(e.Name())
		info, err := e.Info()
		switch {
		case !ok:
			return nil, 0, fmt.Errorf("%w: %q is no name of a slice", ceres.ErrDamaged, e.Name())
		case err != nil || !info.Mode().IsRegular():
			return nil, 0, fmt.Errorf("%w: %s is no file", ceres.ErrDamaged, e.Name())
		}
		files, size = append(files, sliceFile{filepath.Join(dir, e.Name()), start, step}), size+info.Size()
		if size > whisper.MaxBytes || len(files) > ceres.MaxSlices {
			return nil, 0, fmt.Errorf("%d slices of %d bytes; at most %d of %d are read", len(files), size, ceres.MaxSlices, whisper.MaxBytes)
		}
	}
	return files, size, nil
}

// readSlices reads slices. damaged tells of those that cannot be read.
func readSlices(files []sliceFile) (all []ceres.Slice, damaged error) {
	for _, file := range files {
		data, err := os.ReadFile(file.path)
		if err == nil {
			var s ceres.Slice
			if s, err = ceres.ParseSlice(file.start, file.step, data); err == nil {
				all = append(all, s)
			}
		}
		damaged = errors.Join(damaged, err)
	}
	return all, damaged
}
