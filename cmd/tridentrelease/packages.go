package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// packagesFolder has the configuration of nfpm, and the files of the packages that the source tree
// doesn't need elsewhere.
const packagesFolder = "deploy/packages"

// packages writes the packages of Debian and RPM with nfpm, a pinned tool.
func (r *release) packages(ctx context.Context, p *program) error {
	stage, err := r.stage(ctx, p)
	if err != nil {
		return err
	}
	version := packageVersion(r.Version)
	for packager, name := range map[string]string{
		"deb": fmt.Sprintf("trident_%s_%s.deb", version, p.goarch),
		"rpm": fmt.Sprintf("trident-%s-1.%s.rpm", version, p.machine),
	} {
		cmd := exec.CommandContext(ctx, "go", "tool", "-modfile=tools/release/go.mod", "nfpm", "package", //nolint:gosec // names of this release
			"--config", packagesFolder+"/nfpm.yaml", "--packager", packager, "--target", r.path(name))
		cmd.Env = append(os.Environ(), "PACKAGE_FILES="+stage, "PACKAGE_ARCH="+p.goarch, "PACKAGE_VERSION="+version, "PACKAGE_GLIBC="+oldestGLIBC,
			fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.Epoch))
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("nfpm: %w\n%s", err, text)
		}
		if err := r.made(name, "needs glibc "+oldestGLIBC); err != nil {
			return err
		}
	}
	return nil
}

// stage copies the files of the packages to a folder. All of them have the time of the release.
func (r *release) stage(ctx context.Context, p *program) (string, error) {
	folder := filepath.Join(r.work, p.goarch, "package")
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return "", err
	}
	copied, err := r.copied(ctx, p)
	if err != nil {
		return "", err
	}
	for name, path := range copied {
		content, err := os.ReadFile(path)
		if err != nil {
			return "", err
		}
		if err := r.put(folder, name, content); err != nil {
			return "", err
		}
	}
	return folder, errors.Join(r.unit(folder), r.completions(ctx, folder))
}

// copied returns the files of the packages that are copied as they are: the name in the staging folder,
// and the path.
func (r *release) copied(ctx context.Context, p *program) (map[string]string, error) {
	files := map[string]string{"trident": p.path, "trident.spdx.json": r.path(r.sbomName(p))}
	own, err := tracked(ctx, packagesFolder)
	if err != nil {
		return nil, err
	}
	for _, path := range append(own, "LICENSE", "THIRD_PARTY_NOTICES", "CHANGELOG.md") {
		files[filepath.Base(path)] = path
	}
	return files, nil
}

func (r *release) put(folder, name string, content []byte) error {
	path := filepath.Join(folder, name)
	return errors.Join(os.WriteFile(path, content, 0o600), os.Chtimes(path, r.time(), r.time())) //nolint:gosec // names of this release, in its own folder
}

// unit writes the systemd unit for the place of the program in packages.
func (r *release) unit(folder string) error {
	text, err := os.ReadFile("deploy/systemd/trident.service")
	if err != nil {
		return err
	}
	const local, packaged = "ExecStart=/usr/local/bin/trident\n", "ExecStart=/usr/bin/trident\n"
	if strings.Count(string(text), local) != 1 {
		return fmt.Errorf("deploy/systemd/trident.service lacks the line %q", strings.TrimSpace(local))
	}
	return r.put(folder, "trident.service", []byte(strings.Replace(string(text), local, packaged, 1)))
}

// completions writes the scripts that complete command lines in shells. This machine's Go runs the
// program, because it may be for another architecture.
func (r *release) completions(ctx context.Context, folder string) error {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		cmd := exec.CommandContext(ctx, "go", "run", "-trimpath", "./cmd/trident", "completion", shell) //nolint:gosec // constant words
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		text, err := cmd.Output()
		if failed, ok := errors.AsType[*exec.ExitError](err); ok {
			return fmt.Errorf("%s: %w\n%s", cmd, err, failed.Stderr)
		} else if err != nil {
			return err
		}
		if err := r.put(folder, "completion."+shell, text); err != nil {
			return err
		}
	}
	return nil
}
