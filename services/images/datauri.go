package images

import (
	"encoding/base64"
	"errors"
	"strings"

	"github.com/trident-inference/trident/services/inference"
)

const scheme = "data:"

func isDataURI(url string) bool { return hasFold(url, scheme) }

// readDataURI reads data:TYPE;base64,DATA. It doesn't copy the data: the image
// refers to a part of the URI.
//
// Source: RFC 2397. The other form, percent-encoding, is rejected.
func readDataURI(url string, most int64, left *byteBudget) (inference.Image, error) {
	header, data, found := strings.Cut(url[len(scheme):], ",")
	kind, isBase64 := cutBase64(header)
	switch {
	case !found || !isBase64:
		return inference.Image{}, errors.New("must be a data: URI with base64 data, such as data:image/png;base64,iVBORw0KGgo=")
	case kind != "" && !hasFold(kind, "image/"):
		return inference.Image{}, errors.New("is a data: URI whose media type isn't image/…")
	case len(data)%4 != 0:
		return inference.Image{}, errors.New("is not valid base64: its length isn't a multiple of 4: add padding with =")
	}
	size := int64(len(data)/4*3 - strings.Count(data[max(0, len(data)-2):], "="))
	if size > most {
		return inference.Image{}, errTooBig
	}
	if err := left.take(size); err != nil {
		return inference.Image{}, err
	}
	head, err := decodeAll(data)
	if err != nil {
		return inference.Image{}, err
	}
	image := inference.Image{Type: imageType(head), Base64: data}
	if image.Type == "" {
		return inference.Image{}, errNoImage
	}
	return image, nil
}

var errAlphabet = errors.New("is not valid base64: use the standard alphabet with padding and without line breaks")

// cutBase64 removes ;base64 from a header and returns the media type.
func cutBase64(header string) (kind string, isBase64 bool) {
	const mark = ";base64"
	if len(header) < len(mark) || !strings.EqualFold(header[len(header)-len(mark):], mark) {
		return "", false
	}
	kind, _, _ = strings.Cut(header[:len(header)-len(mark)], ";")
	return kind, true
}

// decodeAll checks all of the data and returns its first bytes. Python's decoder
// would skip characters outside of the alphabet and decode a different image.
func decodeAll(data string) (head []byte, err error) {
	const piece = 4096 // number of base64 characters that are decoded at a time
	var from [piece]byte
	var to [piece / 4 * 3]byte
	for start := 0; start < len(data); start += piece {
		n := copy(from[:], data[start:])
		last := start+n == len(data)
		got, err := base64.StdEncoding.Strict().Decode(to[:], from[:n])
		// The decoder skips line breaks and stops at padding. Both make the result
		// too short.
		if whole := n / 4 * 3; err != nil || got < whole-2 || !last && got < whole {
			return nil, errAlphabet
		}
		if start == 0 {
			head = append(head, to[:min(got, sniffed)]...)
		}
	}
	return head, nil
}
