package budget

import "google.golang.org/protobuf/reflect/protoreflect"

// MostOf is what a list or a map may hold.
func MostOf(d protoreflect.FieldDescriptor) int { return mostOf(d) }
