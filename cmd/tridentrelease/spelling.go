package main

import (
	"regexp"
	"strings"
)

// Formats of packages spell versions in their own ways. A version of this project is 0.1.0, or
// 0.1.0-SUFFIX: the suffix is that of a pre-release (rc1) or of a build of a commit without a tag
// (1a2b3c4-dirty). Such a build is older than 0.1.0 in all spellings.

// preRelease matches the suffixes that Python's versions have a spelling for.
var preRelease = regexp.MustCompile(`^(?:alpha|beta|rc)\.?\d+$`)

// pythonVersion spells a version as PEP 440 does.
func pythonVersion(version string) string {
	base, suffix, found := strings.Cut(version, "-")
	switch {
	case !found:
		return base
	case preRelease.MatchString(suffix):
		short := strings.NewReplacer("alpha", "a", "beta", "b", ".", "").Replace(suffix)
		return base + short
	}
	return base + ".dev0+" + strings.ReplaceAll(suffix, "-", ".")
}

// packageVersion spells a version as Debian and RPM do: a tilde sorts before the end, and a hyphen
// would begin the package's own revision.
func packageVersion(version string) string {
	base, suffix, found := strings.Cut(version, "-")
	if !found {
		return base
	}
	return base + "~" + strings.ReplaceAll(suffix, "-", ".")
}
