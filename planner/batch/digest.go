package batch

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gowebpki/jcs"
)

// Scheme is the version of the identity scheme: what is hashed and how. Cells
// recorded under another scheme are never reused silently.
const Scheme = 1

// Digest is a SHA-256 in 64 lower-case hex digits. The empty string means unknown.
type Digest string

// Short returns the first 16 hex digits, the form used in MLflow tags.
func (d Digest) Short() string {
	if len(d) < 16 {
		return string(d)
	}
	return string(d[:16])
}

// Valid says whether d has the form of a digest.
func (d Digest) Valid() bool {
	if len(d) != 64 {
		return false
	}
	return strings.Trim(string(d), "0123456789abcdef") == ""
}

// Sum is the digest of some bytes.
func Sum(b []byte) Digest {
	s := sha256.Sum256(b)
	return Digest(hex.EncodeToString(s[:]))
}

// SumReader is the digest of everything r yields, with its size in bytes.
func SumReader(r io.Reader) (Digest, int64, error) {
	h := sha256.New()
	n, err := io.Copy(h, r)
	if err != nil {
		return "", n, err
	}
	return Digest(hex.EncodeToString(h.Sum(nil))), n, nil
}

// Canonical is v as RFC 8785 canonical JSON.
func Canonical(v any) ([]byte, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return jcs.Transform(b)
}

// SumValue is the digest of v as canonical JSON.
func SumValue(v any) (Digest, error) {
	b, err := Canonical(v)
	if err != nil {
		return "", err
	}
	return Sum(b), nil
}

// File is one regular file of a listed folder.
type File struct {
	Path   string `json:"path"` // slash path relative to the listed folder
	Digest Digest `json:"sha256"`
	Size   int64  `json:"size"` // bytes
}

// IgnoredName says whether scheme 1 leaves a file or folder with this base name out of
// every digest and every copy.
func IgnoredName(base string) bool {
	switch base {
	case ".git", "__pycache__", ".DS_Store":
		return true
	}
	return strings.HasSuffix(base, ".pyc")
}

// FileDigest is the digest of one file's bytes.
func FileDigest(fsys fs.FS, name string) (File, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	d, n, err := SumReader(bufio.NewReaderSize(f, 1<<16))
	if err != nil {
		return File{}, fmt.Errorf("%s: %w", name, err)
	}
	return File{Path: name, Digest: d, Size: n}, nil
}

// DirDigest lists a folder and returns its digest: dirhash H1 of
// golang.org/x/mod with an empty prefix, in hex. Files are sorted bytewise by
// slash path relative to dir. An empty folder gives the digest of no bytes.
//
// Anyone can recompute it:
//
//	find . -type f -printf '%P\n' | LC_ALL=C sort | xargs -d '\n' sha256sum | sha256sum
//
// It refuses symbolic links, other irregular files, and names with control
// characters, backslashes or invalid UTF-8.
func DirDigest(fsys fs.FS, dir string) (Digest, []File, error) {
	files, err := ListDir(fsys, dir)
	if err != nil {
		return "", nil, err
	}
	h := sha256.New()
	for i, f := range files {
		g, err := FileDigest(fsys, path.Join(dir, f.Path))
		if err != nil {
			return "", nil, err
		}
		files[i].Digest, files[i].Size = g.Digest, g.Size
		fmt.Fprintf(h, "%s  %s\n", g.Digest, f.Path)
	}
	return Digest(hex.EncodeToString(h.Sum(nil))), files, nil
}

// ListDir lists the files that DirDigest hashes, sorted, without reading them:
// Digest and Size are empty. It refuses what DirDigest refuses.
func ListDir(fsys fs.FS, dir string) ([]File, error) {
	var files []File
	err := fs.WalkDir(fsys, dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if p != dir && IgnoredName(e.Name()) {
			if e.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		if err := CheckFileName(e.Name()); err != nil {
			return fmt.Errorf("%q: %w", p, err)
		}
		if e.IsDir() {
			return nil
		}
		if !e.Type().IsRegular() {
			return fmt.Errorf("%s is a %s: only regular files can be hashed; copy what it points to into place", p, kindOf(e.Type()))
		}
		rel := p
		if dir != "." {
			rel = strings.TrimPrefix(p, dir+"/")
		}
		files = append(files, File{Path: rel})
		return nil
	})
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	return files, err
}

// CheckFileName refuses a base name that a digest line or another system could read in two ways.
func CheckFileName(base string) error {
	if !utf8.ValidString(base) {
		return fmt.Errorf("the name is not valid UTF-8; rename the file")
	}
	for _, r := range base {
		if unicode.IsControl(r) || r == '\\' {
			return fmt.Errorf("the name holds %q; rename the file", r)
		}
	}
	return nil
}

func kindOf(m fs.FileMode) string {
	if m&fs.ModeSymlink != 0 {
		return "symbolic link"
	}
	return "special file"
}
