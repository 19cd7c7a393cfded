package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// sbomName returns the name of the SBOM of a program.
func (r *release) sbomName(p *program) string {
	return fmt.Sprintf("trident_%s_linux_%s.spdx.json", r.Version, p.goarch)
}

// sbom writes the SBOM of a program with tools/release/sbom. The other program of the architecture
// contains a subset of the modules.
func (r *release) sbom(ctx context.Context, p *program) error {
	root, err := filepath.Abs(".")
	if err != nil {
		return err
	}
	out, err := filepath.Abs(r.path(r.sbomName(p)))
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "-C", "tools/release", "run", "./sbom", //nolint:gosec // the operator of the release chooses the version
		"--program", p.path, "--name", fmt.Sprintf("trident-%s-linux-%s", r.Version, p.goarch), "--version", r.Version,
		"--root", root, "--created", fmt.Sprint(r.Epoch), "--out", out)
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("sbom: %w\n%s", err, text)
	}
	return r.made(r.sbomName(p), "SPDX 2.3")
}
