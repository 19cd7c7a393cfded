package budget

import "google.golang.org/protobuf/reflect/protoreflect"

// MostOf returns the maximum number of elements of a list or a map.
func MostOf(d protoreflect.FieldDescriptor) int { return mostOf(d) }
