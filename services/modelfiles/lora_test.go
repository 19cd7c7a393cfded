package modelfiles

import (
	"encoding/binary"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/trident-inference/trident/gen/go/kserve"
	"github.com/trident-inference/trident/services/inference"
)

// npy returns a file of version 1.0 with a header and a number of bytes as
// values.
func npy(header string, values int) string {
	return "\x93NUMPY\x01\x00" + string(binary.LittleEndian.AppendUint16(nil, uint16(len(header)))) + header + strings.Repeat("\x01", values)
}

// array returns the file of an array in NumPy's format, in which the values start at a multiple of 64
// bytes.
func array(descr, shape string, values int) string {
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, shape)
	return npy(header+strings.Repeat(" ", 63-(10+len(header))%64)+"\n", values)
}

// adapter adds the files of an adapter to a folder.
func adapter(files map[string]string, folder, weights, config string) {
	files[folder+"/"+fileLoRAWeights], files[folder+"/"+fileLoRAConfig] = weights, config
}

func TestReadNPY(t *testing.T) {
	const good = "{'descr': '<f2', 'fortran_order': False, 'shape': (1, 2, 8), }\n"
	second := "\x93NUMPY\x02\x00" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(good)))) + good
	tests := []struct {
		name, file string
		shape      []int64
		err        string
	}{
		{"as NumPy writes it", array("<f2", "(1, 2, 8)", 32), []int64{1, 2, 8}, ""},
		{"version 2", second, []int64{1, 2, 8}, ""},
		{"one dimension", npy("{'descr': '<f2', 'fortran_order': False, 'shape': (3,), }", 0), []int64{3}, ""},
		{"none", npy("{'descr': '<f2', 'fortran_order': False, 'shape': (), }", 0), nil, ""},
		{"without a comma at the end", npy("{'descr': '<f2', 'fortran_order': False, 'shape': (3, 4)}", 0), []int64{3, 4}, ""},
		{"nothing", "", nil, "is not a NumPy file"},
		{"another file", "PK\x03\x04 and so on", nil, "is not a NumPy file"},
		{"version 3", "\x93NUMPY\x03\x00" + second[8:], nil, "version 3.0"},
		{"no length", second[:9], nil, "is truncated in its header"},
		{"cut short", second[:40], nil, "is truncated in its header"},
		{"a long header", "\x93NUMPY\x02\x00\xff\xff\xff\xff", nil, "a header of 4294967295 bytes"},
		{"no header", npy("", 0), nil, "that NumPy doesn't write"},
		{"by columns", npy("{'descr': '<f2', 'fortran_order': True, 'shape': (1, 2), }", 0), nil, "column-major order"},
		{"objects", npy("{'descr': [('a', '<f2')], 'fortran_order': False, 'shape': (1, 2), }", 0), nil, "that NumPy doesn't write"},
		{"a key twice", npy("{'descr': '<f2', 'descr': '<f2', 'fortran_order': False, 'shape': (1,), }", 0), nil, "that NumPy doesn't write"},
		{"a further key", npy("{'descr': '<f2', 'fortran_order': False, 'shape': (1,), 'x': 1}", 0), nil, "that NumPy doesn't write"},
		{"below 0", npy("{'descr': '<f2', 'fortran_order': False, 'shape': (-1, 2), }", 0), nil, "that NumPy doesn't write"},
		{"a number too large", npy("{'descr': '<f2', 'fortran_order': False, 'shape': (9223372036854775808, 2), }", 0), nil, "a shape that NumPy doesn't write"},
		{"no commas", npy("{'descr': '<f2', 'fortran_order': False, 'shape': (1 2), }", 0), nil, "a shape that NumPy doesn't write"},
		{"two commas", npy("{'descr': '<f2', 'fortran_order': False, 'shape': (1,,2), }", 0), nil, "a shape that NumPy doesn't write"},
		{"commas alone", npy("{'descr': '<f2', 'fortran_order': False, 'shape': (,,), }", 0), nil, "a shape that NumPy doesn't write"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readNPY(strings.NewReader(tt.file))
			if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("got %v", err)
			}
			if err == nil && (got.descr != "<f2" || !slices.Equal(got.shape, tt.shape)) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// FuzzReadNPY checks that readNPY reads the same header again after the header is
// written as NumPy writes it.
func FuzzReadNPY(f *testing.F) {
	for _, file := range []string{array("<f2", "(1, 2, 8)", 32), array("<i4", "(2, 3)", 24), array("<f2", "(3,)", 6), array("|V2", "()", 2), npy("{}", 0), "\x93NUMPY\x02\x00\x01"} {
		f.Add([]byte(file))
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		got, err := readNPY(strings.NewReader(string(file)))
		if err != nil {
			return
		}
		var shape strings.Builder
		for _, n := range got.shape {
			if n < 0 {
				t.Fatalf("%d elements", n)
			}
			fmt.Fprintf(&shape, "%d, ", n)
		}
		again, err := readNPY(strings.NewReader(array(got.descr, "("+shape.String()+")", 0)))
		if err != nil || again.descr != got.descr || !slices.Equal(again.shape, got.shape) {
			t.Errorf("%+v became %+v, %v", got, again, err)
		}
		if size := got.bytes(2); size < -1 || size > 0 && size < int64(len(got.shape)) && slices.Min(got.shape) > 1 {
			t.Errorf("%v takes %d bytes", got.shape, size)
		}
	})
}

