package canvas

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"

	"github.com/klauspost/compress/zlib"
)

// writePNG returns an image as a PNG file. image/png tries five filters for each row, which takes longer
// than drawing the picture; large areas of one colour need none.
func writePNG(img *image.RGBA, opaque bool) ([]byte, error) {
	const (
		depth       = 8
		opaqueKind  = 2 // RGB
		alphaKind   = 6 // RGB and opacity
		headerBytes = 13
	)
	var out bytes.Buffer
	out.WriteString("\x89PNG\r\n\x1a\n")
	kind := byte(opaqueKind)
	if !opaque {
		kind = alphaKind
	}
	header := binary.BigEndian.AppendUint32(make([]byte, 0, headerBytes), uint32(img.Rect.Dx())) //nolint:gosec // a side is at most mostSide
	header = binary.BigEndian.AppendUint32(header, uint32(img.Rect.Dy()))                        //nolint:gosec // a side is at most mostSide
	header = append(header, depth, kind, 0, 0, 0)
	for _, chunk := range []struct {
		name  string
		write func() error
	}{
		{"IHDR", func() error { out.Write(header); return nil }},
		{"IDAT", func() error { return writePixels(&out, img, kind == alphaKind) }},
		{"IEND", func() error { return nil }},
	} {
		if err := writeChunk(&out, chunk.name, chunk.write); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// writeChunk writes a part of a PNG file: its length, its name, itself and its checksum.
func writeChunk(out *bytes.Buffer, name string, write func() error) error {
	begin := out.Len()
	out.WriteString("size" + name)
	if err := write(); err != nil {
		return err
	}
	chunk := out.Bytes()[begin:]
	binary.BigEndian.PutUint32(chunk, uint32(len(chunk)-8)) //nolint:gosec // a picture is smaller
	out.Write(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(chunk[4:])))
	return nil
}

// writePixels writes the rows of an image, compressed, each after a byte that says that it is not filtered.
func writePixels(out *bytes.Buffer, img *image.RGBA, alpha bool) error {
	to, err := zlib.NewWriterLevel(out, zlib.BestSpeed)
	if err != nil {
		return err
	}
	width := img.Rect.Dx()
	row := make([]byte, 1, 1+4*width)
	for y := range img.Rect.Dy() {
		row = row[:1]
		from := img.Pix[y*img.Stride:][:4*width]
		for x := 0; x < len(from); x += 4 {
			pixel := from[x : x+4 : x+4]
			if alpha {
				row = append(row, straight(pixel[0], pixel[3]), straight(pixel[1], pixel[3]), straight(pixel[2], pixel[3]), pixel[3])
			} else {
				row = append(row, pixel[0], pixel[1], pixel[2])
			}
		}
		if _, err := to.Write(row); err != nil {
			return err
		}
	}
	return to.Close()
}

// straight is a colour that is not multiplied by its opacity.
func straight(c, alpha byte) byte {
	if alpha == 0 {
		return 0
	}
	return byte(min(uint32(c)*255/uint32(alpha), 255))
}
