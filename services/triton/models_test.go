package triton

import (
	"reflect"
	"testing"

	"github.com/trident-inference/trident/services/inference"
)

func TestFromIndex(t *testing.T) {
	rows := []*indexRow{
		{Name: "b", Version: "9", State: "READY"},
		{Name: "b", Version: "10", State: "READY"},
		{Name: "b", Version: "11", State: "UNAVAILABLE", Reason: "broken"},
		{Name: "c", Version: "2", State: "UNAVAILABLE", Reason: "unloaded"},
		{Name: "c", Version: "3", State: "LOADING"},
		{Name: "a"},
		{Name: "d", Version: "1", State: "UNAVAILABLE", Reason: "Internal: can't find /models/d/1/model.py"},
	}
	want := []inference.Model{
		{Name: "a"},
		{Name: "b", Version: "10", State: inference.ModelReady},
		{Name: "c", Version: "3", State: inference.ModelLoading},
		{Name: "d", Version: "1", State: inference.ModelUnavailable, Reason: "Internal: can't find (path)"},
	}
	if got := fromIndex(rows); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
