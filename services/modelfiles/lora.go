package modelfiles

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// Files of adapters. multi_lora.json is in the folder of a version and has the
// adapters' names and paths. TensorRT-LLM's hf_lora_convert.py generates the
// other two from an adapter.
const (
	fileLoRAs       = "multi_lora.json"
	fileLoRAWeights = "model.lora_weights.npy"
	fileLoRAConfig  = "model.lora_config.npy"
)

// maxLoRA is the maximum size of an adapter's weights, in bytes. gRPC messages have
// less than 2 GiB, and a request has more content than the weights.
const maxLoRA = 2<<30 - 64<<20

// loras reads the names of adapters from multi_lora.json, the file of Triton's
// backends. The vLLM backend reads it only if its model.json has "enable_lora" as
// true or as the string "true". No setting is found if the files aren't in a local
// repository. Only vLLM's paths may lead anywhere: Trident itself reads the paths of
// other models, or sends them to the model.
func (d *detection) loras() {
	switch vllm := d.config.GetBackend() == "vllm"; {
	case d.folder == "" || d.version == "" || vllm && d.engine == nil:
		return
	case vllm && !strings.EqualFold(fmt.Sprint(d.engine.EnableLoRA), "true"):
		d.found(inference.SettingLoRAs, none, d.version+"/"+fileVLLM+": enable_lora")
		return
	}
	var paths map[string]json.RawMessage
	failures := len(d.errs)
	d.read(fileLoRAs, json.Unmarshal, &paths)
	names, origin := slices.Sorted(maps.Keys(paths)), d.version+"/"+fileLoRAs
	switch {
	case len(d.errs) > failures:
		return
	case strings.Contains(strings.Join(names, ""), ","):
		d.errs = append(d.errs, fmt.Errorf("%s: the name of a LoRA adapter must not contain a comma", origin))
		return
	}
	if check := d.loraCheck(); check != nil {
		names = slices.DeleteFunc(names, func(name string) bool {
			err := check(paths[name], name)
			if err != nil {
				d.errs = append(d.errs, fmt.Errorf("%s: %q: %w", origin, name, err))
			}
			return err != nil
		})
	}
	if len(names) == 0 {
		names = []string{none}
	}
	d.found(inference.SettingLoRAs, strings.Join(names, ","), origin)
}

// loraCheck returns a function that checks an adapter of a model with an input for
// weights or paths. It returns nil for other models.
func (d *detection) loraCheck() func(path json.RawMessage, name string) error {
	takes := func(input string) bool {
		return slices.ContainsFunc(d.config.GetInput(), func(in *kserve.ModelInput) bool { return in.GetName() == input })
	}
	weights := takes("lora_task_id")
	if !weights && !takes("lora_path") {
		return nil
	}
	return func(path json.RawMessage, name string) error {
		if strings.Contains(name, "=") {
			return errors.New(`the name of a LoRA adapter must not contain "="`)
		}
		var text string
		if err := json.Unmarshal(path, &text); err != nil {
			return errors.New("the path of the LoRA adapter is not a string")
		}
		folder, err := openLoRA(filepath.Dir(d.folder), text)
		if err != nil {
			return err
		}
		defer folder.close()
		if weights {
			_, err = folder.read(false)
		}
		return err
	}
}

// LoRAPath implements [inference.Library].
func (l *Library) LoRAPath(model, version, adapter string) (string, error) {
	folder, err := l.lora(model, version, adapter)
	if folder == nil || err != nil {
		return "", err
	}
	defer folder.close()
	return folder.path(), nil
}

// LoRAWeights implements [inference.Library].
func (l *Library) LoRAWeights(model, version, adapter string) (*inference.LoRAWeights, error) {
	folder, err := l.lora(model, version, adapter)
	if folder == nil || err != nil {
		return nil, err
	}
	defer folder.close()
	return folder.read(true)
}

// lora opens the folder of an adapter. It returns nil if no local file lists
// the adapter.
func (l *Library) lora(model, version, adapter string) (*loraFolder, error) {
	folder := l.folderOf(model)
	if folder == "" || version == "" {
		return nil, nil //nolint:nilnil // no local repository has the model
	}
	data, err := readFile(filepath.Join(folder, version, fileLoRAs))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // the version has no list of adapters
	}
	var paths map[string]json.RawMessage
	if err == nil {
		err = json.Unmarshal(data, &paths)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", fileLoRAs, err)
	}
	given, listed := paths[adapter]
	if !listed {
		return nil, nil //nolint:nilnil // the list doesn't have the adapter
	}
	var path string
	if err := json.Unmarshal(given, &path); err != nil {
		return nil, fmt.Errorf("%s: %q: the path of the LoRA adapter is not a string", fileLoRAs, adapter)
	}
	return openLoRA(filepath.Dir(folder), path)
}

