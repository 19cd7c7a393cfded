package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"

	"github.com/trident-inference/trident/web/client"
)

// client writes the npm package of the client, whose version is that of its package.json.
func (r *release) client(context.Context) error {
	all, err := client.Pack()
	if err != nil {
		return err
	}
	text, err := os.ReadFile("web/client/package.json")
	if err != nil {
		return err
	}
	var npm struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(text, &npm); err != nil {
		return err
	}
	name := "trident-client-" + npm.Version + ".tgz"               // as npm pack names it
	if err := os.WriteFile(r.path(name), all, 0o644); err != nil { //nolint:gosec // published
		return err
	}
	return r.made(name, "npm package @trident/client")
}

// chartFolder is the source of the Helm chart.
const chartFolder = "deploy/helm/trident"

// chart writes the Helm chart in the format of helm package, whose own archives have the time of
// the day. The version is that of Chart.yaml.
func (r *release) chart(ctx context.Context) error {
	paths, err := tracked(ctx, chartFolder)
	if err != nil {
		return err
	}
	files, err := chartFiles(paths)
	if err != nil {
		return err
	}
	version, err := chartVersion()
	if err != nil {
		return err
	}
	name := "trident-chart-" + version + ".tgz"
	if err := archive(r.path(name), files, r.time()); err != nil {
		return err
	}
	return r.made(name, "Helm chart")
}

func chartVersion() (string, error) {
	text, err := os.ReadFile(chartFolder + "/Chart.yaml")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if version, ok := strings.CutPrefix(line, "version: "); ok {
			return strings.TrimSpace(version), nil
		}
	}
	return "", errors.New(chartFolder + "/Chart.yaml has no version")
}

// chartFiles returns the files of the chart, except the folders that .helmignore lists.
func chartFiles(paths []string) ([]file, error) {
	text, err := os.ReadFile(chartFolder + "/.helmignore")
	if err != nil {
		return nil, err
	}
	var ignored []string
	for line := range strings.Lines(string(text)) {
		if folder, ok := strings.CutPrefix(strings.TrimSpace(line), "/"); ok {
			ignored = append(ignored, folder)
		}
	}
	var files []file
	for _, path := range paths {
		inner := strings.TrimPrefix(path, chartFolder+"/")
		if !hasPrefixOf(inner, ignored) {
			files = append(files, file{from: path, to: "trident/" + inner, mode: 0o644})
		}
	}
	return files, nil
}

// hasPrefixOf reports whether path has one of the prefixes.
func hasPrefixOf(path string, prefixes []string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}
