package main

import (
	"debug/elf"
	"debug/macho"
	"fmt"
	"strings"
)

// check reads the binary as the system's loader does: it is for this system, and needs nothing that is not part of it.
// Most targets cannot run where they are built.
func (t *target) check() error {
	switch t.goos {
	case "linux":
		return checkELF(t.binary(), t.goarch)
	case "darwin":
		return checkMachO(t.binary(), t.goarch)
	}
	return fmt.Errorf("no check of binaries for %s", t.goos)
}

// checkELF checks that a binary of Linux is static: no libraries, no interpreter.
func checkELF(name, goarch string) error {
	f, err := elf.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[goarch]; f.Machine != want {
		return fmt.Errorf("%s is for %v, want %v", name, f.Machine, want)
	}
	if libraries, err := f.ImportedLibraries(); err != nil || len(libraries) > 0 || f.Section(".interp") != nil {
		return fmt.Errorf("%s is not static: libraries %v, %w", name, libraries, err)
	}
	return nil
}

// checkMachO checks that a binary of macOS needs only libraries of the system. There is none without these.
func checkMachO(name, goarch string) error {
	f, err := macho.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if want := map[string]macho.Cpu{"amd64": macho.CpuAmd64, "arm64": macho.CpuArm64}[goarch]; f.Cpu != want || f.Type != macho.TypeExec {
		return fmt.Errorf("%s is a %v for %v, want a program for %v", name, f.Type, f.Cpu, want)
	}
	libraries, err := f.ImportedLibraries()
	if err != nil {
		return err
	}
	for _, library := range libraries {
		if !strings.HasPrefix(library, "/usr/lib/") && !strings.HasPrefix(library, "/System/Library/") {
			return fmt.Errorf("%s needs %s", name, library)
		}
	}
	return nil
}
