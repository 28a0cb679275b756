package rules

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/template/parse"
)

// An alertText is the template of a label or an annotation.
type alertText struct {
	what    string
	fixed   int64       // bytes outside of actions
	actions []textBound // how long each may become
	bounded string      // the same template, which counts what it does and prints
}

// A textBound returns how long something may become if a value has so many bytes at most.
type textBound func(longest int64) int64

// unbounded is of what cannot be told before it is expanded.
func unbounded(int64) int64 { return math.MaxInt32 }

// Names of the functions that count.
const (
	countStep   = "__step"
	countValue  = "__value"
	countOutput = "__output"
)

// newAlertText reads a template. One that cannot be read is not expanded by the module either.
func newAlertText(what, text string) alertText {
	t := alertText{what: what, fixed: int64(len(text))}
	if !strings.Contains(text, "{{") {
		return t
	}
	trees := map[string]*parse.Tree{}
	top := parse.New("text")
	top.Mode = parse.SkipFuncCheck
	if _, err := top.Parse(templateVariables+text, "", "", trees); err != nil {
		return t
	}
	r := rewriting{}
	var bounded strings.Builder
	for _, name := range slices.Sorted(maps.Keys(trees)) {
		if name == top.Name {
			continue
		}
		root := trees[name].Root
		r.actions = append(r.actions, unbounded)
		r.list(root)
		r.step(root)
		bounded.WriteString("{{define " + strconv.Quote(name) + "}}" + root.String() + "{{end}}")
	}
	if top.Root != nil {
		r.list(top.Root)
		bounded.WriteString(top.Root.String())
	}
	t.bounded, t.actions = bounded.String(), r.actions
	return t
}

// bound is how long a text may become at most.
func (t alertText) bound(longest int64) int64 {
	n := t.fixed
	for _, action := range t.actions {
		n += action(longest)
	}
	return n
}

// A rewriting has the nodes of a template call functions that count.
type rewriting struct {
	actions []textBound
}

func call(name string) *parse.CommandNode {
	return &parse.CommandNode{NodeType: parse.NodeCommand, Args: []parse.Node{parse.NewIdentifier(name)}}
}

func action(commands ...*parse.CommandNode) *parse.ActionNode {
	return &parse.ActionNode{NodeType: parse.NodeAction, Pipe: &parse.PipeNode{NodeType: parse.NodePipe, Cmds: commands}}
}

// step has a list count how often it is gone through.
func (rewriting) step(list *parse.ListNode) {
	list.Nodes = slices.Insert(list.Nodes, 0, parse.Node(action(call(countStep))))
}

func (r *rewriting) list(list *parse.ListNode) {
	if list == nil {
		return
	}
	for i, node := range list.Nodes {
		switch n := node.(type) {
		case *parse.TextNode:
			text := &parse.StringNode{NodeType: parse.NodeString, Quoted: strconv.Quote(string(n.Text)), Text: string(n.Text)}
			list.Nodes[i] = action(&parse.CommandNode{NodeType: parse.NodeCommand, Args: []parse.Node{text}}, call(countOutput))
		case *parse.ActionNode:
			r.action(n)
		case *parse.IfNode:
			r.branch(&n.BranchNode)
		case *parse.WithNode:
			r.branch(&n.BranchNode)
		case *parse.RangeNode:
			r.actions = append(r.actions, unbounded)
			r.branch(&n.BranchNode)
			r.step(n.List)
		case *parse.TemplateNode:
			r.actions = append(r.actions, unbounded)
			if n.Pipe != nil {
				r.pipe(n.Pipe, countValue)
			}
		}
	}
}

func (r *rewriting) branch(n *parse.BranchNode) {
	r.actions = append(r.actions, pipeBound(n.Pipe))
	r.pipe(n.Pipe, countValue)
	r.list(n.List)
	r.list(n.ElseList)
}

func (r *rewriting) action(n *parse.ActionNode) {
	bound := pipeBound(n.Pipe)
	if len(n.Pipe.Decl) > 0 {
		if !strings.Contains(templateVariables, "{{"+n.Pipe.String()+"}}") {
			r.actions = append(r.actions, unbounded)
		}
		r.pipe(n.Pipe, countValue)
		return
	}
	r.actions = append(r.actions, bound)
	r.pipe(n.Pipe, countOutput)
}

