package carbon

import (
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// The fields of carbon's messages (carbon.proto): Payload has metrics, Metric has a name and points,
// Point has a time and a value.
const (
	payloadMetrics = 1
	metricName     = 1
	metricPoints   = 2
	pointTime      = 1 // uint32, seconds
	pointValue     = 2 // double
)

// parseProtobuf adds the points of a frame of carbon's protobuf protocol to it. Its rules are those of
// MetricProtobufReceiver of carbon 1.1.10; a frame is taken as a whole or not at all.
func parseProtobuf(f *frame, now int64, refuse func(Reason, []byte)) Reason {
	ok := eachField(f.bytes, func(number protowire.Number, kind protowire.Type, value []byte, _ uint64) bool {
		return number != payloadMetrics || kind != protowire.BytesType || addMetric(f, value, now, refuse)
	})
	if !ok {
		f.empty()
		return ReasonFrame
	}
	return 0
}

// addMetric adds the points of a Metric; false if it is malformed.
func addMetric(f *frame, message []byte, now int64, refuse func(Reason, []byte)) bool {
	var name []byte
	ok := eachField(message, func(number protowire.Number, kind protowire.Type, value []byte, _ uint64) bool {
		if number == metricName && kind == protowire.BytesType {
			name = value
		}
		return true
	})
	if !ok || !utf8.Valid(name) {
		return false
	}
	return eachField(message, func(number protowire.Number, kind protowire.Type, value []byte, _ uint64) bool {
		if number != metricPoints || kind != protowire.BytesType {
			return true
		}
		at, v, ok := readPoint(value)
		if !ok || f.full() {
			return false
		}
		if point, reason := newPoint(name, float64(at), v, now); reason != 0 {
			refuse(reason, name)
		} else {
			f.add(point)
		}
		return true
	})
}

// readPoint reads a Point. What is missing is 0.
func readPoint(message []byte) (at uint32, value float64, ok bool) {
	ok = eachField(message, func(number protowire.Number, kind protowire.Type, _ []byte, bits uint64) bool {
		switch {
		case number == pointTime && kind == protowire.VarintType:
			at = uint32(bits) //nolint:gosec // as protobuf reads a uint32
		case number == pointValue && kind == protowire.Fixed64Type:
			value = math.Float64frombits(bits)
		}
		return true
	})
	return at, value, ok
}

// eachField calls use with each field of a message: with the bytes of one that has a length, with the bits
// of a number. It returns false if the message is malformed, or use does.
func eachField(message []byte, use func(number protowire.Number, kind protowire.Type, value []byte, bits uint64) bool) bool {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return false
		}
		message = message[n:]
		var value []byte
		var bits uint64
		switch kind {
		case protowire.BytesType:
			value, n = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			bits, n = protowire.ConsumeVarint(message)
		case protowire.Fixed64Type:
			bits, n = protowire.ConsumeFixed64(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 || !use(number, kind, value, bits) {
			return false
		}
		message = message[n:]
	}
	return true
}
