package lab

import (
	"bytes"
	"os"
	"path/filepath"
)

// moduleLine begins the go.mod at the top of a checkout.
const moduleLine = "module github.com/hanse-project/hanse\n"

// Checkout returns the top folder of the checkout that the working folder is in, or "" outside of one.
func Checkout() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && bytes.HasPrefix(text, []byte(moduleLine)) {
			return dir
		}
		above := filepath.Dir(dir)
		if above == dir {
			return ""
		}
		dir = above
	}
}

// DataFolder returns the folder with the real data sets: HANSE_DATA, or shared/data beside the checkout. It is ""
// where neither is there.
func DataFolder() string {
	if dir := os.Getenv("HANSE_DATA"); dir != "" {
		return dir
	}
	top := Checkout()
	if top == "" {
		return ""
	}
	dir := filepath.Join(filepath.Dir(top), "shared", "data")
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return ""
	}
	return dir
}
