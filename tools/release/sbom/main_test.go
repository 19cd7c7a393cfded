package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	spdxjson "github.com/spdx/tools-golang/json"
)

// list has packages as the playground's build writes it: headings of packages, and texts of
// licences, which may have headings of their own.
const list = `# Licenses

## @scope/name - 1.2.3 ((Apache-2.0 AND MIT))

text

## Heading of a licence

## other - 4.5 (MIT)
`

// TestRun describes this test's own program, whose modules are those of tools/release, and reads the
// document with SPDX's own library.
func TestRun(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	o := options{program: program, name: "name", version: "1.2.3", root: "..", npm: filepath.Join(folder, "licenses.md"), out: filepath.Join(folder, "sbom.json"), created: 1_700_000_000}
	if err := os.WriteFile(o.npm, []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(o); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(o.out)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := spdxjson.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if doc.CreationInfo.Created != "2023-11-14T22:13:20Z" || doc.DocumentName != "name" {
		t.Errorf("the document %s was created at %s", doc.DocumentName, doc.CreationInfo.Created)
	}
	found := map[string]string{}
	for _, p := range doc.Packages {
		found[p.PackageName] = p.PackageVersion + " " + p.PackageLicenseDeclared
		for _, r := range p.PackageExternalReferences {
			found[p.PackageName] += " " + r.Locator
		}
	}
	for name, want := range map[string]string{
		"trident":     "1.2.3 Apache-2.0",
		"stdlib":      strings.TrimPrefix(runtime.Version(), "go") + " BSD-3-Clause pkg:golang/stdlib@" + strings.TrimPrefix(runtime.Version(), "go"),
		"@scope/name": "1.2.3 Apache-2.0 AND MIT pkg:npm/%40scope/name@1.2.3",
		"other":       "4.5 MIT pkg:npm/other@4.5",
	} {
		if found[name] != want {
			t.Errorf("%s: got %q, want %q", name, found[name], want)
		}
	}
	if got := found["github.com/anchore/go-struct-converter"]; !strings.Contains(got, " Apache-2.0 pkg:golang/github.com/anchore/go-struct-converter@v") {
		t.Errorf("a module: %q", got)
	}
	// Without the statement, readers assume that the files of a package were analyzed and demand a verification code.
	if n := strings.Count(string(text), `"filesAnalyzed": false`); n != len(doc.Packages) {
		t.Errorf("%d of %d packages state that their files were not analyzed", n, len(doc.Packages))
	}
	if len(doc.Relationships) != len(doc.Packages) {
		t.Errorf("%d relationships of %d packages", len(doc.Relationships), len(doc.Packages))
	}
}

// TestNoPackages checks that a list without packages is refused: its format may have changed.
func TestNoPackages(t *testing.T) {
	file := filepath.Join(t.TempDir(), "licenses.md")
	if err := os.WriteFile(file, []byte("# Licenses\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := npmPackages(file); err == nil || !strings.Contains(err.Error(), "has no packages") {
		t.Error(err)
	}
}

// TestLicenseIn checks the licences that are found in the files of a module.
func TestLicenseIn(t *testing.T) {
	apache, err := os.ReadFile("../../../LICENSE")
	if err != nil {
		t.Fatal(err)
	}
	for name, row := range map[string]struct {
		file, text, want string
	}{
		"a known licence":  {"LICENSE.txt", string(apache), "Apache-2.0"},
		"two licences":     {"COPYING", string(apache) + "Permission is hereby granted,\nfree of charge, to any person obtaining a copy", "Apache-2.0 AND MIT"},
		"two clauses":      {"LICENSE", "Redistributions of source code must retain the notice.", "BSD-2-Clause"},
		"three clauses":    {"LICENSE", "Redistributions of source code must retain the notice. No name may be used to endorse or promote products derived from this software.", "BSD-3-Clause"},
		"an unknown text":  {"LICENCE", "All rights are with their holders, whatever anyone reads here.", unknown},
		"no licence files": {"README.md", string(apache), unknown},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			if err := os.WriteFile(filepath.Join(folder, row.file), []byte(row.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if got, err := licenseIn(folder); err != nil || got != row.want {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}
