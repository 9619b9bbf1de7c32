package parameters

import "testing"

// TestTheNodesOwnParametersWin over what a job's text says of them, and leave the job as it is.
func TestTheNodesOwnParametersWin(t *testing.T) {
	said := map[string]any{"server": "ship", "label": "y"}
	if got := With(said, map[string]any{"server": "office"}); got["server"] != "office" || got["label"] != "y" ||
		said["server"] != "ship" {
		t.Errorf("the parameters are %v of %v", got, said)
	}
	if got := With(nil, map[string]any{"server": "office"}); got["server"] != "office" {
		t.Errorf("the parameters are %v", got)
	}
}
