package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// repository is the address of the sources.
const repository = "https://github.com/trident-inference/trident"

// predicate is the provenance of a release (SLSA, version 1), without what its signer adds: the
// subject and the identity of the builder.
type predicate struct {
	BuildDefinition buildDefinition `json:"buildDefinition"`
	RunDetails      runDetails      `json:"runDetails"`
}

type buildDefinition struct {
	BuildType            string            `json:"buildType"`
	ExternalParameters   map[string]any    `json:"externalParameters"`
	ResolvedDependencies []resource        `json:"resolvedDependencies"`
	InternalParameters   map[string]string `json:"internalParameters"`
}

type resource struct {
	URI    string            `json:"uri"`
	Digest map[string]string `json:"digest,omitempty"`
}

type runDetails struct {
	Builder struct {
		ID string `json:"id"`
	} `json:"builder"`
}

// provenanceName is the name of the file with the provenance.
const provenanceName = "provenance.json"

// provenance writes how the release was built: the commit, the compilers and the parameters.
// docs/contributing/releasing.md describes how it is signed.
func (r *release) provenance(ctx context.Context) error {
	commit, err := commitOf(ctx)
	if err != nil {
		return err
	}
	zig, err := exec.CommandContext(ctx, strings.Fields(r.Zig)[0], append(strings.Fields(r.Zig)[1:], "version")...).Output() //nolint:gosec // the operator of the release chooses the compiler
	if err != nil {
		return fmt.Errorf("%s version: %w", r.Zig, err)
	}
	text, err := json.MarshalIndent(r.predicate(commit, strings.TrimSpace(string(zig))), "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(r.path(provenanceName), append(text, '\n'), 0o644); err != nil { //nolint:gosec // published
		return err
	}
	return r.made(provenanceName, "unsigned")
}

func (r *release) predicate(commit, zig string) predicate {
	var p predicate
	p.BuildDefinition = buildDefinition{
		BuildType:            repository + "/blob/main/docs/contributing/releasing.md",
		ExternalParameters:   map[string]any{"version": r.Version, "platforms": r.Platforms},
		InternalParameters:   map[string]string{"SOURCE_DATE_EPOCH": fmt.Sprint(r.Epoch), "glibc": oldestGLIBC},
		ResolvedDependencies: []resource{{"git+" + repository, map[string]string{"gitCommit": commit}}, {URI: "pkg:generic/go@" + strings.TrimPrefix(r.compiler, "go")}, {URI: "pkg:pypi/ziglang@" + zig}},
	}
	p.RunDetails.Builder.ID = repository + "/blob/main/cmd/tridentrelease"
	return p
}

func commitOf(ctx context.Context) (string, error) {
	text, err := exec.CommandContext(ctx, "git", "rev-parse", "HEAD").Output()
	if err != nil {
		return "", fmt.Errorf("git rev-parse: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}
