package schema

import "math"

// maxBuckets is the greatest number of buckets: OpenTSDB computes them in Java ints.
const maxBuckets = math.MaxInt32

// Bucket returns the salt bucket of a series: all of its hours share it. It is 0 when rows are not
// salted. OpenTSDB 2.4 RowKey.prefixKeyWithSalt: Java's Arrays.hashCode over metric and tags, its
// truncating remainder, its absolute value.
func (l Layout) Bucket(tsuid []byte) int {
	if l.SaltWidth == 0 {
		return 0
	}
	bucket := int(javaHash(tsuid)) % l.SaltBuckets
	return max(bucket, -bucket)
}

// Buckets returns the number of scans that see every series: 1 when rows are not salted.
func (l Layout) Buckets() int {
	if l.SaltWidth == 0 {
		return 1
	}
	return l.SaltBuckets
}

// AppendSalt appends a bucket as a row key begins with it: unsigned, big-endian, nothing when rows
// are not salted.
func (l Layout) AppendSalt(dst []byte, bucket int) []byte {
	return appendUint(dst, uint64(bucket), l.SaltWidth)
}

// javaHash is java.util.Arrays.hashCode(byte[]): bytes are signed and the int wraps.
func javaHash(b []byte) int32 {
	h := int32(1)
	for _, c := range b {
		h = 31*h + int32(int8(c))
	}
	return h
}

// appendUint appends the low width bytes of v, big-endian.
func appendUint(dst []byte, v uint64, width int) []byte {
	for shift := 8 * (width - 1); shift >= 0; shift -= 8 {
		dst = append(dst, byte(v>>shift))
	}
	return dst
}
