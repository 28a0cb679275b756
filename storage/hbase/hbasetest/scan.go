package hbasetest

import (
	"bytes"
	"fmt"
	"net"
	"slices"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// A scanner is a cursor in one region.
type scanner struct {
	region *region
	scan   *pb.Scan
	next   string // the first key not sent whole
	sent   int    // cells of that row that were sent
	seq    uint64 // the number that the next request must have
}

func (r *request) scan(m *pb.ScanRequest) (proto.Message, error) {
	region, err := r.region(m.GetRegion())
	if err != nil {
		return nil, err
	}
	id := m.GetScannerId()
	s := r.c.scanners[id]
	switch {
	case m.ScannerId == nil:
		family := string(m.GetScan().GetColumn()[0].GetFamily())
		if !slices.Contains(region.table.families, family) {
			return nil, noFamily
		}
		r.c.lastID++
		id = r.c.lastID
		s = &scanner{region: region, scan: m.GetScan(), next: string(m.GetScan().GetStartRow())}
		r.c.scanners[id] = s
		if m.GetCloseScanner() {
			defer delete(r.c.scanners, id)
		}
	case s == nil || s.region != region:
		return nil, unknownScanner
	case m.GetCloseScanner():
		delete(r.c.scanners, id)
		return &pb.ScanResponse{ScannerId: &id, MoreResults: new(false)}, nil
	case m.NextCallSeq != nil && m.GetNextCallSeq() != s.seq:
		return nil, outOfOrder
	default:
		s.seq++
	}
	response := &pb.ScanResponse{ScannerId: &id, MoreResults: new(true), MoreResultsInRegion: new(true)}
	if r.fault.Empty {
		response.HeartbeatMessage = new(true)
		return response, nil
	}
	if r.page(s, int(m.GetNumberOfRows()), response) {
		response.MoreResultsInRegion = new(false)
		delete(r.c.scanners, id)
	}
	return response, nil
}

// page sends rows until the answer is full; end means that the region has no more.
func (r *request) page(s *scanner, rows int, response *pb.ScanResponse) (end bool) {
	column := s.scan.GetColumn()[0]
	left := r.c.PageCells
	rows = min(rows, r.c.PageRows)
	keys := s.region.table.sorted()
	at, _ := slices.BinarySearch(keys, max(s.next, string(s.region.start)))
	for _, key := range keys[at:] {
		if !s.region.holds([]byte(key)) || s.beyondStop(key) {
			return true
		}
		cells := s.region.table.cells([]byte(key), string(column.GetFamily()), column.GetQualifier(), int64(s.scan.GetTimeRange().GetFrom()))
		if key == s.next {
			cells = cells[min(s.sent, len(cells)):]
		} else {
			s.sent = 0
		}
		s.next = key
		if len(cells) == 0 {
			continue
		}
		n := min(len(cells), left)
		for _, c := range cells[:n] {
			r.out = c.appendTo(r.out)
		}
		response.CellsPerResult = append(response.CellsPerResult, uint32(n))
		response.PartialFlagPerResult = append(response.PartialFlagPerResult, n < len(cells))
		s.sent += n
		left -= n
		rows--
		if n < len(cells) || rows == 0 || left == 0 {
			return false // without checking whether more follows
		}
	}
	return true
}

// beyondStop takes an empty range for one row, as HBase does for clients that do not report whether
// the stop is included.
func (s *scanner) beyondStop(key string) bool {
	start, stop := string(s.scan.GetStartRow()), string(s.scan.GetStopRow())
	if stop == "" {
		return false
	}
	if start == stop {
		return key > stop
	}
	return key >= stop
}

// scanMeta answers the two questions for hbase:meta. gohbase asks which region of a table holds a
// key: the start row is "table,key,:" and the stop row, since the scan goes backwards, the table.
// The engine lists the regions of a table forwards, from "table,,".
func (r *request) scanMeta(m *pb.ScanRequest) proto.Message {
	c := r.c
	c.mu.Lock()
	defer c.mu.Unlock()
	response := &pb.ScanResponse{MoreResults: new(false)}
	name, rest, _ := bytes.Cut(m.GetScan().GetStartRow(), []byte(","))
	t := c.tables[string(name)]
	if t == nil {
		return response
	}
	if !m.GetScan().GetReversed() {
		for _, region := range t.regions {
			for _, known := range c.metaCells(region, name) {
				c := cell{row: known.Row, family: "info", qualifier: known.Qualifier, value: known.Value, kind: typePut}
				r.out = c.appendTo(r.out)
			}
			response.CellsPerResult = append(response.CellsPerResult, 2)
			response.PartialFlagPerResult = append(response.PartialFlagPerResult, false)
		}
		return response
	}
	region := t.regionOf(bytes.TrimSuffix(rest, []byte(",:")))
	response.Results = []*pb.Result{{Cell: c.metaCells(region, name)}}
	return response
}

// metaCells returns the row of a region in hbase:meta.
func (c *Cluster) metaCells(region *region, table []byte) []*pb.Cell {
	info := mustMarshal(&pb.RegionInfo{
		RegionId: &region.id, TableName: &pb.TableName{Namespace: []byte("default"), Qualifier: table}, StartKey: region.start, EndKey: region.stop,
	})
	addr := c.rs[region.server].Addr().(*net.TCPAddr)
	cells := []*pb.Cell{
		{Qualifier: []byte("regioninfo"), Value: append([]byte("PBUF"), info...)},
		{Qualifier: []byte("server"), Value: fmt.Appendf(nil, "%s:%d", addr.IP, addr.Port)},
	}
	for _, cell := range cells {
		cell.Row, cell.Family = []byte(region.name), []byte("info")
	}
	return cells
}
