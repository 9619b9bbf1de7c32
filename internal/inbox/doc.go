// Package inbox merges what the peers of a mesh send, in the order in which it arrives, so that
// one goroutine can serve many peers: a server takes the next frame of whichever client has sent
// one, and is held up by nobody who is silent.
//
// An Inbox has a goroutine for each peer, which holds at most one frame until Next takes it; the
// frames behind it stay with the transport, which slows that peer down alone. So a server of a
// thousand clients holds at most a thousand frames, however fast they send.
package inbox