// takesLoRA returns a configuration with an input for adapters.
func takesLoRA(input string) *kserve.ModelConfig {
	return &kserve.ModelConfig{Name: "m", Backend: "python", Input: []*kserve.ModelInput{{Name: input}}}
}

func TestLoRAWeights(t *testing.T) {
	weights, settings := array("<f2", "(1, 2, 8)", 32), array("<i4", "(1, 2, 3)", 24)
	tests := []struct {
		name, weights, config string
		want                  string // rows, width, columns
		err                   string
	}{
		{"with a batch", weights, settings, "2 8 3", ""},
		{"without", array("<f2", "(2, 8)", 32), array("<i4", "(2, 3)", 24), "2 8 3", ""},
		{"of DoRA", weights, array("<i4", "(1, 2, 4)", 32), "2 8 4", ""},
		{"bfloat16", array("|V2", "(1, 2, 8)", 32), settings, "", `model.lora_weights.npy: the array has values of type "|V2", not "<f2": convert the adapter with --storage-type float16`},
		{"big-endian", array(">f2", "(1, 2, 8)", 32), settings, "", `">f2"`},
		{"a value too many", weights + "x", settings, "", "has 33 bytes of values, but the shape [1 2 8] needs 32"},
		{"a value too few", weights, settings[:len(settings)-1], "", "model.lora_config.npy: the NumPy file has 23 bytes of values, but the shape [1 2 3] needs 24"},
		{"one dimension", array("<f2", "(16,)", 32), settings, "", "has the shape [16], but must have rows and columns"},
		{"two batches", array("<f2", "(2, 2, 8)", 64), settings, "", "has the shape [2 2 8], but must have rows and columns"},
		{"nothing", array("<f2", "(1, 0, 8)", 0), settings, "", "has the shape [1 0 8], but must have rows and columns"},
		{"more than there can be", array("<f2", "(1, 4611686018427387904, 8)", 32), settings, "", "more than"},
		{"more than a message holds", array("<f2", "(1, 1073741824, 2)", 32), settings, "", "more than 2080374784 bytes"},
		{"other rows", weights, array("<i4", "(1, 3, 3)", 36), "", "model.lora_weights.npy has 2 rows, but model.lora_config.npy has 3"},
		{"no NumPy", "{}", settings, "", "model.lora_weights.npy: the file is not a NumPy file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{"m/1/multi_lora.json": `{"doll": "m/loras/doll"}`}
			adapter(files, "m/loras/doll", tt.weights, tt.config)
			l := New(Config{Repositories: []string{"s3://bucket", writeFiles(t, files)}}, slog.New(slog.DiscardHandler))
			got, err := l.LoRAWeights("m", "1", "doll")
			settings, detectErr := l.Detect(inference.Model{Name: "m", Version: "1", Config: takesLoRA("lora_task_id")}, noConfig)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) || detectErr == nil || !strings.Contains(detectErr.Error(), `"doll": `+err.Error()) || show(settings) != "loras=none (1/multi_lora.json)" {
					t.Errorf("got %v; at load %v, %s", err, detectErr, show(settings))
				}
				return
			}
			if err != nil || detectErr != nil || show(settings) != "loras=doll (1/multi_lora.json)" {
				t.Fatalf("got %v; at load %v, %s", err, detectErr, show(settings))
			}
			if shape := fmt.Sprint(got.Rows, got.Width, got.Columns); shape != tt.want || string(got.Weights) != strings.Repeat("\x01", 32) || int64(len(got.Config)) != got.Rows*got.Columns*4 {
				t.Errorf("got %s: %+v", shape, got)
			}
		})
	}
}

func noConfig(string) *kserve.ModelConfig { return nil }

