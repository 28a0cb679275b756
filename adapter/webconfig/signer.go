package webconfig

import (
	"crypto"
	"io"
	"runtime"
)

// A pacedSigner signs a few handshakes at once. Signing is nearly all that a handshake costs, and
// any client can cause it with its first message. Half of the cores are left for other work.
type pacedSigner struct {
	crypto.Signer
	places chan struct{}
}

// paced wraps the key of a certificate. A key with other methods than signing keeps them.
func paced(key crypto.PrivateKey) crypto.PrivateKey {
	signer, ok := key.(crypto.Signer)
	if !ok {
		return key
	}
	s := pacedSigner{signer, make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))}
	if d, ok := key.(crypto.Decrypter); ok {
		return struct {
			pacedSigner
			decrypter
		}{s, decrypter{d}}
	}
	return s
}

// decrypter has the method that crypto.Decrypter adds to crypto.Signer.
type decrypter struct{ key crypto.Decrypter }

// Decrypt implements crypto.Decrypter.
func (d decrypter) Decrypt(rand io.Reader, msg []byte, opts crypto.DecrypterOpts) ([]byte, error) {
	return d.key.Decrypt(rand, msg, opts)
}

// Sign implements crypto.Signer.
func (s pacedSigner) Sign(rand io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	s.places <- struct{}{}
	defer func() { <-s.places }()
	return s.Signer.Sign(rand, digest, opts)
}
