package storage

import (
	"time"

	"github.com/tsdbridge/tsdbridge/storage/annotations"
	"github.com/tsdbridge/tsdbridge/storage/archive"
	"github.com/tsdbridge/tsdbridge/storage/catalog"
	"github.com/tsdbridge/tsdbridge/storage/documents"
	"github.com/tsdbridge/tsdbridge/storage/election"
	"github.com/tsdbridge/tsdbridge/storage/read"
	"github.com/tsdbridge/tsdbridge/storage/register"
	"github.com/tsdbridge/tsdbridge/storage/schema"
	"github.com/tsdbridge/tsdbridge/storage/series"
	"github.com/tsdbridge/tsdbridge/storage/write"
)

// The data of the contract. Their packages describe them.
type (
	// Tag is one tag of a series.
	Tag = series.Tag
	// Series is the name of a time series.
	Series = series.Series
	// Ref is a series inside one process.
	Ref = series.Ref
	// Kind is what an Object is.
	Kind = series.Kind
	// Form is the form in which a client sent a value.
	Form = series.Form
	// Object is a datum that OpenTSDB has no place for.
	Object = series.Object
	// Batch is a set of points of any series.
	Batch = series.Batch
	// Filter is a condition on one tag or on the metric.
	Filter = series.Filter
	// Found is a series that Find returned.
	Found = series.Found
	// Query is a request for the points of series.
	Query = series.Query
	// Integer is the exact value of a sample.
	Integer = series.Integer
	// Points is the points of one series.
	Points = series.Points
	// Part is some of the series of a query.
	Part = series.Part
	// PartWorker takes parts of an answer.
	PartWorker = series.PartWorker
	// CodedHistogram is a histogram of OpenTSDB.
	CodedHistogram = series.CodedHistogram
	// NewSeries is a series with its TSUID.
	NewSeries = series.NewSeries

	// Election is which of several senders of the same data is listened to.
	Election = schema.Election
	// ElectionEntry is an Election as it was read.
	ElectionEntry = election.Entry

	// Plan is how the rows of a metric would be read.
	Plan = read.Plan
	// PlanOutcome is how the rows of a metric were read lately.
	PlanOutcome = read.Outcome
	// SeriesScan is which series EachTSUID visits.
	SeriesScan = catalog.SeriesScan
	// SeriesIndex is where series are found.
	SeriesIndex = catalog.SeriesIndex
	// SeriesVersion tells which series a metric has at a moment.
	SeriesVersion = catalog.Version
	// Cardinality is the numbers of series by names.
	Cardinality = catalog.Cardinality
	// Growth tells when the series were registered that there are.
	Growth = catalog.Growth
	// GrowthQuery asks for that.
	GrowthQuery = catalog.GrowthQuery
	// Silence tells which series have no points since a day.
	Silence = catalog.Silence
	// SeriesShares is how many of some series have a metric, a tag key, a tag.
	SeriesShares = catalog.Shares
	// NamedCount is a name with a number of series.
	NamedCount = catalog.NamedCount
	// Metadata is the description of a metric.
	Metadata = documents.Metadata
	// Annotation is a note of a moment or a span of time, about a series or about everything.
	Annotation = annotations.Annotation
	// AnnotationRange is the annotations of a time.
	AnnotationRange = annotations.Range
	// AnnotationMode is what becomes of an annotation that is there when one is put.
	AnnotationMode = annotations.Mode
	// ArchiveSlots are values of one step of a series' coarse archives.
	ArchiveSlots = archive.Slots
	// ArchiveQuery asks for such values.
	ArchiveQuery = archive.Query
	// CustomEdit is a change of a custom key of a series.
	CustomEdit = documents.CustomEdit

	// Observer is told of new series before they count as registered.
	Observer = register.Observer
	// WriteMode is when a point is durable.
	WriteMode = write.Mode
	// BufferOptions is the options of log and head.
	BufferOptions = write.BufferOptions
	// Brancher is an Observer that makes branches of trees for series.
	Brancher = register.Brancher
	// SeriesLimits is the limits on series.
	SeriesLimits = register.SeriesLimits
)

// Where a store learns which series exist; see package catalog.
const (
	IndexAuto = catalog.IndexAuto
	IndexMeta = catalog.IndexMeta
)

// What becomes of an annotation that is there; see package annotations.
const (
	MergeAnnotation   = annotations.Merge
	ReplaceAnnotation = annotations.Replace
	CreateAnnotation  = annotations.Create
)

// When a point is durable; see package write.
const (
	WriteThrough  = write.Through
	WriteBuffered = write.Buffered
)

// Bounds of what can be stored; see package series.
const (
	MaxNameLength = series.MaxNameLength
	MaxTags       = series.MaxTags
	MaxTime       = series.MaxTime
	// MaxHistogramBytes is the greatest length of one of OpenTSDB's histograms.
	MaxHistogramBytes = write.MaxHistogramBytes
)

// The kinds of objects; see package series.
const (
	KindHistogram = series.KindHistogram
	KindExemplar  = series.KindExemplar
	KindStartTime = series.KindStartTime
	KindCoded     = series.KindCoded
)

// The forms of values; see package series.
const (
	FormFloat   = series.FormFloat
	FormInteger = series.FormInteger
	FormDouble  = series.FormDouble
	FormMillis  = series.FormMillis
)

// DayOf returns the number of the day of a time; see package catalog.
func DayOf(t time.Time) int { return catalog.DayOf(t) }
