package otlp

import (
	"encoding/binary"
	"reflect"
	"sync/atomic"

	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/storage/remote/otlptranslator/prometheusremotewrite"

	"github.com/tsdbridge/tsdbridge/internal/cache"
	"github.com/tsdbridge/tsdbridge/storage/ingest"
)

// A translation is what series are named by, and the series that it has named.
type translation struct {
	config   config.OTLPConfig
	settings prometheusremotewrite.Settings
	cache    *ingest.Cache               // by keys of points
	families *cache.LRU[string, *family] // by their bytes in requests
	targets  *cache.LRU[string, *target] // target_info, by the bytes of resources
	last     atomic.Uint64               // number of a family
}

// A family is a metric of a scope of a resource, or one of these. The number of a metric begins the
// keys of its points, that of a resource those of its scopes, and so on: what is long is looked up once.
type family struct{ number uint64 }

// contextBytes is how many bytes of resources and metrics are remembered in each generation.
const contextBytes = 32 << 20

func contextWeight[V any](key string, _ V) int { return len(key) + 64 }

func newTranslation(c config.OTLPConfig, o Options) *translation {
	return &translation{
		config: c,
		settings: prometheusremotewrite.Settings{
			DisableTargetInfo:                    true, // it is made for a resource at once
			AddMetricSuffixes:                    c.TranslationStrategy.ShouldAddSuffixes(),
			AllowUTF8:                            !c.TranslationStrategy.ShouldEscape(),
			PromoteResourceAttributes:            prometheusremotewrite.NewPromoteResourceAttributes(c),
			KeepIdentifyingResourceAttributes:    c.KeepIdentifyingResourceAttributes,
			ConvertHistogramsToNHCB:              c.ConvertHistogramsToNHCB,
			PromoteScopeMetadata:                 c.PromoteScopeMetadata,
			LabelNameUnderscoreSanitization:      c.LabelNameUnderscoreSanitization,
			LabelNamePreserveMultipleUnderscores: c.LabelNamePreserveMultipleUnderscores,
			EnableTypeAndUnitLabels:              o.TypeAndUnitLabels,
		},
		cache:    ingest.NewCache(o.SeriesCache),
		families: cache.NewWeightedLRU(contextBytes, contextWeight[*family]),
		targets:  cache.NewWeightedLRU(contextBytes, contextWeight[*target]),
	}
}

// Use has the series of later requests named as c tells.
func (h *Handler) Use(c config.OTLPConfig) {
	if before := h.translit.Load(); before == nil || !reflect.DeepEqual(before.config, c) {
		h.translit.Store(newTranslation(c, h.o))
	}
}

// family returns the family of a metric.
func (t *translation) family(key []byte) *family {
	if f, ok := t.families.Get(string(key)); ok {
		return f
	}
	f := &family{number: t.last.Add(1)}
	t.families.Put(string(key), f)
	return f
}

// What keys of families begin with; those of metrics begin with their kinds.
const (
	keyOfResource = 'r'
	keyOfScope    = 's'
)

// appendResourceKey appends what names a resource.
func appendResourceKey(b []byte, r *resource) []byte {
	return append(append(b, keyOfResource), r.raw...)
}

// appendScopeKey appends what names a scope of a resource.
func appendScopeKey(b []byte, resource *family, s *scope) []byte {
	b = binary.LittleEndian.AppendUint64(append(b, keyOfScope), resource.number)
	return appendParts(b, s.raw, s.schema)
}

// appendFamilyKey appends what names a metric of a scope.
func appendFamilyKey(b []byte, scope *family, of *metric) []byte {
	monotonic := byte(0)
	if of.monotonic {
		monotonic = 1
	}
	b = binary.LittleEndian.AppendUint64(append(b, byte(of.kind), monotonic), scope.number)
	return appendParts(b, of.name, of.unit, of.description)
}

func appendParts(b []byte, parts ...[]byte) []byte {
	for _, part := range parts {
		b = binary.AppendUvarint(b, uint64(len(part)))
		b = append(b, part...)
	}
	return b
}
