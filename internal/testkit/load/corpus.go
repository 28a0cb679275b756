package load

import (
	"bytes"
	"sync"
)

// Format is a wire format of samples.
type Format string

// The formats. OTLP is protobuf without compression. Those of OpenTSDB and the tagged format of carbon have the labels as tags;
// characters that OpenTSDB does not accept are replaced. Carbon's plain names are dc.host.metric
// and the values of the labels that distinguish the series of a host.
const (
	RemoteWrite1 Format = "remote_write 1.0"
	RemoteWrite2 Format = "remote_write 2.0"
	Carbon       Format = "carbon"
	CarbonTagged Format = "carbon tagged"
	Telnet       Format = "telnet put"
	Put          Format = "HTTP put"
	OTLP         Format = "OTLP"
)

// Request is an encoded body, or several encoded lines.
type Request struct {
	Body    []byte
	Samples int
	Step    int // of the last sample
}

// Corpus is everything that a run sends, encoded before the measurement.
type Corpus struct {
	Format  Format
	Shape   Shape
	Lanes   [][]Request // one for each connection
	Samples int
	Bytes   int64
}

// encoder collects samples into a request. The request is valid until the next one is begun.
type encoder interface {
	add(s Sample)
	finish() []byte
}

func (f Format) encoder(shape Shape) encoder {
	switch f {
	case OTLP:
		return newOTLP(shape)
	case RemoteWrite1:
		return &remoteWrite1{}
	case RemoteWrite2:
		return newRemoteWrite2()
	case Put:
		return &putArray{}
	default:
		return &lines{format: f}
	}
}

// Encode encodes the samples of a shape, batch in each request, for a number of connections.
func Encode(shape Shape, format Format, connections, batch int) *Corpus {
	c := &Corpus{Format: format, Shape: shape, Lanes: make([][]Request, connections)}
	lanes := shape.Lanes(connections)
	var group sync.WaitGroup
	for i := range lanes {
		group.Go(func() {
			c.Lanes[i] = lanes[i].requests(format.encoder(shape), batch)
			lanes[i] = Lane{}
		})
	}
	group.Wait()
	for _, lane := range c.Lanes {
		for _, r := range lane {
			c.Samples += r.Samples
			c.Bytes += int64(len(r.Body))
		}
	}
	return c
}

func (l *Lane) requests(e encoder, batch int) []Request {
	var all []Request
	n, step := 0, 0
	cut := func() {
		if n > 0 {
			all = append(all, Request{Body: bytes.Clone(e.finish()), Samples: n, Step: step})
			n = 0
		}
	}
	l.Each(func(s Sample) {
		e.add(s)
		step = s.Step
		if n++; n == batch {
			cut()
		}
	})
	cut()
	return all
}
