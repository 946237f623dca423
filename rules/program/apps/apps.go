// Package apps knows programs that people start for a purpose of their own:
// transcribing, speaking, singing, separating, making videos, swapping faces,
// chatting over documents.
package apps
