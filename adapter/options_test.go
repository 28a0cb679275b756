package adapter

import (
	"testing"

	"github.com/tsdbridge/tsdbridge/adapter/memory"
)

func TestQueryMemory(t *testing.T) {
	o := DefaultOptions()
	if got, want := o.queryMemory(), memory.Machine()/4; got != want {
		t.Errorf("the budget without a flag is %d bytes, want a quarter of the memory, %d", got, want)
	}
}
