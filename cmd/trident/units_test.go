package main

import (
	"strings"
	"testing"
	"time"
)

// TestUnits checks that sizes and times are read with units in flags, variables and the settings
// file, that numbers without a unit keep their meaning, and that config print shows units.
func TestUnits(t *testing.T) {
	t.Setenv("TRIDENT_IMAGE_MAX_BYTES", "3MiB")
	path := settingsOf(t, "responses-store-bytes: 1GiB\nimage-max-total-bytes: 4000000\nmemory-limit: 8589934592\nexit-timeout-secs: 7\nmax-body-bytes-in-flight: '512'\n")
	f := readLine(t, "--config="+path, "--model-repository=a", "--enable-kserve-frontends", "--http-max-input-size=1KiB", "--max-tool-call-parse-bytes=2MB",
		"--pinned-memory-pool-byte-size=1GiB", "--cuda-memory-pool-byte-size=0:1GiB", "--metrics-interval-ms=3s", "--grpc-max-connection-age=10m",
		"--grpc-max-connection-age-grace=1500", "--request-timeout=90m")
	cfg, err := f.config()
	if err != nil {
		t.Fatal(err)
	}
	for name, pair := range map[string][2]int64{
		"http-max-input-size": {cfg.Server.MaxBody, 1 << 10}, "image-max-bytes": {cfg.Images.MaxBytes, 3 << 20}, "image-max-total-bytes": {cfg.Images.MaxTotalBytes, 4e6},
		"responses-store-bytes": {cfg.OpenAI.ResponsesStoreBytes, 1 << 30}, "memory-limit": {cfg.Memory.Limit, 8 << 30}, "max-tool-call-parse-bytes": {int64(cfg.Inference.MaxCallBytes), 2e6},
		"max-body-bytes-in-flight": {cfg.Inference.BodyBytes, 512}, "pinned-memory-pool-byte-size": {cfg.Local.Options.PinnedMemoryPool, 1 << 30},
		"cuda-memory-pool-byte-size": {int64(cfg.Local.Options.CUDAMemoryPools[0].Bytes), 1 << 30}, "metrics-interval-ms": {int64(cfg.Local.Options.MetricsInterval), int64(3 * time.Second)},
		"exit-timeout-secs": {int64(cfg.Local.ExitTimeout), int64(7 * time.Second)}, "grpc-max-connection-age": {int64(cfg.KServe.MaxConnectionAge), 600_000},
		"grpc-max-connection-age-grace": {int64(cfg.KServe.MaxConnectionAgeGrace), 1500},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s is %d, want %d", name, pair[0], pair[1])
		}
	}
	var out strings.Builder
	if err := (configPrint{}).show(f, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"http-max-input-size: 1KiB # flag\n", "image-max-bytes: 3MiB # TRIDENT_IMAGE_MAX_BYTES\n", "memory-limit: 8GiB # " + path + ":3\n", "image-max-total-bytes: 4MB # " + path,
		"cuda-memory-pool-byte-size: ['0:1GiB'] # flag\n", "metrics-interval-ms: 3s # flag\n", "exit-timeout-secs: 7s # " + path, "grpc-max-connection-age: 10m # flag\n",
		"request-timeout: 1h30m # flag\n", "responses-store-ttl: 24h # default\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	for flag, want := range map[string]string{
		"--http-max-input-size=4gigs":             `--http-max-input-size: "4gigs" isn't a size`,
		"--exit-timeout-secs=soon":                `--exit-timeout-secs: must be a time such as 5s, or a number of seconds, not "soon"`,
		"--metrics-interval-ms=5us":               "--metrics-interval-ms: must be whole milliseconds, not 5us",
		"--exit-timeout-secs=9223372036854775807": "--exit-timeout-secs: 9223372036854775807 is too large",
		"--cuda-memory-pool-byte-size=0:lots":     `--cuda-memory-pool-byte-size: must be DEVICE:SIZE, such as 0:64MiB, not "0:lots"`,
		"--max-tool-call-parse-bytes=-1":          "--max-tool-call-parse-bytes: \"-1\" isn't a size",
	} {
		if _, err := parse(flag); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", flag, err)
		}
	}
}
