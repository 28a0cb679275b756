// Package journal keeps the deletions of shared tables where all processes see them: what is to be
// deleted, up to which acknowledgement, how far that is, and who does it. It never deletes a point
// and never knows who holds some.
package journal
