package eval

// specialFamily returns the functions that change how points are joined, and seriesByTag.
func specialFamily() []Function {
	list := []Function{{
		Name: "consolidateBy", Group: "Special", Signature: "seriesList, consolidationFunc",
		Doc: "Sets how points are joined when there are more than maxDataPoints.",
		Params: []Param{
			seriesParam("seriesList"), need("consolidationFunc", typeString).options("sum", "average", "avg", "avg_zero", "min", "max", "first", "last"),
		},
		call: func(c *call) ([]*Series, error) { return c.consolidateBy(text(c.value("consolidationFunc"))) },
	}, {
		Name: "cumulative", Group: "Special", Signature: "seriesList", Params: []Param{seriesParam("seriesList")},
		Doc:  "Adds points up when there are more than maxDataPoints.",
		call: func(c *call) ([]*Series, error) { return c.consolidateBy("sum") },
	}, {
		// What it stands for is fetched, not called; this is for /functions.
		Name: "seriesByTag", Group: "Special", Signature: "*tagExpressions", Params: []Param{need("tagExpressions", typeString).many()},
		Doc:  "Finds series by their tags.",
		call: func(*call) ([]*Series, error) { return nil, crash("seriesByTag cannot be a callback") },
	}}
	for _, name := range [...]string{"setXFilesFactor", "xFilesFactor"} {
		list = append(list, Function{
			Name: name, Group: "Special", Signature: "seriesList, xFilesFactor", call: setXFilesFactor,
			Doc:    "Sets the part of a bucket's points that must be there for a result, here and in all that follows.",
			Params: []Param{seriesParam("seriesList"), need("xFilesFactor", typeFloat)},
		})
	}
	return list
}

// consolidateBy takes any word: Consolidate finds those that do not exist.
func (c *call) consolidateBy(name string) ([]*Series, error) {
	list := c.series("seriesList")
	for s := range c.over(list) {
		s.ConsolidationFunc = name
		s.Tags["consolidateBy"] = name
		s.wrap("consolidateBy(" + s.Name + `,"` + name + `")`)
	}
	return list, nil
}

// setXFilesFactor holds for the rest of the request, as graphite-web's does.
func setXFilesFactor(c *call) ([]*Series, error) {
	list := c.series("seriesList")
	// What is not a number fails in graphite-web only when it is used.
	factor, _ := number(c.value("xFilesFactor"))
	c.scope.xff = factor
	for s := range c.over(list) {
		s.XFilesFactor = factor
		s.Tags["xFilesFactor"] = text(c.value("xFilesFactor"))
	}
	return list, nil
}
