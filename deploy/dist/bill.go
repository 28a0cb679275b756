package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// billPath is where the bill of materials is.
func (t *target) billPath() string { return filepath.Join(t.out, t.name()+".cdx.json") }

// writeBill writes what the binary contains, as CycloneDX.
func (t *target) writeBill() error {
	binary, err := os.ReadFile(t.binary())
	if err != nil {
		return err
	}
	sum := sha256.Sum256(binary)
	b := cdx.NewBOM()
	b.SerialNumber = "urn:uuid:" + uuid.NewSHA1(uuid.NameSpaceURL, sum[:]).String()
	self := component(goModule{path: module, version: "v" + t.version, licences: []licence{{ids: []string{"Apache-2.0"}}}})
	self.Type = cdx.ComponentTypeApplication
	self.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}}
	b.Metadata = &cdx.Metadata{Timestamp: t.time.Format(time.RFC3339), Component: &self}
	components, below := []cdx.Component{}, []string{}
	for _, m := range t.modules {
		c := component(m)
		components, below = append(components, c), append(below, c.BOMRef)
	}
	b.Components, b.Dependencies = &components, &[]cdx.Dependency{{Ref: self.BOMRef, Dependencies: &below}}
	f, err := os.Create(t.billPath())
	if err != nil {
		return err
	}
	defer f.Close()
	if err := cdx.NewBOMEncoder(f, cdx.BOMFileFormatJSON).SetPretty(true).Encode(b); err != nil {
		return err
	}
	return f.Close()
}

func component(m goModule) cdx.Component {
	purl := fmt.Sprintf("pkg:golang/%s@%s", m.path, m.version)
	c := cdx.Component{Type: cdx.ComponentTypeLibrary, BOMRef: purl, Name: m.path, Version: m.version, PackageURL: purl}
	if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.sum, "h1:")); m.sum != "" && err == nil {
		c.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}
	}
	licences := cdx.Licenses{}
	seen := map[string]bool{}
	for _, l := range m.licences {
		for _, id := range l.ids {
			if !seen[id] {
				seen[id] = true
				licences = append(licences, cdx.LicenseChoice{License: &cdx.License{ID: id}})
			}
		}
	}
	c.Licenses = &licences
	return c
}
