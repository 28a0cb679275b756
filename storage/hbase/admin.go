package hbase

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"

	"github.com/tsdbridge/tsdbridge/storage/kv"
)

// createTimeout is for one table with all its regions.
const createTimeout = 5 * time.Minute

// CreateTables makes the tables that do not exist. Those that do are left as they are, if they have
// the families.
func (e *Engine) CreateTables(ctx context.Context, specs []TableSpec) error {
	a := e.o.newAdmin()
	defer a.close()
	for _, t := range specs {
		if limit, err := a.ensure(ctx, t, e.o.Timeout); err != nil {
			return e.explain(ctx, "create", t.Name, err, limit)
		}
	}
	return nil
}

// DescribeTables returns how tables are made, as TableSpecs without the splits. A table that does
// not exist is kv.ErrNoTable.
func (e *Engine) DescribeTables(ctx context.Context, names []string) ([]TableSpec, error) {
	a := e.o.newAdmin()
	defer a.close()
	ctx, cancel := context.WithTimeout(ctx, e.o.Timeout)
	defer cancel()
	var specs []TableSpec
	for _, name := range names {
		schema, err := a.describe(ctx, name)
		if err == nil && schema == nil {
			err = kv.ErrNoTable
		}
		if err != nil {
			return nil, e.explain(ctx, "describe", name, err, e.o.Timeout)
		}
		specs = append(specs, TableSpec{Name: name, Families: families(schema)})
	}
	return specs, nil
}

// defaultBlock is HBase's own BLOCKSIZE.
const defaultBlock = 64 << 10

// families reads the attributes that a Family has; forever is the greatest number of seconds.
func families(schema *pb.TableSchema) []Family {
	var out []Family
	for _, s := range schema.GetColumnFamilies() {
		f := Family{Name: string(s.GetName())}
		for _, a := range s.GetAttributes() {
			switch value := string(a.GetSecond()); string(a.GetFirst()) {
			case "VERSIONS":
				f.Versions, _ = strconv.Atoi(value) // HBase wrote it
			case "BLOOMFILTER":
				f.Bloom = value
			case "DATA_BLOCK_ENCODING":
				f.Encoding = value
			case "COMPRESSION":
				f.Compression = value
			case "BLOCKSIZE":
				if size, err := strconv.Atoi(value); err == nil && size != defaultBlock {
					f.Block = size
				}
			case "TTL":
				if seconds, err := strconv.Atoi(value); err == nil && seconds < math.MaxInt32 {
					f.TTL = time.Duration(seconds) * time.Second
				}
			}
		}
		out = append(out, f)
	}
	return out
}

// An admin speaks to the master. gohbase's own requests leave out attributes and namespaces; these
// are our own.
type admin struct {
	client gohbase.RPCClient
	mu     sync.Mutex // guards conns
	conns  []net.Conn // closed by us: an admin client of this gohbase panics when it is closed
}

func (o Options) newAdmin() *admin {
	a := &admin{}
	client := gohbase.NewAdminClient(o.ZooKeeper,
		gohbase.ZookeeperRoot(o.Root), gohbase.EffectiveUser(o.User), gohbase.Logger(clientLogger(o.Logger)), gohbase.RegionDialer(a.dial))
	a.client = client.(gohbase.RPCClient)
	return a
}

func (a *admin) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	if err == nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.conns = append(a.conns, conn)
	}
	return conn, err
}

func (a *admin) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.conns {
		c.Close()
	}
}

// ensure makes a table or checks the one that is there. A cluster that does not say within timeout whether it is there
// is not asked to make it. limit is the time that an error has not kept to.
func (a *admin) ensure(ctx context.Context, t TableSpec, timeout time.Duration) (limit time.Duration, err error) {
	asking, cancel := context.WithTimeout(ctx, timeout)
	there, err := a.describe(asking, t.Name)
	cancel()
	if err != nil {
		return timeout, err
	}
	return createTimeout, a.makeOrCheck(ctx, t, there)
}

// makeOrCheck makes a table that is not there, or checks what is there.
func (a *admin) makeOrCheck(ctx context.Context, t TableSpec, there *pb.TableSchema) error {
	ctx, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	if there == nil {
		err := a.createCompressed(ctx, t)
		if x, ok := exceptionOf(err); !ok || x.class != "TableExistsException" {
			return err
		}
		// Another process was faster.
		if there, err = a.describe(ctx, t.Name); err != nil {
			return err
		}
	}
	return missingFamilies(t, there)
}