// TestLoRAsStayInTheRepository checks that Library neither reads nor lists a LoRA adapter whose
// path leads out of the model repository.
func TestLoRAsStayInTheRepository(t *testing.T) {
	weights, settings := array("<f2", "(1, 2, 8)", 32), array("<i4", "(1, 2, 3)", 24)
	files := map[string]string{}
	adapter(files, "repository/m/1/doll", weights, settings)
	adapter(files, "repository/m/1/partly", weights, settings)
	adapter(files, "repository/shared/sheep", weights, settings)
	adapter(files, "away", weights, settings)
	files["repository/m/1/half/"+fileLoRAWeights] = weights
	files["repository/m/1/file"] = "x"
	root := writeFiles(t, files)
	repository := filepath.Join(root, "repository")
	link := func(target, name string) {
		t.Helper()
		if err := os.Symlink(target, filepath.Join(repository, name)); err != nil {
			t.Fatal(err)
		}
	}
	link("../../shared/sheep", "m/1/link")
	link(filepath.Join(repository, "shared"), "absolute")
	link("../../../away", "m/1/out")
	link(root, "up")
	if err := os.Remove(filepath.Join(repository, "m", "1", "partly", fileLoRAWeights)); err != nil {
		t.Fatal(err)
	}
	link(filepath.Join(root, "away", fileLoRAWeights), "m/1/partly/"+fileLoRAWeights)
	entry := filepath.Join(root, "entry") // entry becomes a link to the repository
	if err := os.Symlink(repository, entry); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, path, want, err string }{
		{"in the version's folder", `"m/1/doll"`, "m/1/doll", ""},
		{"beside the models", `"shared/sheep"`, "shared/sheep", ""},
		{"back and forth", `"m/../shared/./sheep/"`, "shared/sheep", ""},
		{"by a link", `"m/1/link"`, "shared/sheep", ""},
		{"by an absolute link", `"absolute/sheep"`, "shared/sheep", ""},
		{"absolute", `"` + filepath.Join(repository, "m", "1", "doll") + `"`, "", "is not in the model repository"},
		{"above", `"../away"`, "", "is not in the model repository"},
		{"above, hidden", `"m/../../away"`, "", "is not in the model repository"},
		{"by a link out of it", `"m/1/out"`, "", "is not in the model repository"},
		{"through a link out of it", `"up/away"`, "", "is not in the model repository"},
		{"through a link out of it and back", `"up/repository/m/1/doll"`, "m/1/doll", ""},
		{"a file that lies outside", `"m/1/partly"`, "", "model.lora_weights.npy: the file or folder is not in the model repository"},
		{"nowhere", `"m/1/none"`, "", "no such file"},
		{"a file", `"m/1/file"`, "", "is not a folder"},
		{"half of it", `"m/1/half"`, "", "no such file"},
		{"empty", `""`, "", "is not in the model repository"},
		{"no path", `{"path": "m/1/doll"}`, "", "the path of the LoRA adapter is not a string"},
	}
	for _, tt := range tests {
		for _, at := range []string{repository, entry} {
			t.Run(tt.name+" "+filepath.Base(at), func(t *testing.T) {
				list := filepath.Join(repository, "m", "1", fileLoRAs)
				if err := os.WriteFile(list, []byte(`{"a": `+tt.path+`}`), 0o600); err != nil {
					t.Fatal(err)
				}
				l := New(Config{Repositories: []string{at}}, slog.New(slog.DiscardHandler))
				got, err := l.LoRAWeights("m", "1", "a")
				if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) || err == nil && len(got.Weights) != 32 {
					t.Errorf("weights: %v, %v", got, err)
				}
				path, err := l.LoRAPath("m", "1", "a")
				if tt.want != "" && (err != nil || path != filepath.Join(repository, tt.want)) || err != nil && path != "" {
					t.Errorf("path: %s, %v", path, err)
				}
				detected, err := l.Detect(inference.Model{Name: "m", Version: "1", Config: takesLoRA("lora_task_id")}, noConfig)
				if listed := show(detected) == "loras=a (1/multi_lora.json)"; listed != (tt.err == "") || (err == nil) != listed {
					t.Errorf("at load: %s, %v", show(detected), err)
				}
			})
		}
	}
}

// TestLoRAsElsewhere checks that LoRAWeights and LoRAPath return no weights, no path and no error
// for an adapter whose files aren't in a local repository.
func TestLoRAsElsewhere(t *testing.T) {
	files := map[string]string{"m/1/multi_lora.json": `{"doll": "m/loras/doll"}`, "n/1/model.py": "", "bad/1/multi_lora.json": "{"}
	l := New(Config{Repositories: []string{"gs://bucket", writeFiles(t, files)}}, slog.New(slog.DiscardHandler))
	for _, tt := range []struct{ model, version, adapter string }{{"m", "1", "sheep"}, {"m", "2", "doll"}, {"m", "", "doll"}, {"n", "1", "doll"}, {"other", "1", "doll"}, {"../m", "1", "doll"}} {
		weights, err := l.LoRAWeights(tt.model, tt.version, tt.adapter)
		path, pathErr := l.LoRAPath(tt.model, tt.version, tt.adapter)
		if weights != nil || path != "" || err != nil || pathErr != nil {
			t.Errorf("%v: %v, %v, %s, %v", tt, weights, err, path, pathErr)
		}
	}
	if _, err := l.LoRAWeights("bad", "1", "doll"); err == nil || !strings.HasPrefix(err.Error(), "multi_lora.json: ") {
		t.Errorf("got %v", err)
	}
	detected, err := l.Detect(inference.Model{Name: "m", Version: "1", Config: takesLoRA("lora_path")}, noConfig)
	if err == nil || !strings.Contains(err.Error(), `1/multi_lora.json: "doll": `) || show(detected) != "loras=none (1/multi_lora.json)" {
		t.Errorf("the LLM API's: %s, %v", show(detected), err)
	}
}
