// Package web contains the files for browsers: the playground of web/playground, as make generate
// builds it.
package web

import (
	"embed"
	"io/fs"
)

//go:embed dist/index.html dist/assets
var dist embed.FS

// Playground returns the page index.html and the files that it loads, in the folder assets. The
// names of the files in assets change with their content.
func Playground() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) //nolint:forbidigo // the pattern above has the folder
	}
	return files
}
