package hbasetest

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// The requests of ZooKeeper's protocol (org.apache.zookeeper.ZooDefs.OpCode) that a client of HBase
// makes.
const (
	zkGetData = 4
	zkPing    = 11
	zkClose   = -11
)

// serveZooKeeper answers a session: the answer for every node is the address of hbase:meta, or of
// the master, which is the same.
func (c *Cluster) serveZooKeeper(conn net.Conn) {
	if _, err := readFrame(conn); err != nil { // ConnectRequest
		return
	}
	hello := binary.BigEndian.AppendUint32(nil, 0)       // protocol version
	hello = binary.BigEndian.AppendUint32(hello, 30_000) // session timeout, ms
	hello = binary.BigEndian.AppendUint64(hello, 1)      // session
	hello = append(binary.BigEndian.AppendUint32(hello, 16), make([]byte, 16)...)
	if writeFrame(conn, hello) != nil {
		return
	}
	for {
		request, err := readFrame(conn)
		if err != nil || len(request) < 8 {
			return
		}
		reply := append([]byte{}, request[:4]...)       // transaction
		reply = binary.BigEndian.AppendUint64(reply, 1) // zxid
		reply = binary.BigEndian.AppendUint32(reply, 0) // no error
		switch int32(binary.BigEndian.Uint32(request[4:])) {
		case zkGetData:
			node := c.metaNode()
			if bytes.Contains(request, []byte("/master")) {
				node = c.masterNode()
			}
			reply = append(binary.BigEndian.AppendUint32(reply, uint32(len(node))), node...)
			reply = append(reply, make([]byte, 68)...) // Stat
		case zkPing, zkClose:
		default:
			return
		}
		if writeFrame(conn, reply) != nil {
			return
		}
	}
}

// metaNode returns the content of /hbase/meta-region-server: hbase:meta is on the first server.
func (c *Cluster) metaNode() []byte {
	return nodeOf(&pb.MetaRegionServer{Server: c.firstServer(), RpcVersion: proto.Uint32(0), State: pb.RegionState_OPEN.Enum()})
}

// masterNode returns the content of /hbase/master.
func (c *Cluster) masterNode() []byte { return nodeOf(&pb.Master{Master: c.firstServer()}) }

func (c *Cluster) firstServer() *pb.ServerName {
	addr := c.rs[0].Addr().(*net.TCPAddr)
	return &pb.ServerName{HostName: new(addr.IP.String()), Port: new(uint32(addr.Port)), StartCode: proto.Uint64(1)}
}

// nodeOf returns the content of a node with a message.
func nodeOf(server proto.Message) []byte {
	// 0xff, the length of an identifier, the identifier, a magic word, the message
	node := append([]byte{0xff, 0, 0, 0, 1, 'x'}, "PBUF"...)
	return append(node, mustMarshal(server)...)
}

func mustMarshal(m proto.Message) []byte {
	b, err := proto.MarshalOptions{AllowPartial: true}.Marshal(m)
	if err != nil {
		panic(err)
	}
	return b
}

func readFrame(r io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err := io.ReadFull(r, frame)
	return frame, err
}

func writeFrame(w io.Writer, frame []byte) error {
	_, err := w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(frame))), frame...))
	return err
}
