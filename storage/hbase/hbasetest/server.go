package hbasetest

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"sync"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// javaPackage is the package of most of HBase's exceptions; clients distinguish them by their class
// alone.
const javaPackage = "org.apache.hadoop.hbase."

// An exception refuses a request.
type exception string

func (e exception) Error() string { return string(e) }

const (
	notServing      exception = javaPackage + "NotServingRegionException"
	noFamily        exception = javaPackage + "regionserver.NoSuchColumnFamilyException"
	unknownScanner  exception = javaPackage + "UnknownScannerException"
	outOfOrder      exception = javaPackage + "exceptions.OutOfOrderScannerNextException"
	doNotRetry      exception = javaPackage + "DoNotRetryIOException"
	notALongMessage           = "Field is not a long, it's not 8 bytes wide"
)

var errLost = errors.New("the answer is lost")

// serveRegions answers the requests of one connection. Like HBase it answers each as soon as it
// can: a held request delays no other.
func (c *Cluster) serveRegions(server int, conn net.Conn) {
	in := bufio.NewReader(conn)
	if _, err := io.CopyN(io.Discard, in, int64(len("HBas\x00\x50"))); err != nil {
		return
	}
	if _, err := readFrame(in); err != nil { // ConnectionHeader
		return
	}
	var writing sync.Mutex
	var requests sync.WaitGroup
	defer requests.Wait()
	for {
		frame, err := readFrame(in)
		if err != nil {
			return
		}
		requests.Go(func() {
			answer, err := c.handle(server, frame)
			writing.Lock()
			defer writing.Unlock()
			if err != nil || writeFrame(conn, answer) != nil {
				conn.Close() // which ends the reading as well
			}
		})
	}
}

// handle decodes a request, has it carried out and encodes the answer. An error is a lost one.
func (c *Cluster) handle(server int, frame []byte) ([]byte, error) {
	var header pb.RequestHeader
	raw, n := protowire.ConsumeBytes(frame)
	if err := proto.Unmarshal(raw, &header); err != nil {
		return nil, err
	}
	body, m := protowire.ConsumeBytes(frame[n:])
	call := &request{c: c, server: server, method: header.GetMethodName(), body: body, in: frame[n+m:]}
	response, err := call.run()
	reply := &pb.ResponseHeader{CallId: header.CallId}
	var refused exception
	switch {
	case errors.As(err, &refused):
		reply.Exception = &pb.ExceptionResponse{
			ExceptionClassName: new(string(refused)),
			StackTrace:         new(string(refused) + ": " + message(refused) + "\n\tat some.Java(Source.java:1)"),
		}
		response, call.out = nil, nil
	case err != nil:
		return nil, err
	}
	if len(call.out) > 0 {
		reply.CellBlockMeta = &pb.CellBlockMeta{Length: new(uint32(len(call.out)))}
	}
	out := protowire.AppendBytes(nil, mustMarshal(reply))
	if response != nil {
		out = protowire.AppendBytes(out, mustMarshal(response))
	}
	return append(out, call.out...), nil
}

func message(e exception) string {
	if e == doNotRetry {
		return notALongMessage
	}
	return "as the test wants it"
}

// A request is being carried out.
type request struct {
	c      *Cluster
	server int
	method string
	body   []byte
	in     []byte // cells of the request not read yet
	out    []byte // cells of the answer
	fault  Fault
}

// run decodes the request, asks the test for a fault and carries the request out.
func (r *request) run() (proto.Message, error) {
	var msg proto.Message
	var spec func() *pb.RegionSpecifier
	what := Request{Method: r.method}
	switch r.method {
	case "Get":
		m := &pb.GetRequest{}
		msg, spec = m, m.GetRegion
	case "Mutate":
		m := &pb.MutateRequest{}
		msg, spec = m, m.GetRegion
	case "Multi":
		m := &pb.MultiRequest{}
		msg, spec = m, func() *pb.RegionSpecifier { return m.GetRegionAction()[0].GetRegion() }
	case "Scan":
		m := &pb.ScanRequest{}
		msg, spec = m, m.GetRegion
	case "FlushRegion", "CompactRegion": // of the AdminService
		m := &pb.CompactRegionRequest{}
		msg, spec = m, m.GetRegion
	case "GetClusterStatus": // of the master
		return r.c.status(), nil
	default:
		return nil, doNotRetry
	}
	if err := (proto.UnmarshalOptions{AllowPartial: true}).Unmarshal(r.body, msg); err != nil {
		return nil, err
	}
	if bytes.HasPrefix(spec().GetValue(), []byte("hbase:meta,")) {
		return r.meta(msg)
	}
	if scan, ok := msg.(*pb.ScanRequest); ok {
		what.Next, what.Close = scan.ScannerId != nil, scan.GetCloseScanner()
	}
	what.Table, _, _ = bytesCut(spec().GetValue(), ",")
	if err := r.interfere(what); err != nil {
		return nil, err
	}
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	r.c.counts[r.method]++
	response, err := r.execute(msg)
	if r.fault.Garble != nil {
		r.fault.Garble(r.out)
	}
	if err == nil && r.fault.Lose {
		return nil, errLost
	}
	return response, err
}

