package query

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"

	"github.com/tsdbridge/tsdbridge/prometheus/pathlabel"
)

// Names of the experimental parts of PromQL, as Prometheus' --enable-feature has them.
const (
	FeatureFunctions      = "promql-experimental-functions"
	FeatureRangeSelectors = "promql-extended-range-selectors"
	FeatureFillModifiers  = "promql-binop-fill-modifiers"
)

// Features returns the names that --query.enable-feature takes.
func Features() []string {
	return []string{FeatureFunctions, FeatureRangeSelectors, FeatureFillModifiers}
}

// Parser parses the queries of an API with these options.
func (o Options) Parser() parser.Parser {
	on := o.features()
	return pathlabel.Parser(parser.NewParser(parser.Options{
		ExperimentalDurationExpr:     true,
		EnableExperimentalFunctions:  slices.Contains(on, FeatureFunctions),
		EnableExtendedRangeSelectors: slices.Contains(on, FeatureRangeSelectors),
		EnableBinopFillModifiers:     slices.Contains(on, FeatureFillModifiers),
	}))
}

// features are the names, of which a text may have several between commas, as in Prometheus.
func (o Options) features() (names []string) {
	for _, text := range o.Features {
		for name := range strings.SplitSeq(text, ",") {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}

// checkFeatures refuses features that there are not.
func (o Options) checkFeatures() error {
	for _, name := range o.features() {
		if !slices.Contains(Features(), name) {
			return fmt.Errorf("--query.enable-feature=%s: want one of %s", name, strings.Join(Features(), ", "))
		}
	}
	return nil
}
