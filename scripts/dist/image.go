package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"
)

// An image is three documents and a compressed tar, named by their hashes
// (github.com/opencontainers/image-spec). No daemon is needed to write them.

// The user of images: nobody, by a number that other empty images use too.
const imageUser = 65532

type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Platform    *platform         `json:"platform,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        *descriptor  `json:"config,omitempty"`
	Layers        []descriptor `json:"layers,omitempty"`
	Manifests     []descriptor `json:"manifests,omitempty"`
}

type imageConfig struct {
	platform

	Created string          `json:"created"`
	Config  containerConfig `json:"config"`
	RootFS  rootFS          `json:"rootfs"`
	History []history       `json:"history"`
}

// containerConfig is how containers are started. Healthcheck is Docker's, which
// the specification leaves room for; others take theirs from a compose file or a
// manifest.
type containerConfig struct {
	User         string              `json:"User"`
	ExposedPorts map[string]struct{} `json:"ExposedPorts"`
	Env          []string            `json:"Env"`
	Entrypoint   []string            `json:"Entrypoint"`
	Cmd          []string            `json:"Cmd"`
	Volumes      map[string]struct{} `json:"Volumes"`
	WorkingDir   string              `json:"WorkingDir"`
	Labels       map[string]string   `json:"Labels"`
	Healthcheck  healthcheck         `json:"Healthcheck"`
}

type healthcheck struct {
	Test        []string      `json:"Test"`
	Interval    time.Duration `json:"Interval"`
	Timeout     time.Duration `json:"Timeout"`
	StartPeriod time.Duration `json:"StartPeriod"`
	Retries     int           `json:"Retries"`
}

type rootFS struct {
	Type    string   `json:"type"`
	DiffIDs []string `json:"diff_ids"`
}

type history struct {
	Created   string `json:"created"`
	CreatedBy string `json:"created_by"`
}

// dockerManifest is what `docker load` looks for in the same archive.
type dockerManifest struct {
	Config   string
	RepoTags []string
	Layers   []string
}

// writeImage writes an image of one platform as an archive that podman, skopeo,
// docker and containerd load.
func (r *release) writeImage(t target, roots string) error {
	layer := []entry{
		{name: "castalia", mode: 0o755, from: t.program},
		{name: "data/", mode: 0o700, owner: imageUser},
		{name: "etc/", mode: 0o755},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, from: roots},
		{name: "tmp/", mode: 0o1777},
		{name: "usr/", mode: 0o755},
		{name: "usr/share/", mode: 0o755},
		{name: "usr/share/licenses/", mode: 0o755},
		{name: "usr/share/licenses/castalia", mode: 0o644, from: filepath.Join(r.source, "LICENSE")},
	}
	var plain bytes.Buffer
	if err := writeTar(&plain, r.when, layer); err != nil {
		return err
	}
	packed, err := tgz(r.when, layer)
	if err != nil {
		return err
	}
	created := r.when.Format(time.RFC3339)
	config, err := json.Marshal(imageConfig{
		platform: platform{Architecture: t.machine, OS: t.system}, Created: created,
		Config: containerConfig{
			User: fmt.Sprintf("%d:%d", imageUser, imageUser), ExposedPorts: map[string]struct{}{"3000/tcp": {}},
			Env: []string{"CASTALIA_DATA=/data"}, Entrypoint: []string{"/castalia"}, Cmd: []string{"serve"},
			Volumes: map[string]struct{}{"/data": {}}, WorkingDir: "/data",
			Labels: map[string]string{
				"org.opencontainers.image.title": "castalia", "org.opencontainers.image.version": r.version,
				"org.opencontainers.image.revision": r.commit, "org.opencontainers.image.created": created, "org.opencontainers.image.licenses": "Apache-2.0",
			},
			Healthcheck: healthcheck{
				Test: []string{"CMD", "/castalia", "health"}, Interval: 10 * time.Second,
				Timeout: 6 * time.Second, StartPeriod: 30 * time.Second, Retries: 3,
			},
		},
		RootFS:  rootFS{Type: "layers", DiffIDs: []string{digest(plain.Bytes())}},
		History: []history{{Created: created, CreatedBy: "castalia " + r.version}},
	})
	if err != nil {
		return err
	}
	const media = "application/vnd.oci.image."
	var blobs []entry
	blob := func(kind string, content []byte) *descriptor {
		d := digest(content)
		blobs = append(blobs, entry{name: blobPath(d), mode: 0o644, text: string(content)})
		return &descriptor{MediaType: media + kind, Digest: d, Size: len(content)}
	}
	body := manifest{
		SchemaVersion: 2, MediaType: media + "manifest.v1+json", Config: blob("config.v1+json", config),
		Layers: []descriptor{*blob("layer.v1.tar+gzip", packed)},
	}
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	root := blob("manifest.v1+json", text)
	name := "castalia:" + r.version
	root.Platform = &platform{Architecture: t.machine, OS: t.system}
	root.Annotations = map[string]string{"org.opencontainers.image.ref.name": name, "io.containerd.image.name": "docker.io/library/" + name}
	index, err := json.Marshal(manifest{SchemaVersion: 2, MediaType: media + "index.v1+json", Manifests: []descriptor{*root}})
	if err != nil {
		return err
	}
	docker, err := json.Marshal([]dockerManifest{{
		Config: blobPath(body.Config.Digest), RepoTags: []string{name},
		Layers: []string{blobPath(body.Layers[0].Digest)},
	}})
	if err != nil {
		return err
	}
	entries := append([]entry{
		{name: "oci-layout", mode: 0o644, text: `{"imageLayoutVersion":"1.0.0"}`},
		{name: "index.json", mode: 0o644, text: string(index)},
		{name: "manifest.json", mode: 0o644, text: string(docker)},
		{name: "blobs/", mode: 0o755},
		{name: "blobs/sha256/", mode: 0o755},
	}, blobs...)
	var archive bytes.Buffer
	if err := writeTar(&archive, r.when, entries); err != nil {
		return err
	}
	return writeFile(r.file(fmt.Sprintf("castalia_%s_%s.image.tar", r.version, t)), archive.String())
}

func digest(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func blobPath(d string) string { return "blobs/sha256/" + d[len("sha256:"):] }
