package webconfig

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// slowKey counts how many signatures are computed at once.
type slowKey struct {
	crypto.Signer
	now, most atomic.Int64
}

func (k *slowKey) Sign(random io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	now := k.now.Add(1)
	defer k.now.Add(-1)
	for most := k.most.Load(); now > most && !k.most.CompareAndSwap(most, now); most = k.most.Load() {
	}
	runtime.Gosched()
	return k.Signer.Sign(random, digest, opts)
}

// At most half of the cores sign, however many requests there are, and the signatures are right.
func TestPacedSigner(t *testing.T) {
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key := &slowKey{Signer: own}
	signer, _ := paced(key).(crypto.Signer)
	digest := sha256.Sum256([]byte("hello"))
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if signature, err := signer.Sign(rand.Reader, digest[:], crypto.SHA256); err != nil || !ecdsa.VerifyASN1(&own.PublicKey, digest[:], signature) {
				t.Errorf("%x, %v", signature, err)
			}
		})
	}
	all.Wait()
	if most := key.most.Load(); most > int64(max(1, runtime.GOMAXPROCS(0)/2)) {
		t.Errorf("%d signed at once", most)
	}
}

// A wrapped key has the same methods as before.
func TestPacedKeys(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := paced(rsaKey).(crypto.Decrypter); !ok {
		t.Error("an RSA key decrypts no more")
	}
	_, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := paced(edKey).(crypto.Decrypter); ok {
		t.Error("an Ed25519 key decrypts")
	}
	if signer, ok := paced(edKey).(crypto.Signer); !ok || !edKey.Public().(ed25519.PublicKey).Equal(signer.Public()) {
		t.Error("another public key")
	}
}
