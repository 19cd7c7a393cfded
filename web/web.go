// Package web has what browsers get: the playground of web/playground, as make
// generate builds it.
package web

import (
	"embed"
	"io/fs"
)

//go:embed dist/index.html dist/assets
var dist embed.FS

// Playground is the page, index.html, and what it loads, under assets. Those files'
// names change with their content.
func Playground() fs.FS {
	files, err := fs.Sub(dist, "dist")
	if err != nil {
		panic(err) //nolint:forbidigo // the pattern above has the folder
	}
	return files
}
