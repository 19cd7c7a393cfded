package release

import (
	"debug/elf"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// python returns the Python of make test-release, with auditwheel and spdx-tools.
func python(t *testing.T) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(root, ".venv-packages", "bin", "python"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("run tools/setup-packages.sh: %v", err)
	}
	return path
}

// testSBOM checks the SBOMs with SPDX's own validator, and compares the modules with those of the
// program in the archive.
func testSBOM(t *testing.T, dist string) {
	t.Helper()
	for _, arch := range []string{"amd64", "arm64"} {
		path := one(t, dist, "trident_*_linux_"+arch+".spdx.json")
		command(t, python(t), "-m", "spdx_tools.spdx.clitools.pyspdxtools", "--infile", path, "--version", "SPDX-2.3")
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Packages []struct {
				Name, VersionInfo, LicenseDeclared string
				Checksums                          []struct{ ChecksumValue string }
			}
		}
		if err := json.Unmarshal(text, &doc); err != nil {
			t.Fatal(err)
		}
		program := filepath.Join(unpack(t, one(t, dist, "trident_*_linux_"+arch+".tar.gz")), "trident")
		if got := strings.Fields(command(t, "sha256sum", program))[0]; got != doc.Packages[0].Checksums[0].ChecksumValue {
			t.Errorf("%s describes a program with the checksum %s, the archive's has %s", path, doc.Packages[0].Checksums[0].ChecksumValue, got)
		}
		listed := map[string]bool{}
		for _, p := range doc.Packages {
			listed[p.Name+" "+p.VersionInfo] = true
			if p.LicenseDeclared == "" || p.LicenseDeclared == "NOASSERTION" {
				t.Logf("%s %s: no known licence", p.Name, p.VersionInfo)
			}
		}
		modules := regexp.MustCompile(`(?m)^\tdep\t(\S+)\t(\S+)`).FindAllStringSubmatch(command(t, "go", "version", "-m", program), -1)
		if len(modules) < 30 {
			t.Errorf("%s has %d modules", program, len(modules))
		}
		for _, m := range modules {
			if !listed[m[1]+" "+m[2]] {
				t.Errorf("%s lacks %s %s", path, m[1], m[2])
			}
		}
	}
}

// unpack returns the folder that is in an archive.
func unpack(t *testing.T, path string) string {
	t.Helper()
	folder := t.TempDir()
	command(t, "tar", "-xzf", path, "-C", folder)
	return one(t, folder, "*")
}

// testWheel compares the wheels' tags with auditwheel's, installs that for this machine with pip into a
// new environment, and starts the program from a folder that has only it and glibc.
func testWheel(t *testing.T, dist string) {
	t.Helper()
	for _, machine := range []string{"x86_64", "aarch64"} {
		path := one(t, dist, "*_"+machine+".whl")
		shown := command(t, python(t), "-m", "auditwheel", "show", path)
		tag := regexp.MustCompile(`manylinux_2_\d+_` + machine).FindString(filepath.Base(path))
		if !strings.Contains(strings.Join(strings.Fields(shown), " "), `is consistent with the following platform tag: "`+tag+`"`) {
			t.Errorf("%s: auditwheel shows\n%s", path, shown)
		}
	}
	env := filepath.Join(t.TempDir(), "env")
	command(t, "python3", "-m", "venv", env)
	command(t, filepath.Join(env, "bin", "pip"), "install", "--no-index", one(t, dist, "*_x86_64.whl"))
	for _, name := range []string{"trident", "tritonopenaiserver"} {
		if text := command(t, filepath.Join(env, "bin", name), "version"); !strings.HasPrefix(text, "trident "+version+"\n") && !strings.HasPrefix(text, "trident "+version+" ") {
			t.Errorf("%s: %s", name, text)
		}
	}
	content, err := os.ReadFile(filepath.Join(env, "bin", "trident"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "trident"), content, 0o700); err != nil {
		t.Fatal(err)
	}
	addGLIBC(t, folder, "trident")
	serves(t, folder, "/trident")
}

// testArchives starts both programs for this machine: that with one engine without any library.
func testArchives(t *testing.T, dist string) {
	t.Helper()
	both := unpack(t, one(t, dist, "trident_*_linux_amd64.tar.gz"))
	addGLIBC(t, both, "trident")
	serves(t, both, "/trident")
	serves(t, unpack(t, one(t, dist, "trident-remote_*_linux_amd64.tar.gz")), "/trident")
}

