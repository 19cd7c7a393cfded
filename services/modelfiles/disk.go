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

// Disk is an engine that runs nothing. It lists the models of repositories by their
// files, without the properties that Triton adds when it loads a model. It may be
// used concurrently.
type Disk struct{ repositories []string }

var _ inference.Engine = (*Disk)(nil)

// NewDisk returns a Disk that reads the given repositories, which must be folders.
func NewDisk(repositories []string) *Disk { return &Disk{repositories} }

// Ready returns nil.
func (*Disk) Ready(context.Context) error { return nil }

// Stream yields an error: the models aren't loaded.
func (*Disk) Stream(context.Context, *kserve.ModelInferRequest) iter.Seq2[*inference.Response, error] {
	return func(yield func(*inference.Response, error) bool) {
		yield(nil, inference.Unsupported("model", "the models were only listed from the repository on disk, so that they can't serve requests"))
	}
}

// Models lists the models as if they were loaded.
func (d *Disk) Models(context.Context) ([]inference.Model, error) {
	var models []inference.Model
	for _, repository := range d.repositories {
		if strings.Contains(repository, "://") {
			return nil, fmt.Errorf("the model repository %s is not a local folder: only Triton can list its models", repository)
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

// readModel reads a folder that Triton accepts as a model: one with a config.pbtxt or
// a version. readModel returns false for another folder.
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

// latestVersion returns the highest version number among the folders, or an
// empty string if there is none.
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
