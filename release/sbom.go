package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// The parts of SPDX 2.3 that are written.
type (
	spdx struct {
		ID            string         `json:"SPDXID"`
		Version       string         `json:"spdxVersion"`
		License       string         `json:"dataLicense"`
		Name          string         `json:"name"`
		Namespace     string         `json:"documentNamespace"`
		Creation      spdxCreation   `json:"creationInfo"`
		Packages      []spdxPackage  `json:"packages"`
		Relationships []spdxRelation `json:"relationships"`
	}
	spdxCreation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	spdxPackage struct {
		ID        string    `json:"SPDXID"`
		Name      string    `json:"name"`
		Version   string    `json:"versionInfo"`
		Location  string    `json:"downloadLocation"`
		Analyzed  bool      `json:"filesAnalyzed"`
		Concluded string    `json:"licenseConcluded"`
		Declared  string    `json:"licenseDeclared"`
		Refs      []spdxRef `json:"externalRefs,omitempty"`
	}
	spdxRef struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	spdxRelation struct {
		From string `json:"spdxElementId"`
		Type string `json:"relationshipType"`
		To   string `json:"relatedSpdxElement"`
	}
)

// sbom lists what is in the binaries, as they say it themselves: modules, and
// Go's own library.
func sbom(version string, infos []*debug.BuildInfo, when time.Time) ([]byte, error) {
	modules := map[string]string{}
	for _, info := range infos {
		modules["std"] = strings.TrimPrefix(info.GoVersion, "go")
		for _, m := range info.Deps {
			modules[m.Path] = m.Version
		}
	}
	doc := spdx{
		ID: "SPDXRef-DOCUMENT", Version: "SPDX-2.3", License: "CC0-1.0", Name: "oomdoc-" + version,
		Creation:      spdxCreation{when.Format(time.RFC3339), []string{"Tool: oomdoc-release"}},
		Packages:      []spdxPackage{{ID: "SPDXRef-oomdoc", Name: "oomdoc", Version: version, Location: "https://github.com/oomdoc/oomdoc", Concluded: "MIT", Declared: "MIT"}},
		Relationships: []spdxRelation{{"SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-oomdoc"}},
	}
	names := make([]string, 0, len(modules))
	for path := range modules {
		names = append(names, path)
	}
	slices.Sort(names)
	for i, path := range names {
		id := fmt.Sprintf("SPDXRef-module-%d", i+1)
		doc.Packages = append(doc.Packages, spdxPackage{
			ID: id, Name: path, Version: modules[path], Location: "NOASSERTION", Concluded: "NOASSERTION", Declared: "NOASSERTION",
			Refs: []spdxRef{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + path + "@" + modules[path]}},
		})
		doc.Relationships = append(doc.Relationships, spdxRelation{"SPDXRef-oomdoc", "DEPENDS_ON", id})
	}
	doc.Namespace = fmt.Sprintf("https://github.com/oomdoc/oomdoc/releases/spdx/%s/%x", version, sha256.Sum256(fmt.Append(nil, modules)))
	out, err := json.MarshalIndent(doc, "", "  ")
	return append(out, '\n'), err
}

// thirdParties are the licences of what the binary is made of, which ask to be
// passed on with it.
func thirdParties(ctx context.Context, info *debug.BuildInfo) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("oomdoc contains the following software.\n")
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("find Go's licence: %w", err)
	}
	if err := licences(&b, "Go "+info.GoVersion, strings.TrimSpace(string(goroot))); err != nil {
		return nil, err
	}
	for _, m := range info.Deps {
		dir, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", m.Path).Output()
		if err != nil {
			return nil, fmt.Errorf("find %s: %w", m.Path, err)
		}
		if err := licences(&b, m.Path+" "+m.Version, strings.TrimSpace(string(dir))); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// licences appends the texts that lie in the folder of one part.
func licences(b *bytes.Buffer, name, dir string) error {
	found := false
	for _, pattern := range []string{"LICENSE*", "LICENCE*", "COPYING*", "NOTICE*"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			fmt.Fprintf(b, "\n%s\n%s (%s)\n\n%s\n", strings.Repeat("=", 72), name, filepath.Base(path), bytes.TrimSpace(text))
			found = true
		}
	}
	if !found {
		return fmt.Errorf("%s has no licence in %s", name, filepath.Base(dir))
	}
	return nil
}