// exceptionOf is exceptionIn for an error that may be nil.
func exceptionOf(err error) (*exception, bool) {
	if err == nil {
		return nil, false
	}
	return exceptionIn(err)
}

// errTable means that a table cannot be used as it is, or not be made as asked.
var errTable = errors.New("unusable table")

func missingFamilies(t TableSpec, there *pb.TableSchema) error {
	has := map[string]bool{}
	for _, f := range there.GetColumnFamilies() {
		has[string(f.GetName())] = true
	}
	for _, f := range t.Families {
		if !has[f.Name] {
			return fmt.Errorf("%w: it exists without the family %q", errTable, f.Name)
		}
	}
	return nil
}

// describe returns nil for a table that does not exist.
func (a *admin) describe(ctx context.Context, table string) (*pb.TableSchema, error) {
	response := &pb.GetTableDescriptorsResponse{}
	request := &pb.GetTableDescriptorsRequest{TableNames: []*pb.TableName{tableName(table)}}
	if err := a.do(ctx, "GetTableDescriptors", request, response); err != nil {
		if x, ok := exceptionIn(err); ok && x.class == "TableNotFoundException" {
			return nil, nil
		}
		return nil, err
	}
	if len(response.GetTableSchema()) == 0 {
		return nil, nil
	}
	return response.GetTableSchema()[0], nil
}

// create makes a table and waits until its regions are open.
func (a *admin) create(ctx context.Context, t TableSpec) error {
	schema := &pb.TableSchema{TableName: tableName(t.Name)}
	for _, f := range t.Families {
		family := &pb.ColumnFamilySchema{Name: []byte(f.Name)}
		for _, at := range f.attributes() {
			family.Attributes = append(family.Attributes, &pb.BytesBytesPair{First: []byte(at[0]), Second: []byte(at[1])})
		}
		schema.ColumnFamilies = append(schema.ColumnFamilies, family)
	}
	response := &pb.CreateTableResponse{}
	request := &pb.CreateTableRequest{TableSchema: schema, SplitKeys: t.Splits}
	if err := a.do(ctx, "CreateTable", request, response); err != nil {
		return err
	}
	return a.await(ctx, response.GetProcId())
}

// await waits for a procedure of the master.
func (a *admin) await(ctx context.Context, procedure uint64) error {
	var pause backoff
	for {
		response := &pb.GetProcedureResultResponse{}
		err := a.do(ctx, "getProcedureResult", &pb.GetProcedureResultRequest{ProcId: &procedure}, response)
		if err != nil {
			return err
		}
		if x := response.GetException(); x != nil {
			return newException(x.GetGenericException().GetClassName(), x.GetGenericException().GetMessage())
		}
		switch response.GetState() {
		case pb.GetProcedureResultResponse_FINISHED:
			return nil
		case pb.GetProcedureResultResponse_NOT_FOUND:
			return fmt.Errorf("%w: the master has forgotten procedure %d", errBadAnswer, procedure)
		}
		if err := pause.wait(ctx); err != nil {
			return err
		}
	}
}

// do makes one request to the master.
func (a *admin) do(ctx context.Context, method string, request, response proto.Message) error {
	msg, err := send(ctx, a.client, &masterCall{call: newCall(ctx, nil, nil), method: method, request: request, response: response})
	if err != nil {
		return err
	}
	if msg != response {
		return fmt.Errorf("%w: %s returned a %T", errBadAnswer, method, msg)
	}
	return nil
}

// tableName splits a namespace off.
func tableName(name string) *pb.TableName {
	namespace, table, ok := strings.Cut(name, ":")
	if !ok {
		namespace, table = "default", name
	}
	return &pb.TableName{Namespace: []byte(namespace), Qualifier: []byte(table)}
}

// A masterCall is a request to the master.
type masterCall struct {
	call
	method            string
	request, response proto.Message
}

func (c *masterCall) Name() string               { return c.method }
func (c *masterCall) Description() string        { return c.method }
func (c *masterCall) ToProto() proto.Message     { return c.request }
func (c *masterCall) NewResponse() proto.Message { proto.Reset(c.response); return c.response }
