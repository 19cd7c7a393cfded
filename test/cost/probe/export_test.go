package probe

// Obey and Used are exported for the tests, which are in another package because they import
// grpc-go.
var (
	Obey = obey
	Used = used
)
