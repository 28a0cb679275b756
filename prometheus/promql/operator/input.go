package operator

// Input is what an aggregation aggregates: a leaf that feeds its sinks while it reads, or a node.
type Input struct {
	Leaf *Leaf // nil: a node
	Node *Node
}

// Feed gives a sink all series of the input.
func (in Input) Feed(e *Evaluation, to Sink) error {
	if in.Leaf != nil {
		return in.Leaf.run(e) // to is one of its sinks
	}
	b, err := in.Node.Block(e)
	if err != nil {
		return err
	}
	defer e.Release(b)
	if err := to.Begin(e); err != nil {
		return err
	}
	for i := range b.Series {
		if err := e.EndedAt(i); err != nil {
			return err
		}
		if err := to.Add(e, &b.Series[i], false); err != nil {
			return err
		}
	}
	return nil
}