// loraFolder is the folder of an adapter in a repository. All files that are opened
// through it are in the repository too, even if they are links.
type loraFolder struct {
	root *os.Root // the model repository
	name string   // path of the adapter's folder relative to root, without links
}

var errOutside = errors.New("the file or folder is not in the model repository: its path must be relative to the repository, and links must not lead out of it")

func openLoRA(repository, path string) (*loraFolder, error) {
	if !filepath.IsLocal(path) {
		return nil, errOutside
	}
	resolved, err := filepath.EvalSymlinks(repository)
	if err == nil {
		resolved, err = filepath.Abs(resolved)
	}
	if err != nil {
		return nil, fmt.Errorf("find the model repository: %w", err)
	}
	root, err := os.OpenRoot(resolved)
	if err != nil {
		return nil, fmt.Errorf("open the model repository: %w", err)
	}
	folder := &loraFolder{root: root}
	if folder.name, err = folder.resolve(path); err == nil {
		var info fs.FileInfo
		if info, err = root.Stat(folder.name); err == nil && !info.IsDir() {
			err = errors.New("the path of the LoRA adapter is not a folder")
		}
	}
	if err != nil {
		folder.close()
		return nil, err
	}
	return folder, nil
}

func (f *loraFolder) close() { _ = f.root.Close() } // nothing was written

func (f *loraFolder) path() string { return filepath.Join(f.root.Name(), f.name) }

// resolve follows links and returns a name in the repository that has no links. The
// root refuses absolute links even if they stay inside, and all links that are
// created after the check.
func (f *loraFolder) resolve(name string) (string, error) {
	resolved, err := filepath.EvalSymlinks(filepath.Join(f.root.Name(), name))
	if err != nil {
		return "", err
	}
	inside, err := filepath.Rel(f.root.Name(), resolved)
	if err != nil || !filepath.IsLocal(inside) {
		return "", errOutside
	}
	return inside, nil
}

// read returns the adapter's tensors. If values is false, it checks their
// headers only.
func (f *loraFolder) read(values bool) (*inference.LoRAWeights, error) {
	weights, shape, err := f.matrix(fileLoRAWeights, "<f2", 2, values)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", fileLoRAWeights, err)
	}
	config, rows, err := f.matrix(fileLoRAConfig, "<i4", 4, values)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", fileLoRAConfig, err)
	case rows[0] != shape[0]:
		return nil, fmt.Errorf("%s has %d rows, but %s has %d: convert the adapter again", fileLoRAWeights, shape[0], fileLoRAConfig, rows[0])
	}
	return &inference.LoRAWeights{Rows: rows[0], Width: shape[1], Columns: rows[1], Weights: weights, Config: config}, nil
}

// matrix reads a file of two dimensions, or of three dimensions if the first one (the
// batch) has one element.
func (f *loraFolder) matrix(file, descr string, width int64, values bool) ([]byte, []int64, error) {
	name, err := f.resolve(filepath.Join(f.name, file))
	if err != nil {
		return nil, nil, err
	}
	info, err := f.root.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil, errors.Join(errors.New("this part of the LoRA adapter is not a regular file"), err)
	}
	opened, err := f.root.Open(name)
	if err != nil {
		return nil, nil, err
	}
	defer opened.Close() //nolint:errcheck // nothing was written
	array, err := readNPY(opened)
	if err != nil {
		return nil, nil, err
	}
	shape := array.shape
	if len(shape) == 3 && shape[0] == 1 {
		shape = shape[1:]
	}
	at, err := opened.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, nil, err
	}
	size := array.bytes(width)
	switch {
	case array.descr != descr:
		return nil, nil, fmt.Errorf("the array has values of type %q, not %q: convert the adapter with --storage-type float16", array.descr, descr)
	case len(shape) != 2 || size == 0:
		return nil, nil, fmt.Errorf("the array has the shape %v, but must have rows and columns", array.shape)
	case size < 0 || size > maxLoRA:
		return nil, nil, fmt.Errorf("the array has the shape %v, which needs more than %d bytes", array.shape, maxLoRA)
	case info.Size()-at != size:
		return nil, nil, fmt.Errorf("the NumPy file has %d bytes of values, but the shape %v needs %d", info.Size()-at, array.shape, size)
	case !values:
		return nil, shape, nil
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(opened, data); err != nil {
		return nil, nil, err
	}
	return data, shape, nil
}
