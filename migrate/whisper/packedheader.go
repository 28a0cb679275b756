package whisper

import (
	"encoding/binary"
	"math"

	"github.com/tsdbridge/tsdbridge/graphite/conf"
)

// packedMagic begins the compressed files of go-carbon. packedVersion is the only version that is written.
const (
	packedMagic   = "whisper_compressed"
	packedVersion = 1
)

// Lengths of parts of a compressed file, in bytes, and where numbers are in them.
const (
	packedHeaderBytes  = len(packedMagic) + 1 + 28 + 16
	packedArchiveBytes = 92 + 36

	atCurrent, atWritten = 24, 68
)

// packedMethods are the names of aggregation methods, by their numbers from 1. The one after them is that of files which
// have several archives for each step, each with a method of its own.
var packedMethods = []string{"average", "sum", "last", "max", "min", "first"}

// packedUnits is how many slots of the next archive a buffer has points of.
const packedUnits = 2

// parsePacked reads a compressed file, as compress.go of go-whisper writes it:
//
//	file    = header archives, for each archive: ranges buffer, for each archive: blocks
//	header  = "whisper_compressed" version(1) method(4) greatest retention(4) xFilesFactor(4, float) points in a
//	          block(4) number of archives(4) bytes of a point(4, float) checksum(4) unused(16)
//	archive = offset of the blocks(4) step(4) slots(4) bytes of a block(4) number of blocks(4) bytes of a point(4, float)
//	          current block(4) its first, last, and last but one point(12 each) its last byte(4) offset of that(4) bits
//	          left in it(4) number of points(4) checksum(4) statistics(8) unused(36)
//	ranges  = for each block: first time(4) last time(4) number of points(4) checksum(4)
//	buffer  = slots, as those of whisper; the last archive has none
//
// Numbers are big-endian, checksums CRC-32. That of the header is not compared: go-carbon changes method and xFilesFactor
// without it.
func parsePacked(data []byte) (*File, error) {
	if len(data) < packedHeaderBytes {
		return nil, damaged("%d bytes are no header of a compressed file", len(data))
	}
	if v := data[len(packedMagic)]; v != packedVersion {
		return nil, damaged("it is compressed with the version %d, which is not read", v)
	}
	head := data[len(packedMagic)+1:]
	method, longest, count := binary.BigEndian.Uint32(head), binary.BigEndian.Uint32(head[4:]), binary.BigEndian.Uint32(head[16:])
	f := &File{Header: Header{XFF: float64(math.Float32frombits(binary.BigEndian.Uint32(head[8:])))}}
	switch {
	case int(method) == len(packedMethods)+1:
		return nil, damaged("it has archives of several methods for each step (mix), which are not read")
	case method < 1 || int(method) > len(packedMethods):
		return nil, damaged("aggregation method %d", method)
	case count < 1 || count > MaxArchives:
		return nil, damaged("%d archives", count)
	}
	f.Method = packedMethods[method-1]
	rest, ok := cut(data[packedHeaderBytes:], int(count)*packedArchiveBytes)
	if !ok {
		return nil, damaged("it ends in the list of its %d archives", count)
	}
	list := data[packedHeaderBytes : len(data)-len(rest)]
	for i := range int(count) {
		at := list[i*packedArchiveBytes:]
		f.Archives = append(f.Archives, conf.Archive{Step: int64(binary.BigEndian.Uint32(at[4:])), Points: int64(binary.BigEndian.Uint32(at[8:]))})
	}
	if err := f.checkPacked(int64(longest)); err != nil {
		return nil, err
	}
	return f, f.parseBlocks(data, list)
}

// cut returns what follows the first n bytes.
func cut(data []byte, n int) (rest []byte, ok bool) {
	if n < 0 || n > len(data) {
		return nil, false
	}
	return data[n:], true
}

// checkPacked returns what is wrong with the archives of a compressed file.
func (f *File) checkPacked(longest int64) error {
	for i, a := range f.Archives {
		if a.Step == 0 || a.Points == 0 {
			return damaged("archive %d has %d slots of %d s", i, a.Points, a.Step)
		}
	}
	if err := f.check(); err != nil {
		return damaged("%v", err)
	}
	if f.size() > MaxBytes {
		return damaged("archives of %d slots; at most %d are read", (f.size()-headerBytes)/slotBytes, MaxBytes/slotBytes)
	}
	if last := f.Archives[len(f.Archives)-1].Retention(); longest != last {
		return damaged("it reaches back %d s, and its last archive %d s", longest, last)
	}
	return nil
}

// parseBlocks finds the blocks and the buffers of a compressed file by the list of its archives.
func (f *File) parseBlocks(data, list []byte) error {
	rest := data[packedHeaderBytes+len(list):]
	var finer *packed
	all := 0 // bytes of blocks
	for i, info := range f.Archives {
		at := list[i*packedArchiveBytes:]
		number := func(at []byte) int { return int(binary.BigEndian.Uint32(at)) }
		a := &packed{data: data, step: info.Step, slots: info.Points, offset: number(at), size: number(at[12:]), finer: finer, xff: float32(f.XFF)}
		blocks, current := number(at[16:]), number(at[atCurrent:])
		if a.size < slotBytes || blocks < 1 || blocks > len(data)/a.size || a.offset > len(data)-blocks*a.size {
			return damaged("archive %d has %d blocks of %d bytes at %d of %d", i, blocks, a.size, a.offset, len(data))
		}
		all += blocks * a.size
		first := a.offset + current*a.size
		if a.current, a.written = current, max(number(at[atWritten:])-first, 0); current >= blocks || a.written > a.size {
			return damaged("archive %d writes to byte %d of block %d of %d", i, a.written, current, blocks)
		}
		ranges, buffer := blocks*rangeBytes, 0
		if i+1 < len(f.Archives) {
			a.unit = int(f.Archives[i+1].Step / info.Step)
			buffer = a.unit * slotBytes * packedUnits
		}
		after, ok := cut(rest, ranges+buffer)
		if !ok {
			return damaged("it ends in the ranges of archive %d", i)
		}
		a.ranges, a.buffer, rest = rest[:ranges], rest[ranges:ranges+buffer], after
		var err error
		if a.aggregate, err = conf.NewAggregation(f.Method, "0"); err != nil {
			return damaged("%v", err)
		}
		f.archives, finer = append(f.archives, a), a
	}
	if all > len(rest) {
		return damaged("blocks of %d bytes lie over each other", all)
	}
	return nil
}
