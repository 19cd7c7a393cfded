package probe

// HandleCommand and Used are exported for the tests, which are in another package because they import
// grpc-go.
var (
	HandleCommand = handleCommand
	Used          = used
)
