package ofmsft

// bytesPerParameter is what a parameter takes on its way, in either direction: single precision.
const bytesPerParameter = 4

// Traffic counts what goes between a server and its clients by the paper's model: in every
// communication round each client downloads the networks that it stores, and the clients of the group
// upload them; all networks if they are broadcast. Secure sums cost more, and a client that keeps a
// network whose hash did not change costs less.
type Traffic struct {
	Downloaded, Uploaded           float64 // in units of the networks' bandwidths
	DownloadedBytes, UploadedBytes int64
}

// bytesOf returns the bytes of a selection's networks, of all if they are broadcast.
func bytesOf(p Params, s *Selection) int64 {
	if p.Broadcast {
		return int64(p.Words()) * bytesPerParameter
	}
	n := int64(0)
	for _, k := range s.Stored {
		n += int64(p.Models[k].Size) * bytesPerParameter
	}
	return n
}