// status is the answer of the master: its version and nothing else.
func (c *Cluster) status() *pb.GetClusterStatusResponse {
	status := &pb.ClusterStatus{}
	if c.Version != "" {
		status.HbaseVersion = &pb.HBaseVersionFileContent{Version: &c.Version}
	}
	return &pb.GetClusterStatusResponse{ClusterStatus: status}
}

func bytesCut(b []byte, sep string) (before, after string, found bool) {
	x, y, ok := bytes.Cut(b, []byte(sep))
	return string(x), string(y), ok
}

// meta answers for hbase:meta, which gohbase queries by itself. These requests never fail.
func (r *request) meta(msg proto.Message) (proto.Message, error) {
	switch m := msg.(type) {
	case *pb.ScanRequest:
		return r.scanMeta(m), nil
	case *pb.GetRequest:
		if columns := m.GetGet().GetColumn(); len(columns) == 1 && string(columns[0].GetFamily()) == "table" {
			return r.tableState(m.GetGet()), nil
		}
		// Is it open?
		return &pb.GetResponse{Result: &pb.Result{Exists: new(false)}}, nil
	}
	return nil, doNotRetry
}

// tableState answers with the cell that reports whether a table is enabled, as a TableState.
func (r *request) tableState(get *pb.Get) *pb.GetResponse {
	r.c.mu.Lock()
	defer r.c.mu.Unlock()
	state := []byte{8, 0}
	if r.c.tables[string(get.GetRow())].disabled {
		state = []byte{8, 1}
	}
	return &pb.GetResponse{Result: &pb.Result{Cell: []*pb.Cell{
		{Row: get.GetRow(), Family: []byte("table"), Qualifier: []byte("state"), Value: state},
	}}}
}

// interfere asks the test for a fault.
func (r *request) interfere(what Request) error {
	c := r.c
	c.mu.Lock()
	what.N = c.counts["asked "+r.method]
	c.counts["asked "+r.method]++
	choose := c.onCall
	c.mu.Unlock()
	r.fault = choose(what)
	if r.fault.Do != nil {
		r.fault.Do()
	}
	if r.fault.Hold != nil {
		select {
		case <-r.fault.Hold:
		case <-c.end:
			return errLost
		}
	}
	if r.fault.Exception != "" {
		return exception(r.fault.Exception)
	}
	return nil
}

func (r *request) execute(msg proto.Message) (proto.Message, error) {
	switch m := msg.(type) {
	case *pb.GetRequest:
		return r.get(m)
	case *pb.MutateRequest:
		return r.mutate(m)
	case *pb.MultiRequest:
		return r.multi(m), nil
	case *pb.ScanRequest:
		return r.scan(m)
	case *pb.CompactRegionRequest:
		return r.compact(m)
	}
	return nil, doNotRetry
}

// compact notes that a region is to be written to files, or compacted: a fake has no files.
func (r *request) compact(m *pb.CompactRegionRequest) (proto.Message, error) {
	region, err := r.region(m.GetRegion())
	if err != nil {
		return nil, err
	}
	what := r.method
	if m.GetMajor() {
		what += " major"
	}
	r.c.upkeep = append(r.c.upkeep, what+" "+region.name)
	return &pb.CompactRegionResponse{}, nil
}

// region finds the region of a request on this server.
func (r *request) region(spec *pb.RegionSpecifier) (*region, error) {
	for _, t := range r.c.tables {
		for _, region := range t.regions {
			if !t.disabled && region.name == string(spec.GetValue()) && region.server == r.server {
				return region, nil
			}
		}
	}
	return nil, notServing
}
