package rangeql

// input is what an aggregation aggregates: a leaf that feeds its sinks while it reads, or a node.
type input struct {
	leaf *leaf // nil: a node
	node *node
}

// feed gives a sink all series of the input.
func (in input) feed(e *evaluation, to sink) error {
	if in.leaf != nil {
		return in.leaf.run(e) // to is one of its sinks
	}
	b, err := in.node.block(e)
	if err != nil {
		return err
	}
	defer e.release(b)
	if err := to.begin(e); err != nil {
		return err
	}
	for i := range b.Series {
		if i%rowsPerLook == 0 {
			if err := e.ended(); err != nil {
				return err
			}
		}
		if err := to.add(e, &b.Series[i], false); err != nil {
			return err
		}
	}
	return nil
}
