package deploy

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// TestContainerStages reads the container files with BuildKit's parser, and follows the stages from
// which the final image takes the program. BINARY selects the stage that compiles it, or the one that
// copies it from an unpacked release archive.
func TestContainerStages(t *testing.T) {
	for _, path := range glob(t, "deploy/container/Containerfile*") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			stages, args := readStages(t, path)
			named := map[string]*instructions.Stage{}
			for i := range stages {
				for _, c := range stages[i].Commands {
					if from, ok := c.(*instructions.CopyCommand); ok && from.From != "" && named[from.From] == nil {
						t.Errorf("%s copies from %s, which isn't an earlier stage", stages[i].Name, from.From)
					}
				}
				named[stages[i].Name] = &stages[i]
			}
			if args["BINARY"] != "build" || named["binary"].BaseName != "${BINARY}" {
				t.Errorf("BINARY is %q by default, and the stage binary has the base %s", args["BINARY"], named["binary"].BaseName)
			}
			if from := named["build"]; !strings.Contains(from.BaseName, "/golang:") || !runs(from, "go build -trimpath", "-o /trident ./cmd/trident") {
				t.Errorf("the stage build doesn't compile the program: %s", from.SourceCode)
			}
			if from := named["archive"]; from.BaseName != "scratch" || !copies(from, "", "trident", "/trident") {
				t.Errorf("the stage archive doesn't copy the archive's program")
			}
			final := &stages[len(stages)-1]
			program := entrypoint(t, final)
			if !copies(final, "binary", "/trident", program) {
				t.Errorf("the final image doesn't have the program %s", program)
			}
			if user := lastUser(final); user == "" || strings.HasPrefix(user, "0") || user == "root" {
				t.Errorf("the final image runs as %q", user)
			}
		})
	}
}

func readStages(t *testing.T, path string) ([]instructions.Stage, map[string]string) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close() //nolint:errcheck // it was read
	tree, err := parser.Parse(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range tree.Warnings {
		t.Errorf("%s: %s", path, w.Short)
	}
	stages, global, err := instructions.Parse(tree.AST, nil)
	if err != nil {
		t.Fatal(err)
	}
	args := map[string]string{}
	for _, command := range global {
		for _, arg := range command.Args {
			args[arg.Key] = arg.ValueString()
		}
	}
	return stages, args
}

// runs reports whether one command of a stage has all of the words.
func runs(stage *instructions.Stage, words ...string) bool {
	return slices.ContainsFunc(stage.Commands, func(c instructions.Command) bool {
		run, ok := c.(*instructions.RunCommand)
		return ok && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(strings.Join(run.CmdLine, " "), w) })
	})
}

func copies(stage *instructions.Stage, from, source, to string) bool {
	return slices.ContainsFunc(stage.Commands, func(c instructions.Command) bool {
		command, ok := c.(*instructions.CopyCommand)
		return ok && command.From == from && slices.Equal(command.SourcePaths, []string{source}) && command.DestPath == to
	})
}

func entrypoint(t *testing.T, stage *instructions.Stage) string {
	t.Helper()
	for _, c := range stage.Commands {
		if e, ok := c.(*instructions.EntrypointCommand); ok && len(e.CmdLine) == 1 && !e.PrependShell {
			return e.CmdLine[0]
		}
	}
	t.Fatal("the final image has no entrypoint of one program")
	return ""
}

func lastUser(stage *instructions.Stage) string {
	user := ""
	for _, c := range stage.Commands {
		if u, ok := c.(*instructions.UserCommand); ok {
			user = u.User
		}
	}
	return user
}

// TestContainerCommands runs what a container engine runs for `docker run IMAGE COMMAND`: the entry point of the
// container file, with the command as its arguments. It also runs the command of a pod, which replaces the
// entry point and is found by the image's PATH. The image's links and its program are laid out in a folder.
func TestContainerCommands(t *testing.T) {
	built, err := program()
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range glob(t, "deploy/container/Containerfile*") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			stages, _ := readStages(t, path)
			final := &stages[len(stages)-1]
			image := layOut(t, final, built)
			for _, command := range final.Commands {
				if c, ok := command.(*instructions.CmdCommand); ok {
					t.Errorf("the entry point has arguments without a command: %v", c.CmdLine)
				}
			}
			for _, name := range []string{"tritonserver", "tritonopenaiserver"} {
				for _, line := range [][]string{
					{filepath.Join(image, entrypoint(t, final)), name}, {filepath.Join(image, entrypoint(t, final)), "/opt/tritonserver/bin/" + name},
					{lookUp(t, image, final, name)},
				} {
					out, err := exec.CommandContext(t.Context(), line[0], append(line[1:], "--help")...).CombinedOutput() //nolint:gosec // our own program
					if want := "Usage: " + name + " [FLAGS]\n"; err != nil || !strings.HasPrefix(string(out), want) {
						t.Errorf("%v --help: %v\n%s", line, err, out)
					}
				}
			}
			out, err := exec.CommandContext(t.Context(), filepath.Join(image, entrypoint(t, final)), "--version").CombinedOutput() //nolint:gosec // our own program
			if err != nil || !strings.HasPrefix(string(out), "trident ") {
				t.Errorf("--version: %v\n%s", err, out)
			}
		})
	}
}

// linked matches a command of a RUN instruction that makes a link.
var linked = regexp.MustCompile(`ln -s (\S+) (\S+)`)

// layOut makes a folder with the program of an image and the links to it. Targets of absolute links are in the folder.
func layOut(t *testing.T, stage *instructions.Stage, built string) string {
	t.Helper()
	image, links := t.TempDir(), map[string]string{}
	for _, command := range stage.Commands {
		switch c := command.(type) {
		case *instructions.CopyCommand:
			if c.From == "binary" {
				links[c.DestPath] = built
				continue
			}
			for _, source := range c.SourcePaths {
				for _, file := range glob(t, filepath.Join(source, "*")) {
					target, err := os.Readlink(file)
					if err != nil {
						t.Fatal(err)
					}
					links[filepath.Join(c.DestPath, filepath.Base(file))] = filepath.Join(image, c.DestPath, target)
				}
			}
		case *instructions.RunCommand:
			for _, link := range linked.FindAllStringSubmatch(strings.Join(c.CmdLine, " "), -1) {
				links[link[2]] = filepath.Join(image, link[1])
			}
		}
	}
	for path, target := range links {
		path = filepath.Join(image, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.Symlink(target, path)); err != nil {
			t.Fatal(err)
		}
	}
	return image
}

// lookUp returns the path of a program in the image's PATH.
func lookUp(t *testing.T, image string, stage *instructions.Stage, name string) string {
	t.Helper()
	path := "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" // of both base images
	for _, command := range stage.Commands {
		if c, ok := command.(*instructions.EnvCommand); ok {
			for _, v := range c.Env {
				if v.Key == "PATH" {
					path = strings.ReplaceAll(v.Value, "${PATH}", path)
				}
			}
		}
	}
	for folder := range strings.SplitSeq(path, ":") {
		if file := filepath.Join(image, folder, name); exists(t, file) {
			return file
		}
	}
	t.Fatalf("%s isn't in %s", name, path)
	return ""
}

// TestContainerLinks checks that the links of the image without a shell point to its program.
func TestContainerLinks(t *testing.T) {
	for _, path := range glob(t, "deploy/container/links/*") {
		target, err := os.Readlink(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := filepath.Join("/usr/bin", target); got != "/trident" {
			t.Errorf("%s points to %s in the image", path, got)
		}
	}
}
