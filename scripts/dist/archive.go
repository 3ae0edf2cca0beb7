package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// entry is a file or folder of an archive: bytes, or a file that is read.
type entry struct {
	name  string
	mode  int64
	text  string
	from  string
	owner int
}

func (e entry) folder() bool { return e.name[len(e.name)-1] == '/' }

// content returns the bytes.
func (e entry) content() ([]byte, error) {
	if e.from != "" {
		return os.ReadFile(e.from)
	}
	return []byte(e.text), nil
}

// writeTar writes entries as they are given, all with one time.
func writeTar(w io.Writer, when time.Time, entries []entry) error {
	out := tar.NewWriter(w)
	for _, e := range entries {
		content, err := e.content()
		if err != nil {
			return err
		}
		h := &tar.Header{
			Name: e.name, Mode: e.mode, Size: int64(len(content)), ModTime: when.UTC(), Uid: e.owner,
			Gid: e.owner, Typeflag: tar.TypeReg, Format: tar.FormatUSTAR,
		}
		if e.folder() {
			h.Typeflag = tar.TypeDir
		}
		if err := out.WriteHeader(h); err != nil {
			return err
		}
		if _, err := out.Write(content); err != nil {
			return err
		}
	}
	return out.Close()
}

// tgz returns a compressed tar.
func tgz(when time.Time, entries []entry) ([]byte, error) {
	var b bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if err := writeTar(zipped, when, entries); err != nil {
		return nil, err
	}
	if err := zipped.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// zipOf returns a zip, as people of Windows expect.
func zipOf(when time.Time, entries []entry) ([]byte, error) {
	var b bytes.Buffer
	out := zip.NewWriter(&b)
	for _, e := range entries {
		content, err := e.content()
		if err != nil {
			return nil, err
		}
		h := &zip.FileHeader{Name: e.name, Method: zip.Deflate, Modified: when.UTC()}
		h.SetMode(os.FileMode(e.mode)) //nolint:gosec // modes of ours
		w, err := out.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(content); err != nil {
			return nil, err
		}
	}
	if err := out.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// writeArchive writes the program of a platform with what belongs to it.
func (r *release) writeArchive(t target) error {
	entries := []entry{
		{name: t.executable(), mode: 0o755, from: t.program},
		{name: "CHANGELOG.md", mode: 0o644, from: r.file(changelogFile)},
		{name: "LICENSE", mode: 0o644, from: filepath.Join(r.source, "LICENSE")},
		{name: "README.md", mode: 0o644, from: filepath.Join(r.source, "README.md")},
	}
	pack, ending := tgz, "tar.gz"
	if t.system == "windows" {
		pack, ending = zipOf, "zip"
	}
	content, err := pack(r.when, entries)
	if err != nil {
		return err
	}
	return writeFile(r.file(fmt.Sprintf("castalia_%s_%s.%s", r.version, t, ending)), string(content))
}
