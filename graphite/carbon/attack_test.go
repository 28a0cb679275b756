package carbon

import (
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// attackFrame is the length of the frames of attackers.
const attackFrame = 1<<20 - 16

func repeated(head, piece, tail string) string {
	return head + strings.Repeat(piece, (attackFrame-len(head)-len(tail))/len(piece)) + tail
}

// pickleBombs are frames that are meant to take memory, time, or the process.
func pickleBombs() []string {
	return []string{
		repeated("", "(", "."), repeated("", ")", "."), repeated("", "]", "."), repeated("", "}", "."),
		repeated("N", "\x85", "."), repeated("]", "]a", "."), repeated("N", "2", "."), repeated("](", "N", "e."),
		repeated("", "]N\x94a", "."), repeated("N", "r\xff\xff\x0f\x00", "."), repeated("]q\x00", "(h\x00h\x00h\x00e", "."),
		repeated("", "K\x010", "."), repeated("I", "9", "\n."), repeated("", "I1"+strings.Repeat("0", 4000)+"\n", "."),
		repeated("X\x10\x27\x00\x00"+strings.Repeat("x", 10_000)+"q\x00](", "h\x00K\x05K\x06\x86\x86", "e."),
		"\x80\x02cos\nsystem\nX\x02\x00\x00\x00id\x85R.", "\x80\x02}}b.", "(ios\nsystem\n.", ")\x81.", "\x82\x01.", "\x8c\x02os\x8c\x06system\x93.",
		"\x8b\xff\xff\xff\x7f.", "\x8b\xff\xff\xff\xff.", "\x8d\x00\x00\x00\x00\x00\x00\x00\x80.", "\x8e\xff\xff\xff\xff\xff\xff\xff\xff.",
		"X\xff\xff\xff\xff.", "\x95\xff\xff\xff\xff\xff\xff\xff\xff.", "]q\x00h\x00a.",
	}
}

// protobufBombs are the same for protobuf.
func protobufBombs() []string {
	shared := protowire.AppendString([]byte{metricName<<3 | 2}, strings.Repeat("n", attackFrame/2))
	for len(shared) < attackFrame-20 {
		shared = append(shared, metricPoints<<3|2, 2, pointTime<<3, 1)
	}
	return []string{
		repeated("", "\x0b", ""), repeated("", "\x0a\x00", ""), repeated("", "\x0a\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", ""),
		"\x0a\xff\xff\xff\xff\x0f", string(protowire.AppendBytes([]byte{payloadMetrics<<3 | 2}, shared)),
	}
}

// goodFrames are ports with a frame of one point, named good.
func goodFrames() map[string]string {
	return map[string]string{
		protocolPickle:   framed([]byte("](X\x06\x00\x00\x00good.pK\x05K\x01\x86\x86e.")),
		protocolProtobuf: framed([]byte("\x0a\x15\x0a\x06good.b\x12\x0b\x08\x05\x11\x00\x00\x00\x00\x00\x00\xf0\x3f")),
		protocolTCP:      "good.l 1 5\n",
	}
}

// TestAttack: while connections send bombs, announce frames and do not send them, or are silent, the points of
// others arrive, and memory stays in bounds.
func TestAttack(t *testing.T) {
	s := startServer(t, func(o *Options) {
		o.PickleAddress, o.ProtobufAddress, o.MaxConnections = "127.0.0.1:0", "127.0.0.1:0", 40
	})
	good := map[string]net.Conn{protocolTCP: s.dial("tcp")}
	for _, protocol := range []string{protocolPickle, protocolProtobuf} {
		good[protocol] = s.dialFramed(protocol)
	}
	const rounds = 30
	waitGood := func(n int) {
		s.sink.wait(func() bool {
			return n <= len(slices.DeleteFunc(slices.Clone(s.sink.points), func(p string) bool { return !strings.HasPrefix(p, "good.") }))
		})
	}
	stop, peak := make(chan struct{}), make(chan uint64, 1)
	go func() { peak <- peakMemory(stop) }()
	var attackers sync.WaitGroup
	for round := 1; round <= rounds; round++ {
		for protocol, text := range goodFrames() {
			s.send(good[protocol], text)
		}
		waitGood(3 * round) // none is held up for long
		if round == 1 {
			s.attack(&attackers, protocolPickle, pickleBombs())
			s.attack(&attackers, protocolProtobuf, protobufBombs())
		}
	}
	attackers.Wait()
	close(stop)
	if most := <-peak; most > 512<<20 {
		t.Errorf("%d MiB in memory", most>>20)
	}
}

// attack opens more connections than the port takes, all of which begin a frame, and others that send bombs.
func (s *server) attack(attackers *sync.WaitGroup, protocol string, bombs []string) {
	for range 60 {
		_, _ = s.dialFramed(protocol).Write([]byte(framed(make([]byte, attackFrame))[:100])) // it may be closed already
	}
	for _, frame := range bombs {
		conn := s.dialFramed(protocol)
		attackers.Go(func() { bomb(conn, framed([]byte(frame))) })
	}
}

// bomb sends a frame and waits until it was read.
func bomb(conn net.Conn, frame string) {
	_, _ = conn.Write([]byte(frame))
	_ = conn.(*net.TCPConn).CloseWrite()
	waitClosed(conn)
}

// peakMemory returns the most memory in use until stop is closed.
func peakMemory(stop <-chan struct{}) (most uint64) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		most = max(most, m.HeapInuse)
		select {
		case <-stop:
			return most
		case <-tick.C:
		}
	}
}
