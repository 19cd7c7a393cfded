// Command sbom writes the software bill of materials of a built trident, in the format SPDX 2.3. The
// Go modules come from the program's own build information, the npm packages from the list of
// licences that the playground's build writes.
package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spdx/tools-golang/spdx/v2/common"
	spdx "github.com/spdx/tools-golang/spdx/v2/v2_3"
)

func main() {
	var o options
	flag.StringVar(&o.program, "program", "", "Program to describe.")
	flag.StringVar(&o.name, "name", "", "Name of the document.")
	flag.StringVar(&o.version, "version", "", "Version of the program.")
	flag.StringVar(&o.root, "root", "../..", "Root of the source tree.")
	flag.StringVar(&o.npm, "npm", "../../web/dist/licenses.md", "List of the npm packages in the playground, with their licences.")
	flag.Int64Var(&o.created, "created", 0, "Time of the document, in seconds since 1970.")
	flag.StringVar(&o.out, "out", "", "File to write.")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

type options struct {
	program, name, version, root, npm, out string
	created                                int64
}

const (
	home    = "https://github.com/trident-inference/trident"
	unknown = "NOASSERTION" // SPDX's word for a fact that the document doesn't state
	mainID  = "trident"
)

func run(o options) error {
	content, err := os.ReadFile(o.program)
	if err != nil {
		return err
	}
	info, err := buildinfo.Read(bytes.NewReader(content))
	if err != nil {
		return err
	}
	modules, err := goPackages(o.root, info)
	if err != nil {
		return err
	}
	scripts, err := npmPackages(o.npm)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(document(o, sha256.Sum256(content), slices.Concat(modules, scripts)), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(o.out, append(text, '\n'), 0o644) //nolint:gosec // published
}

// document describes the program, which contains all other packages.
func document(o options, hash [sha256.Size]byte, parts []*spdx.Package) *spdx.Document {
	program := &spdx.Package{
		PackageName: "trident", PackageSPDXIdentifier: mainID, PackageVersion: o.version, PackageFileName: "trident",
		PackageDownloadLocation: "git+" + home, PackageHomePage: home, PackageLicenseConcluded: "Apache-2.0", PackageLicenseDeclared: "Apache-2.0",
		PackageCopyrightText: unknown, PrimaryPackagePurpose: "APPLICATION", IsFilesAnalyzedTagPresent: true,
		PackageChecksums: []common.Checksum{{Algorithm: common.SHA256, Value: fmt.Sprintf("%x", hash)}},
	}
	doc := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT", DocumentName: o.name,
		DocumentNamespace: fmt.Sprintf("%s/spdx/%s-%x", home, o.name, hash[:8]),
		CreationInfo: &spdx.CreationInfo{
			Created:  time.Unix(o.created, 0).UTC().Format(time.RFC3339),
			Creators: []common.Creator{{CreatorType: "Tool", Creator: "trident-sbom"}, {CreatorType: "Organization", Creator: "Trident"}},
		},
		Packages:      append([]*spdx.Package{program}, parts...),
		Relationships: []*spdx.Relationship{relation("DOCUMENT", common.TypeRelationshipDescribe, mainID)},
	}
	for _, part := range parts {
		doc.Relationships = append(doc.Relationships, relation(mainID, common.TypeRelationshipContains, part.PackageSPDXIdentifier))
	}
	return doc
}

func relation(from common.ElementID, kind string, to common.ElementID) *spdx.Relationship {
	return &spdx.Relationship{RefA: common.MakeDocElementID("", string(from)), Relationship: kind, RefB: common.MakeDocElementID("", string(to))}
}

// part is a package in the program. Its address is a package URL (purl).
func part(kind, name, version, license string) *spdx.Package {
	url := fmt.Sprintf("pkg:%s/%s@%s", kind, strings.ReplaceAll(name, "@", "%40"), version)
	return &spdx.Package{
		PackageName: name, PackageVersion: version, PackageSPDXIdentifier: common.ElementID(idOf(kind + "-" + name + "-" + version)),
		PackageDownloadLocation: unknown, PackageLicenseConcluded: unknown, PackageLicenseDeclared: license, PackageCopyrightText: unknown,
		PrimaryPackagePurpose: "LIBRARY", IsFilesAnalyzedTagPresent: true,
		PackageExternalReferences: []*spdx.PackageExternalReference{{Category: "PACKAGE-MANAGER", RefType: "purl", Locator: url}},
	}
}

var foreign = regexp.MustCompile(`[^a-zA-Z0-9.-]+`) //nolint:gochecknoglobals // compiled once

// idOf replaces the characters that identifiers of SPDX can't have.
func idOf(name string) string { return foreign.ReplaceAllString(name, "-") }

// goPackages returns Go's standard library and the modules in the program, in their order.
func goPackages(root string, info *debug.BuildInfo) ([]*spdx.Package, error) {
	all := []*spdx.Package{part("golang", "stdlib", strings.TrimPrefix(info.GoVersion, "go"), "BSD-3-Clause")}
	folders, err := moduleFolders(root, info.Deps)
	if err != nil {
		return nil, err
	}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		license, err := licenseIn(folders[module.Path])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", module.Path, err)
		}
		p := part("golang", module.Path, module.Version, license)
		p.PackageSourceInfo = "go.sum " + module.Sum
		all = append(all, p)
	}
	return all, nil
}