// pipe has the result of a pipeline, and of those in it, go through a function that counts.
func (r *rewriting) pipe(p *parse.PipeNode, count string) {
	for _, c := range p.Cmds {
		for _, arg := range c.Args {
			switch n := arg.(type) {
			case *parse.PipeNode:
				r.pipe(n, countValue)
			case *parse.ChainNode:
				if inner, ok := n.Node.(*parse.PipeNode); ok {
					r.pipe(inner, countValue)
				}
			}
		}
	}
	p.Cmds = append(p.Cmds, call(count))
}

// growth is how many times longer than its arguments the result of a function may be; false: it is not known.
func growth(function string) (factor int64, ok bool) {
	switch function {
	case "humanize", "humanize1024", "humanizeDuration", "humanizePercentage", "humanizeTimestamp", "externalURL", "pathPrefix", "now", "toTime", "toDuration",
		"parseDuration", "stripPort", "stripDomain", "safeHtml", "eq", "ne", "lt", "le", "gt", "ge", "not", "and", "or", "len", "match", "print", "println":
		return 1, true
	case "title", "toUpper", "toLower":
		return 3, true
	case "html", "js", "urlquery", "urlQueryEscape", "graphLink", "tableLink":
		return mostEscaped, true
	}
	return 0, false
}

// pipeBound is how long the text of a result of a pipeline may become.
func pipeBound(p *parse.PipeNode) textBound {
	bound := func(int64) int64 { return 0 }
	for _, c := range p.Cmds {
		bound = commandBound(c, bound)
	}
	return bound
}

// commandBound is pipeBound of a command that gets the result before it as its last argument.
func commandBound(c *parse.CommandNode, before textBound) textBound {
	if len(c.Args) == 0 {
		return unbounded
	}
	first, isFunction := c.Args[0].(*parse.IdentifierNode)
	if !isFunction {
		if len(c.Args) > 1 {
			return unbounded // a method
		}
		return argBound(c.Args[0])
	}
	parts := []textBound{before}
	for _, arg := range c.Args[1:] {
		parts = append(parts, argBound(arg))
	}
	factor, ok := growth(first.Ident)
	fixed := int64(scalarBytes)
	if first.Ident == "printf" && len(c.Args) > 1 {
		format, isText := c.Args[1].(*parse.StringNode)
		if isText && !strings.Contains(format.Text, "*") {
			factor, ok = mostEscaped*int64(1+strings.Count(format.Text, "%")), true
			fixed += numbersIn(format.Text)
		}
	}
	if first.Ident == "index" && len(c.Args) == 3 && isLabels(c.Args[1]) {
		return longestBound
	}
	if !ok {
		return unbounded
	}
	return func(longest int64) int64 {
		n := int64(0)
		for _, part := range parts {
			n += part(longest)
		}
		return min(min(n, math.MaxInt32)*factor+fixed, math.MaxInt32)
	}
}

func longestBound(longest int64) int64 { return longest }

func fixedBound(n int) textBound { return func(int64) int64 { return int64(n) } }

// argBound is pipeBound of an argument.
func argBound(node parse.Node) textBound {
	switch n := node.(type) {
	case *parse.StringNode:
		return fixedBound(len(n.Text))
	case *parse.NumberNode, *parse.BoolNode, *parse.NilNode:
		return fixedBound(scalarBytes)
	case *parse.VariableNode, *parse.FieldNode:
		names := namesOf(node)
		switch {
		case len(names) == 1 && slices.Contains([]string{"value", "externalURL"}, names[0]), len(names) == 2 && isLabelsName(names[0]):
			return longestBound
		}
	case *parse.PipeNode:
		return pipeBound(n)
	case *parse.IdentifierNode:
		return commandBound(&parse.CommandNode{Args: []parse.Node{n}}, fixedBound(0))
	}
	return unbounded
}

// namesOf returns the names of a variable or of a field; .Labels and $labels have the same one.
func namesOf(node parse.Node) []string {
	switch n := node.(type) {
	case *parse.VariableNode:
		return append([]string{strings.TrimPrefix(n.Ident[0], "$")}, n.Ident[1:]...)
	case *parse.FieldNode:
		return append([]string{strings.ToLower(n.Ident[0][:1]) + n.Ident[0][1:]}, n.Ident[1:]...)
	}
	return nil
}

func isLabelsName(name string) bool { return name == "labels" || name == "externalLabels" }

// isLabels reports whether a node is the labels of an alert, or the external ones.
func isLabels(node parse.Node) bool {
	names := namesOf(node)
	return len(names) == 1 && isLabelsName(names[0])
}
