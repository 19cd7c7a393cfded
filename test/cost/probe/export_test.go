package probe

// Obey and Used are for the tests, which are another package: they import grpc-go.
var (
	Obey = obey
	Used = used
)
