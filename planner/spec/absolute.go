package spec

import (
	"path/filepath"
	"strings"
)

// absoluteInside finds an absolute path into the spec's folder in a word of a
// command: the word itself, what follows a = in it, or a piece of it, such as
// -I/path or a:/path in a list. What it names would be read in place and is in no
// digest. It returns the path relative to the folder.
func (k *checker) absoluteInside(word string) (rel string, found bool) {
	roots := []string{k.s.Dir}
	if real, err := filepath.EvalSymlinks(k.s.Dir); err == nil && real != k.s.Dir {
		roots = append(roots, real)
	}
	if k.s.Dir == "/" {
		return "", false
	}
	for _, p := range absolutePieces(word) {
		for _, at := range []string{filepath.Clean(p), realPath(p)} {
			for _, root := range roots {
				if rel, err := filepath.Rel(root, at); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
					return rel, true
				}
			}
		}
	}
	return "", false
}

// absolutePieces lists what may be an absolute path in a word, longest first at
// each place: a path may hold spaces and colons, or end at one.
func absolutePieces(word string) []string {
	const most = 64 // places in a word: the script of sh -c may hold many
	var out []string
	for i := range len(word) {
		if word[i] != '/' {
			continue
		}
		option := i == 2 && word[0] == '-' && word[1] != '-' // -I/path
		if i > 0 && pathByte(word[i-1]) && !option {
			continue // further down a path
		}
		if len(out) >= 2*most {
			break
		}
		rest := word[i:]
		out = append(out, rest)
		if end := strings.IndexAny(rest, " \t\n:,;'\"`()<>|&="); end > 0 {
			out = append(out, rest[:end])
		}
	}
	return out
}

// pathByte says whether a / behind c continues a relative path or an address.
func pathByte(c byte) bool {
	return wordByte(c) || c == '.' || c == '-' || c == '/' || c == '}' || c == '~'
}

func wordByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c == '_' || c >= 0x80
}

// realPath is p without symbolic links, as far as it exists.
func realPath(p string) string {
	p = filepath.Clean(p)
	rest := ""
	for at := p; ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest)
		}
		if at == filepath.Dir(at) {
			return p
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

// relative is how a path relative to the spec's folder is written in a command.
func relative(rel string) string {
	if rel == "." {
		return rel
	}
	return "./" + rel
}
