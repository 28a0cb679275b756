package query

import (
	"errors"
	"net/url"

	"github.com/prometheus/prometheus/config"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/scrape"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/prometheus/prometheus/tsdb/index"
	v1 "github.com/prometheus/prometheus/web/api/v1"
)

// noTargets implements what the API needs of a server that scrapes and alerts. Nothing is scraped
// and nothing alerts here. The module calls these methods without a check for nil.
type noTargets struct{}

var (
	_ v1.ScrapePoolsRetriever  = noTargets{}
	_ v1.TargetRetriever       = noTargets{}
	_ v1.AlertmanagerRetriever = noTargets{}
	_ v1.RulesRetriever        = noTargets{}
	_ v1.TSDBAdminStats        = (*deletions)(nil)
)

func (noTargets) ScrapePools() []string { return []string{} }

func (noTargets) TargetsActive() map[string][]*scrape.Target { return map[string][]*scrape.Target{} }

func (noTargets) TargetsDropped() map[string][]*scrape.Target { return map[string][]*scrape.Target{} }

func (noTargets) TargetsDroppedCounts() map[string]int { return map[string]int{} }

func (noTargets) Alertmanagers() []*url.URL { return []*url.URL{} }

func (noTargets) DroppedAlertmanagers() []*url.URL { return []*url.URL{} }

func (noTargets) RuleGroups() []*rules.Group { return []*rules.Group{} }

func (noTargets) AlertingRules() []*rules.AlertingRule { return []*rules.AlertingRule{} }

func (noTargets) ScrapePoolConfig(string) (*config.ScrapeConfig, error) {
	return nil, errors.New("nothing is scraped here")
}

// noTSDB implements what the module's API wants of a TSDB, which does not exist here.
type noTSDB struct{}

var errNoTSDB = errors.New("there is no TSDB here")

func (noTSDB) CleanTombstones() error { return errNoTSDB }

func (noTSDB) Snapshot(string, bool) error { return errNoTSDB }

func (noTSDB) Stats(string, int) (*tsdb.Stats, error) {
	return &tsdb.Stats{IndexPostingStats: &index.PostingsStats{}}, nil
}

func (noTSDB) WALReplayStatus() (tsdb.WALReplayStatus, error) { return tsdb.WALReplayStatus{}, nil }

func (noTSDB) BlockMetas() ([]tsdb.BlockMeta, error) { return []tsdb.BlockMeta{}, nil }