// moduleFolders returns the folders of modules in the module cache.
func moduleFolders(root string, modules []*debug.Module) (map[string]string, error) {
	args := []string{"-C", root, "list", "-m", "-json"}
	for _, module := range modules {
		args = append(args, module.Path)
	}
	text, err := exec.Command("go", args...).Output() //nolint:gosec,noctx // names of modules; the caller ends this process
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil, fmt.Errorf("go list -m: %w\n%s", err, failed.Stderr)
	} else if err != nil {
		return nil, err
	}
	folders := map[string]string{}
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var module struct{ Path, Dir string }
		if err := d.Decode(&module); errors.Is(err, io.EOF) {
			return folders, nil
		} else if err != nil {
			return nil, err
		}
		folders[module.Path] = module.Dir
	}
}

// license is a licence by a sentence that only its text or its notice has.
type license struct{ id, sentence string }

// licenses lists the licences of Go modules in the program, by SPDX's names.
func licenses() []license {
	return []license{
		{"Apache-2.0", "apache license version 2.0, january 2004"},
		{"Apache-2.0", "licensed under the apache license, version 2.0"},
		{"MIT", "permission is hereby granted, free of charge, to any person obtaining a copy"},
		{bsd3, "redistributions of source code must retain"},
		{"ISC", "permission to use, copy, modify, and/or distribute this software for any purpose with or without fee"},
		{"MPL-2.0", "mozilla public license version 2.0"},
	}
}

const (
	bsd2 = "BSD-2-Clause"
	bsd3 = "BSD-3-Clause"
	// thirdClause is in the clause of BSD-3-Clause that BSD-2-Clause lacks.
	thirdClause = "used to endorse or promote products derived from this software"
)

// licensesOf returns the licences in a text. It is empty for a text of other licences.
func licensesOf(text string) []string {
	text = strings.Join(strings.Fields(strings.ToLower(text)), " ")
	var found []string
	for _, l := range licenses() {
		if !strings.Contains(text, l.sentence) {
			continue
		}
		if l.id == bsd3 && !strings.Contains(text, thirdClause) {
			l.id = bsd2
		}
		found = append(found, l.id)
	}
	return slices.Compact(found)
}

// licenseIn returns the SPDX expression of the licence files in a folder.
func licenseIn(folder string) (string, error) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return "", err
	}
	var found []string
	for _, entry := range entries {
		name := strings.ToUpper(entry.Name())
		if entry.IsDir() || !strings.HasPrefix(name, "LICEN") && !strings.HasPrefix(name, "COPYING") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(folder, entry.Name()))
		if err != nil {
			return "", err
		}
		ids := licensesOf(string(text))
		if len(ids) == 0 {
			return unknown, nil
		}
		found = append(found, ids...)
	}
	if len(found) == 0 {
		return unknown, nil
	}
	slices.Sort(found)
	return strings.Join(slices.Compact(found), " AND "), nil
}

var npmHeading = regexp.MustCompile(`(?m)^## (\S+) - (\d\S*) \((.+)\)$`) //nolint:gochecknoglobals // compiled once

// npmPackages returns the packages in the playground's list of licences.
func npmPackages(list string) ([]*spdx.Package, error) {
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, err
	}
	var all []*spdx.Package
	for _, heading := range npmHeading.FindAllStringSubmatch(string(text), -1) {
		all = append(all, part("npm", heading[1], heading[2], strings.Trim(heading[3], "()")))
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("%s has no packages", list)
	}
	return all, nil
}
