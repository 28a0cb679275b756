package cluster

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// errNoJava names what to install. Java and Maven are all that the tests need in addition to Go.
var errNoJava = errors.New("java and mvn are needed: apt-get install openjdk-17-jre-headless maven")

// classpath resolves a pom to the class path that java takes. Maven runs once for each content of
// the pom: the result is kept in the user's cache directory and is valid as long as all its jars
// exist.
func classpath(ctx context.Context, pom []byte) (string, error) {
	if _, err := exec.LookPath("java"); err != nil {
		return "", fmt.Errorf("%w (%w)", errNoJava, err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	cache = filepath.Join(cache, "tsdbridge-e2e")
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	// Two Mavens at a time can spoil the local repository.
	unlock, err := lock(filepath.Join(cache, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	file := filepath.Join(cache, fmt.Sprintf("%x.cp", sha256.Sum256(pom)))
	if known, err := os.ReadFile(file); err == nil && allExist(string(known)) {
		return string(known), nil
	}
	jars, err := resolve(ctx, pom)
	if err != nil {
		return "", err
	}
	return jars, os.WriteFile(file, []byte(jars), 0o644)
}

// resolve asks Maven, which fetches what the local repository does not have.
func resolve(ctx context.Context, pom []byte) (string, error) {
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return "", fmt.Errorf("%w (%w)", errNoJava, err)
	}
	dir, err := os.MkdirTemp("", "tsdbridge-pom")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	in, out := filepath.Join(dir, "pom.xml"), filepath.Join(dir, "cp")
	if err := os.WriteFile(in, pom, 0o644); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, mvn, "-B", "-q", "-f", in, "dependency:build-classpath", "-Dmdep.outputFile="+out)
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("mvn dependency:build-classpath: %w\n%s", err, bytes.TrimSpace(said))
	}
	all, err := os.ReadFile(out)
	if err != nil {
		return "", err
	}
	return withoutReload4j(strings.TrimSpace(string(all))), nil
}

// withoutReload4j removes the second logger that Hadoop brings: it would shadow log4j 2.
func withoutReload4j(jars string) string {
	var keep []string
	for jar := range strings.SplitSeq(jars, string(os.PathListSeparator)) {
		if !strings.Contains(filepath.Base(jar), "reload4j") {
			keep = append(keep, jar)
		}
	}
	return strings.Join(keep, string(os.PathListSeparator))
}

func allExist(jars string) bool {
	for jar := range strings.SplitSeq(jars, string(os.PathListSeparator)) {
		if _, err := os.Stat(jar); err != nil {
			return false
		}
	}
	return true
}

// javaArgs returns the flags that HBase and OpenTSDB need to run correctly on Java 17. The most
// important one opens java.nio: without it HBase's FuzzyRowFilter takes another path and returns
// wrong rows.
func javaArgs(heapMB int) []string {
	args := []string{
		fmt.Sprintf("-Xmx%dm", heapMB), "-XX:+UseSerialGC",
		"-Dorg.apache.hbase.thirdparty.io.netty.tryReflectionSetAccessible=true",
		"-Dzookeeper.sasl.client=false",
		"--add-modules", "jdk.unsupported",
	}
	for _, p := range []string{
		"java.io", "java.nio", "sun.nio.ch", "java.lang", "jdk.internal.ref", "java.lang.reflect", "java.util", "java.util.concurrent",
	} {
		args = append(args, "--add-opens", "java.base/"+p+"=ALL-UNNAMED")
	}
	for _, p := range []string{
		"java.base/jdk.internal.misc", "java.security.jgss/sun.security.krb5", "java.base/sun.net.dns", "java.base/sun.net.util",
	} {
		args = append(args, "--add-exports", p+"=ALL-UNNAMED")
	}
	return args
}
