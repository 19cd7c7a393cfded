package rest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/trident-inference/trident/services/kserve/kservetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(kservetest.WithCommon{M: m}) }
