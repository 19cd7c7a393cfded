package modelfiles

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/prototext"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// Disk is an engine that runs nothing: it tells the models of repositories by their
// files, without what Triton would find out when it loads them. It may be used
// concurrently.
type Disk struct{ repositories []string }

var _ inference.Engine = (*Disk)(nil)

// NewDisk makes one of repositories that are folders.
func NewDisk(repositories []string) *Disk { return &Disk{repositories} }

// Ready is nil.
func (*Disk) Ready(context.Context) error { return nil }

// Stream fails.
func (*Disk) Stream(context.Context, *kserve.ModelInferRequest) iter.Seq2[*inference.Response, error] {
	return func(yield func(*inference.Response, error) bool) {
		yield(nil, inference.Unsupported("model", "the models of these repositories aren't loaded"))
	}
}

// Models lists the models as if they were loaded.
func (d *Disk) Models(context.Context) ([]inference.Model, error) {
	var models []inference.Model
	for _, repository := range d.repositories {
		if strings.Contains(repository, "://") {
			return nil, fmt.Errorf("%s is no folder: only Triton can list its models", repository)
		}
		entries, err := os.ReadDir(repository)
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			if m, ok := readModel(filepath.Join(repository, entry.Name())); ok {
				models = append(models, m)
			}
		}
	}
	return models, nil
}

// readModel reads a folder with a config.pbtxt or a version, which Triton takes for a
// model.
func readModel(folder string) (inference.Model, bool) {
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return inference.Model{}, false
	}
	m := inference.Model{Name: filepath.Base(folder), Version: latestVersion(folder), State: inference.ModelReady}
	data, err := readFile(filepath.Join(folder, "config.pbtxt"))
	switch {
	case errors.Is(err, fs.ErrNotExist) && m.Version == "":
		return m, false
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		m.State, m.Reason = inference.ModelUnavailable, err.Error()
		return m, true
	}
	m.Config = &kserve.ModelConfig{}
	if err := (prototext.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(data, m.Config); err != nil {
		m.State, m.Config, m.Reason = inference.ModelUnavailable, nil, "config.pbtxt: "+err.Error()
		return m, true
	}
	if m.Config.GetName() == "" {
		m.Config.Name = m.Name
	}
	return m, true
}

// latestVersion is the highest number among the folders, empty for none.
func latestVersion(folder string) string {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return ""
	}
	var versions []uint64
	for _, entry := range entries {
		if n, err := strconv.ParseUint(entry.Name(), 10, 63); err == nil && n > 0 {
			versions = append(versions, n)
		}
	}
	if len(versions) == 0 {
		return ""
	}
	return strconv.FormatUint(slices.Max(versions), 10)
}