// packageFiles are files that the packages of both formats must have, with their modes.
func packageFiles() map[string]os.FileMode {
	return map[string]os.FileMode{
		"usr/bin/trident": 0o755, "usr/bin/tritonopenaiserver": os.ModeSymlink, "usr/lib/trident/bin/tritonserver": os.ModeSymlink,
		"etc/trident/trident.env": 0o640, "usr/lib/systemd/system/trident.service": 0o644, "usr/lib/sysusers.d/trident.conf": 0o644,
		"usr/share/bash-completion/completions/trident": 0o644, "usr/share/doc/trident/THIRD_PARTY_NOTICES": 0o644,
	}
}

func checkInstalled(t *testing.T, folder string) {
	t.Helper()
	for name, mode := range packageFiles() {
		info, err := os.Lstat(filepath.Join(folder, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if mode == os.ModeSymlink {
			if info.Mode()&os.ModeSymlink == 0 {
				t.Errorf("%s isn't a link", name)
			}
		} else if info.Mode() != mode {
			t.Errorf("%s has the mode %s, want %s", name, info.Mode(), mode)
		}
	}
	unit, err := os.ReadFile(folder + "/usr/lib/systemd/system/trident.service")
	if err != nil || !strings.Contains(string(unit), "\nExecStart=/usr/bin/trident\n") {
		t.Errorf("%v\n%s", err, unit)
	}
	addGLIBC(t, folder, "usr/bin/trident")
	serves(t, folder, "/usr/bin/trident")
}

// testDeb installs Debian's package into an empty folder with dpkg, starts the program there, changes
// the configuration, upgrades, removes and purges.
func testDeb(t *testing.T, dist string) {
	t.Helper()
	path, folder := one(t, dist, "trident_*_amd64.deb"), t.TempDir()
	if got := strings.TrimSpace(command(t, "dpkg-deb", "--field", path, "Version")); got != spelled {
		t.Errorf("the package has the version %s, want %s", got, spelled)
	}
	if err := exec.CommandContext(t.Context(), "dpkg", "--compare-versions", spelled, "lt", "0.1.0").Run(); err != nil {
		t.Errorf("%s isn't older than 0.1.0: %v", spelled, err)
	}
	if got := command(t, "dpkg-deb", "--field", path, "Depends"); !strings.HasPrefix(got, "libc6 (>= 2.") {
		t.Errorf("the package depends on %s", got)
	}
	command(t, "dpkg-deb", "--extract", path, folder)
	checkInstalled(t, folder)
	if os.Getuid() != 0 {
		t.Skip("dpkg installs as root only")
	}
	to := dpkgRoot(t)
	dpkg := func(args ...string) {
		command(t, "dpkg", append([]string{"--root=" + to, "--force-not-root,depends,script-chrootless"}, args...)...)
	}
	dpkg("--install", path)
	users, err := os.ReadFile(to + "/etc/passwd")
	if _, missing := exec.LookPath("systemd-sysusers"); missing == nil && (err != nil || !strings.Contains(string(users), "trident:x:")) {
		t.Errorf("the installation made no user trident: %s, %v", users, err)
	}
	settings := to + "/etc/trident/trident.env"
	if err := os.WriteFile(settings, []byte("TRIDENT_HOST=127.0.0.1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dpkg("--install", path)
	if text, err := os.ReadFile(settings); err != nil || string(text) != "TRIDENT_HOST=127.0.0.1\n" {
		t.Errorf("the upgrade changed the settings: %s, %v", text, err)
	}
	dpkg("--remove", "trident")
	if _, err := os.Stat(to + "/usr/bin/trident"); !os.IsNotExist(err) {
		t.Errorf("the removal left the program: %v", err)
	}
	if _, err := os.Stat(settings); err != nil {
		t.Errorf("the removal took the settings: %v", err)
	}
	dpkg("--purge", "trident")
	if _, err := os.Stat(to + "/etc/trident"); !os.IsNotExist(err) {
		t.Errorf("the purge left the settings: %v", err)
	}
}

// dpkgRoot returns a folder in which dpkg has no packages. The package's scripts run in the system, with
// the folder in a variable: they must change nothing outside of it.
func dpkgRoot(t *testing.T) string {
	t.Helper()
	to := t.TempDir()
	admin := to + "/var/lib/dpkg"
	if err := os.MkdirAll(filepath.Join(admin, "updates"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"status", "available"} {
		if err := os.WriteFile(filepath.Join(admin, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.MkdirAll(filepath.Join(admin, "info"), 0o755); err != nil {
		t.Fatal(err)
	}
	return to
}

// testRPM installs the package into an empty folder with rpm, and starts the program there.
func testRPM(t *testing.T, dist string) {
	t.Helper()
	rpm, err := exec.LookPath("rpm")
	if err != nil {
		t.Skip("rpm is not installed")
	}
	path, folder := one(t, dist, "trident-*.x86_64.rpm"), t.TempDir()
	if got := command(t, rpm, "-qp", "--qf", "%{VERSION}-%{RELEASE} %{ARCH} %{LICENSE} %{BUILDHOST}", path); got != spelled+"-1 x86_64 Apache-2.0 localhost" {
		t.Errorf("the package is %s", got)
	}
	if got := command(t, rpm, "-qp", "--configfiles", path); got != "/etc/trident/trident.env\n" {
		t.Errorf("configuration files: %s", got)
	}
	if got := command(t, rpm, "-qp", "--requires", path); !strings.Contains(got, "glibc >= 2.") {
		t.Errorf("the package requires\n%s", got)
	}
	if got := command(t, rpm, "-K", path); !strings.Contains(got, "digests OK") {
		t.Errorf("digests: %s", got)
	}
	if os.Getuid() != 0 {
		t.Skip("rpm installs into a folder as root only")
	}
	install := []string{"--root", folder, "--nodeps", "--noscripts", "--dbpath", "/var/lib/rpm"}
	command(t, rpm, slices.Concat(install, []string{"--install", path})...)
	checkInstalled(t, folder)
	command(t, rpm, slices.Concat(install, []string{"--erase", "trident"})...)
	if _, err := os.Stat(folder + "/usr/bin/trident"); !os.IsNotExist(err) {
		t.Errorf("the removal left the program: %v", err)
	}
}

// testNPM installs the client in an empty folder, and imports it.
func testNPM(t *testing.T, dist string) {
	t.Helper()
	folder := t.TempDir()
	bin, err := filepath.Abs(filepath.Join(root, ".venv-test", "bin"))
	if err != nil {
		t.Fatal(err)
	}
	npm := exec.CommandContext(t.Context(), filepath.Join(bin, "npm"), "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline", one(t, dist, "trident-client-*.tgz"))
	npm.Dir = folder
	npm.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	output(t, npm)
	node := exec.CommandContext(t.Context(), filepath.Join(bin, "node"), "--input-type=module", "--eval", `import { createTrident } from "@trident/client"; console.log(typeof createTrident({ baseUrl: "http://127.0.0.1:1" }).chat.stream)`)
	node.Dir = folder
	if got := output(t, node); got != "function\n" {
		t.Errorf("the client's stream is a %s", got)
	}
}

// testChart compares the chart with that of helm package.
func testChart(t *testing.T, dist string) {
	t.Helper()
	helm := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "go", append([]string{"tool", "-modfile=tools/helm/go.mod", "helm"}, args...)...)
		cmd.Dir = root
		return output(t, cmd)
	}
	path, folder := one(t, dist, "trident-chart-*.tgz"), t.TempDir()
	helm("package", "deploy/helm/trident", "--destination", folder)
	listed := func(archive string) []string {
		names := strings.Fields(command(t, "tar", "-tzf", archive))
		slices.Sort(names)
		return names
	}
	if got, want := listed(path), listed(one(t, folder, "*.tgz")); !slices.Equal(got, want) {
		t.Errorf("the chart has %v, helm package %v", got, want)
	}
	if text := helm("template", "name", path, "--values", "deploy/helm/trident/ci/frontend-values.yaml"); !strings.Contains(text, "kind: Deployment") {
		t.Errorf("the chart renders\n%s", text)
	}
}

// testARM64 reads the programs for arm64, and starts them if this machine has an emulator.
func testARM64(t *testing.T, dist string) {
	t.Helper()
	both := filepath.Join(unpack(t, one(t, dist, "trident_*_linux_arm64.tar.gz")), "trident")
	remote := filepath.Join(unpack(t, one(t, dist, "trident-remote_*_linux_arm64.tar.gz")), "trident")
	for _, path := range []string{both, remote} {
		f, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if f.Machine != elf.EM_AARCH64 {
			t.Errorf("%s is for %s", path, f.Machine)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	emulator, err := exec.LookPath("qemu-aarch64")
	if err != nil {
		t.Skip("qemu-aarch64 is not installed, so the programs for arm64 were read only")
	}
	const libraries = "/usr/aarch64-linux-gnu"
	if _, err := os.Stat(libraries); err != nil {
		t.Skip("the libraries of arm64 are not installed, so the programs for arm64 were read only")
	}
	for _, path := range []string{both, remote} {
		serves(t, "/", emulator, "-L", libraries, path)
	}
}
