package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// distribution is the name of the Python package. PyPI has another project under the name trident.
const distribution = "trident_inference"

// wheel writes the Python wheel of a program (PEP 427). It has no Python code: installers put the
// files of the folder scripts on the PATH.
func (r *release) wheel(p *program) error {
	version := pythonVersion(r.Version)
	tag := fmt.Sprintf("py3-none-%s", manylinux(p))
	name := fmt.Sprintf("%s-%s-%s.whl", distribution, version, tag)
	files, err := r.wheelFiles(p, version, tag)
	if err != nil {
		return err
	}
	all, err := zipWheel(files, fmt.Sprintf("%s-%s.dist-info/RECORD", distribution, version), r.time())
	if err != nil {
		return err
	}
	if err := os.WriteFile(r.path(name), all, 0o644); err != nil { //nolint:gosec // published
		return err
	}
	return r.made(name, "needs glibc "+oldestGLIBC)
}

// manylinux returns the platform tag of wheels that run with the oldest glibc (PEP 600).
func manylinux(p *program) string {
	return fmt.Sprintf("manylinux_%s_%s", strings.ReplaceAll(oldestGLIBC, ".", "_"), p.machine)
}

// packed is a file of a wheel.
type packed struct {
	name    string
	mode    os.FileMode
	content []byte
}

func (r *release) wheelFiles(p *program, version, tag string) ([]packed, error) {
	info := fmt.Sprintf("%s-%s.dist-info/", distribution, version)
	scripts := fmt.Sprintf("%s-%s.data/scripts/", distribution, version)
	files := []packed{
		{name: scripts + frontendName, mode: 0o755, content: []byte(frontendScript)},
		{name: info + "METADATA", mode: 0o644, content: []byte(metadata(version))},
		{name: info + "WHEEL", mode: 0o644, content: []byte("Wheel-Version: 1.0\nGenerator: tridentrelease\nRoot-Is-Purelib: false\nTag: " + tag + "\n")},
	}
	for _, f := range []file{
		{from: p.path, to: scripts + "trident", mode: 0o755},
		{from: "LICENSE", to: info + "licenses/LICENSE", mode: 0o644},
		{from: "THIRD_PARTY_NOTICES", to: info + "licenses/THIRD_PARTY_NOTICES", mode: 0o644},
		{from: r.path(r.sbomName(p)), to: info + "sboms/trident.spdx.json", mode: 0o644}, // PEP 770
	} {
		content, err := os.ReadFile(f.from)
		if err != nil {
			return nil, err
		}
		files = append(files, packed{f.to, os.FileMode(f.mode), content})
	}
	return files, nil
}

// frontendName is the name of another server of OpenAI's API. Trident called by it takes that program's
// ports and flags.
const frontendName = "tritonopenaiserver"

// frontendScript calls Trident by the other name. Wheels can't contain links.
const frontendScript = `#!/bin/bash
exec -a ` + frontendName + ` "$(dirname "$(readlink -f "$0")")/trident" "$@"
`

// metadata returns the core metadata of the Python package, version 2.4 (PEP 639).
func metadata(version string) string {
	return `Metadata-Version: 2.4
Name: ` + strings.ReplaceAll(distribution, "_", "-") + `
Version: ` + version + `
Summary: OpenAI's API, KServe v2 and typed services over NVIDIA Triton
License-Expression: Apache-2.0
License-File: LICENSE
License-File: THIRD_PARTY_NOTICES
Keywords: triton,openai,kserve,llm,inference
Classifier: Operating System :: POSIX :: Linux
Classifier: Environment :: Console
Project-URL: Source, https://github.com/trident-inference/trident
Project-URL: Changelog, https://github.com/trident-inference/trident/blob/main/CHANGELOG.md
Description-Content-Type: text/markdown

Trident serves OpenAI's API, KServe v2 and typed Connect services over NVIDIA Triton, in front of a running
tritonserver, or with Triton in process. This package contains the program, without Python code:

    trident --triton-endpoint localhost:8001

The documentation is in the source repository.
`
}

// zipWheel returns an archive whose bytes depend only on the files and the time. The last file is
// the record of the others, with their hashes and sizes.
func zipWheel(files []packed, record string, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	w.RegisterCompressor(zip.Deflate, func(to io.Writer) (io.WriteCloser, error) { return flate.NewWriter(to, flate.BestCompression) })
	var lines strings.Builder
	for _, f := range files {
		hash := sha256.Sum256(f.content)
		fmt.Fprintf(&lines, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(hash[:]), len(f.content))
	}
	lines.WriteString(record + ",,\n")
	for _, f := range append(files, packed{record, 0o644, []byte(lines.String())}) {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		header.SetMode(f.mode)
		to, err := w.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := to.Write(f.content); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
