//go:build !linux

package export

// renameNew renames a folder, and fails with fs.ErrExist where the new name is taken.
func renameNew(from, to string) error { return renameIfFree(from, to) }
